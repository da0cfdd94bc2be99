import { lostCommitment } from '#contract/marketplace/cc-rules.ts'
import { all, no, yes } from '#contract/rule.ts'
import { canRemoveServer, type ListedServer, serverRemove } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { FormDialog, TypeToConfirm } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { refreshServers } from '../server-queries.ts'

/** Removes a server that is in no cluster. */
export default function RemoveServer({ server }: { server: ListedServer }) {
  const { close } = useDialog()
  const { id, name } = server
  const lost = lostCommitment(server, 'remove')
  const form = useForm({
    initial: { typed: '' },
    read: () => ({ ok: true, body: null }),
    send: () => call(serverRemove, { params: { id } }),
    done: async () => {
      await refreshServers()
      toast.success(`${name} was removed`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Remove ${name}?`}
      submit="Remove"
      danger
      can={all(
        canRemoveServer(server),
        form.values.typed === name ? yes : no(`Type ${name} first`),
      )}
    >
      <div>
        Nothing is wiped. The server is kept in the history as deleted; a machine that announces
        itself again becomes a new server.
      </div>
      {lost !== null && <Alert tone="warn">{lost}.</Alert>}
      <TypeToConfirm words={name} />
    </FormDialog>
  )
}
