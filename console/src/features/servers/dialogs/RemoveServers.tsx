import { useState } from 'react'
import { lostCommitment } from '#contract/marketplace/cc-rules.ts'
import { no, yes } from '#contract/rule.ts'
import { canRemoveServer, serverRemove } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { showResults } from '../../../ui/actions.ts'
import { FormDialog, TypeToConfirm } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { Unable } from './AssignDatacenter.tsx'
import { type BulkDialog, namesOf, removalWords, resultsTitle, sorted, toEach } from './bulk.ts'
import { refreshServers } from '../server-queries.ts'

/**
 * Removes servers outside of clusters, with a request for each server. Servers that can't be
 * removed are listed and stay selected.
 */
export default function RemoveServers({ servers, done }: BulkDialog) {
  const { close } = useDialog()
  const [{ able, unable }] = useState(() => sorted(servers, canRemoveServer))
  const [ended, setEnded] = useState(0)
  const one = able.length === 1 ? able[0] : undefined
  const wanted = removalWords(able)
  const lost = able.flatMap((s) => lostCommitment(s, 'remove') ?? [])
  const form = useForm({
    initial: { typed: '' },
    read: () => ({ ok: true, body: null }),
    send: () => toEach(able, (s) => call(serverRemove, { params: { id: s.id } }), setEnded),
    done: async (removals) => {
      await refreshServers()
      const all = [...removals, ...unable]
      const gone = all.filter((r) => r.ok)
      if (gone.length > 0)
        toast.success(
          gone.length === 1
            ? `${gone[0]!.name} was removed`
            : `${counted(gone.length, 'server')} were removed`,
        )
      done?.(all)
      close()
      if (gone.length < all.length)
        void showResults({ title: resultsTitle(all, 'removed'), done: 'Removed', results: all })
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Remove ${one?.name ?? counted(able.length, 'server')}?`}
      submit="Remove"
      danger
      busyText={able.length > 1 ? `${count(ended)} of ${count(able.length)}` : 'Loading'}
      can={form.values.typed === wanted ? yes : no(`Type ${wanted} first`)}
    >
      {unable.length > 0 && (
        <Unable
          results={unable}
          what="can’t be removed, and stays selected"
          plural="can’t be removed, and stay selected"
        />
      )}
      {one === undefined && <p className="fs13 t2">{namesOf(able)}</p>}
      <div>
        Nothing is wiped. {one ? 'The server' : 'Each'} is kept in the history as deleted; a machine
        that announces itself again becomes a new server.
      </div>
      {lost.length > 0 && (
        <Alert tone="warn">
          {lost[0]}.
          {lost.length > 1 && ` The same applies to ${counted(lost.length - 1, 'other server')}.`}
        </Alert>
      )}
      <TypeToConfirm words={wanted} />
    </FormDialog>
  )
}
