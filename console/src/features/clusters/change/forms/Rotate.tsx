import {
  Rotate as RotateSchema,
  rotatedSecrets,
  type RotatedSecret,
} from '#contract/clusters/changes/rotate.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

type Typed = { what: RotatedSecret }
const { Choose } = fieldsFor<Typed>()

const read = ({ what }: Typed) => readBy(RotateSchema, { kind: 'rotate', what })
const options = (Object.keys(rotatedSecrets) as RotatedSecret[]).map((value) => ({
  value,
  text: rotatedSecrets[value],
}))

/** Replaces secrets of a running cluster. */
export default function Rotate({ cluster }: ChangeFormProps) {
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="rotate"
      initial={{ what: 'talos_ca' }}
      read={read}
      command={(change) =>
        change.kind === 'rotate'
          ? cliOf(['cluster', 'rotate', cluster.name, change.what.replaceAll('_', '-')])
          : ''
      }
    >
      {() => (
        <Choose
          name="what"
          label="What"
          options={options}
          hint="If Talos can't replace it, the plan says why"
        />
      )}
    </ChangeForm>
  )
}
