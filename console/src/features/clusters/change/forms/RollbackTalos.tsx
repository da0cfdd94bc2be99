import { RollbackTalos as RollbackTalosSchema } from '#contract/clusters/changes/talos-upgrade.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { useServerOptions } from '../ServerPick.tsx'

type Typed = { node_id: string }
const { Choose } = fieldsFor<Typed>()

const read = ({ node_id }: Typed) =>
  readBy(
    RollbackTalosSchema,
    { kind: 'rollbackTalos', node_id },
    node_id === '' ? { node_id: 'Choose a server' } : {},
  )

/** Rolls one server back to the Talos version that it ran before its last upgrade. */
export default function RollbackTalos({ cluster, server }: ChangeFormProps) {
  const servers = useServerOptions(cluster)
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  return (
    <ChangeForm
      cluster={cluster}
      kind="rollbackTalos"
      initial={{ node_id: cluster.servers.some((s) => s.node_id === server) ? server! : '' }}
      read={read}
      command={(change) =>
        change.kind === 'rollbackTalos'
          ? cliOf(['cluster', 'rollback-talos', cluster.name, nameOf(change.node_id)])
          : ''
      }
    >
      {() => (
        <Choose name="node_id" label="Server" placeholder="Choose a server" options={servers} />
      )}
    </ChangeForm>
  )
}
