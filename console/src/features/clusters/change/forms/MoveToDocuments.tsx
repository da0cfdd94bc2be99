import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import type { Read } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

const read = (): Read<ClusterChangeInput> => ({ ok: true, body: { kind: 'documents' } })

/** Moves the configurations of a cluster to the documents of Talos 1.14. */
export default function MoveToDocuments({ cluster }: ChangeFormProps) {
  return (
    <ChangeForm
      cluster={cluster}
      kind="documents"
      initial={{}}
      read={read}
      command={() => cliOf(['cluster', 'move-to-documents', cluster.name])}
      bare
    />
  )
}
