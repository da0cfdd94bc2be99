import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  clusterTemplate,
  NewTemplate,
  templateCreate,
  templateList,
} from '#contract/templates/templates.ts'
import { call } from '../../../api/client.ts'
import { invalidate, query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { readBy } from '../../../lib/fields.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { KeyValue } from '../../../ui/text/Panel.tsx'
import { partsOf } from './template-said.ts'

interface SaveProps {
  cluster: Pick<Cluster, 'id' | 'name'>
}
const { Text } = fieldsFor<{ name: string }>()
const titleOf = ({ name }: SaveProps['cluster']) => `Save ${name} as a template`

/** Saves what a cluster is as a template, and says what the template holds and what it lacks. */
export default function SaveAsTemplate({ cluster }: SaveProps) {
  // Read again each time, because most changes of the cluster change it.
  const answer = useQuery({
    ...query(clusterTemplate, { params: { id: cluster.id } }),
    staleTime: 0,
  })
  if (answer.data === undefined)
    return (
      <Dialog title={titleOf(cluster)}>
        <Pending of={answer} boxed={false} rows={6} />
      </Dialog>
    )
  return <Save cluster={cluster} {...answer.data} />
}

function Save({
  cluster,
  template,
  left_out,
}: SaveProps & { template: NewTemplate; left_out: readonly string[] }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { name: template.name },
    read: ({ name }) => readBy(NewTemplate, { ...template, name }),
    send: (body, key) => call(templateCreate, { body }, { key }),
    done: async (saved) => {
      await invalidate(templateList)
      toast.success(`The template ${saved.name} was saved`)
      close()
      await navigate(paths.templates())
    },
  })
  const { read, values } = form
  return (
    <FormDialog
      form={form}
      title={titleOf(cluster)}
      submit="Save template"
      busyText="Saving"
      width="34rem"
      can={allowed(templateCreate)}
      command={
        <AsCommand
          complete={read.ok}
          cli={cliOf(['template', 'save', values.name.trim()], { like: cluster.name })}
          api={curlOf(templateCreate, {}, read.ok ? read.body : {})}
        />
      }
    >
      <Text name="name" label="Name" hint="Clusters are made from the template by this name" />
      <section className="stack stack2">
        <h3 className="label">It holds</h3>
        <KeyValue rows={partsOf(template)} />
      </section>
      <section className="stack stack2">
        <h3 className="label">Left out</h3>
        <ul className="stack stack2 fs13">
          <li>Secrets, servers and addresses: a template holds none.</li>
          {left_out.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </section>
    </FormDialog>
  )
}
