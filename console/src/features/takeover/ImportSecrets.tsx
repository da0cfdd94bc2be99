import { type Cluster, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { clusterSecretsImport } from '#contract/clusters/takeover.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { ProofFields } from './ProofFields.tsx'
import { blank, readProof, type Typed } from './takeover-form.ts'

const withTalosconfig: Typed = { ...blank, kind: 'talosconfig' }

/**
 * Imports the changed certificate authorities of a cluster whose machines no longer accept
 * Steelyard.
 */
export default function ImportSecrets({ cluster }: { cluster: Cluster }) {
  const { close } = useDialog()
  const form = useForm({
    initial: withTalosconfig,
    read: readProof,
    send: (body, key) => call(clusterSecretsImport, { params: { id: cluster.id }, body }, { key }),
    done: async () => {
      await invalidate(clusterGet, clusterList, serverList, serverGet, serverDrift)
      toast.success(`The secrets of ${cluster.name} are imported`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      width="36rem"
      title={`Import new secrets of ${cluster.name}`}
      submit="Import"
      busyText="Querying the machines"
    >
      <p className="fs13 t2">
        The secrets are checked against the machines of the cluster before they are stored. Nothing
        is sent to a machine.
      </p>
      <ProofFields form={form} />
    </FormDialog>
  )
}
