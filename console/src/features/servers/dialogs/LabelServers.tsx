import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { LabelChange } from '#contract/labels/labels.ts'
import { no, yes } from '#contract/rule.ts'
import { canLabelServer, type ListedServer, serverUpdate } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { backOf, type BulkEdit, changeWords, readBulk } from '../../../layout/labels/edits.ts'
import { known, refreshLabels, textsOf } from '../../../layout/labels/labels.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { showResults } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { LabelsInput } from '../../../ui/inputs/LabelsInput.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { EditServerLabels } from './EditServerLabels.tsx'
import { Unable } from './AssignDatacenter.tsx'
import { type BulkDialog, namesOf, resultsTitle, sorted, toEach } from './bulk.ts'

const { Custom } = fieldsFor<BulkEdit>()

/** Edits the labels and notes of one server, or sets and removes labels of several. */
export default function LabelServers(props: BulkDialog) {
  const [one, ...more] = props.servers
  return one !== undefined && more.length === 0 ? (
    <EditServerLabels id={one.id} name={one.name} />
  ) : (
    <Several {...props} />
  )
}

/** Sets and removes labels of several servers, with a result for each. */
function Several({ servers, done }: BulkDialog) {
  const { close } = useDialog()
  const [{ able, unable }] = useState(() => sorted(servers, canLabelServer))
  const [ended, setEnded] = useState(0)
  const { data } = useQuery(known.server)
  const keys = [...new Set(able.flatMap(({ labels = {} }) => Object.keys(labels)))].toSorted()

  const send = async (
    list: readonly ListedServer[],
    changeFor: (s: ListedServer) => LabelChange,
  ) => {
    const results = await toEach(
      list,
      (s) => call(serverUpdate, { params: { id: s.id }, body: { labels: changeFor(s) } }),
      setEnded,
    )
    await refreshLabels()
    return results
  }
  const form = useForm({
    initial: { set: {}, remove: {} },
    read: readBulk,
    send: (change) => send(able, () => change),
    done: (results, change) => {
      const all = [...results, ...unable]
      const changed = able.filter((s) => all.some((r) => r.id === s.id && r.ok))
      const undo = async () => {
        const back = await send(changed, ({ labels = {} }) => backOf(labels, change))
        const failed = back.filter((r) => !r.ok)
        if (failed.length > 0)
          throw new Error(failed.map((r) => `${r.name}: ${r.reason}`).join(' '))
      }
      if (changed.length > 0)
        toast.success(`Labels of ${counted(changed.length, 'server')} were changed`, { undo })
      done?.(all)
      close()
      if (changed.length < all.length)
        void showResults({ title: resultsTitle(all, 'changed'), done: 'Changed', results: all })
    },
  })
  const change = form.read.ok ? form.read.body : {}
  const isEmpty = form.read.ok && Object.keys(change).length === 0
  return (
    <FormDialog
      form={form}
      title={`Labels of ${counted(servers.length, 'server')}`}
      submit="Save"
      busyText={able.length > 1 ? `${count(ended)} of ${count(able.length)}` : 'Saving'}
      can={isEmpty ? no('Enter a label to set or to remove first') : yes}
      width="34rem"
      command={
        <AsCommand
          cli={cliOf(['server', 'label', ...able.map((s) => s.name), ...changeWords(change)])}
          api={able
            .map((s) => curlOf(serverUpdate, { id: s.id }, { labels: change }))
            .join(' && \\\n')}
          complete={form.read.ok && !isEmpty && able.length > 0}
        />
      }
    >
      {unable.length > 0 && (
        <Unable
          results={unable}
          what="can’t be changed, and stays selected"
          plural="can’t be changed, and stay selected"
        />
      )}
      <p className="fs13 t2">{namesOf(able)}</p>
      <Custom
        name="set"
        label="Set"
        optional
        hint="key=value; Enter ends a label. Other labels stay. Nothing is sent to a server."
      >
        <LabelsInput
          labels={form.values.set}
          suggestions={textsOf(data?.items)}
          onLabels={(set) => {
            form.set({ set })
            form.leave('set')
          }}
        />
      </Custom>
      <Custom
        name="remove"
        label="Remove"
        optional
        hint={
          keys.length === 0 ? 'None of them has labels' : 'Keys of labels, whatever their value'
        }
      >
        <LabelsInput
          labels={form.values.remove}
          suggestions={keys}
          placeholder="key"
          onLabels={(remove) => {
            form.set({ remove })
            form.leave('remove')
          }}
        />
      </Custom>
    </FormDialog>
  )
}
