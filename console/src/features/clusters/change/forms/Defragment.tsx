import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import type { Read } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

const read = (): Read<ClusterChangeInput> => ({ ok: true, body: { kind: 'defragment' } })

export default function Defragment({ cluster }: ChangeFormProps) {
  return (
    <ChangeForm
      cluster={cluster}
      kind="defragment"
      initial={{}}
      read={read}
      command={() => cliOf(['cluster', 'defragment', cluster.name])}
      bare
    />
  )
}
