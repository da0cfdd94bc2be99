import { useQuery } from '@tanstack/react-query'
import { TakeSnapshot as TakeSnapshotSchema } from '#contract/clusters/changes/snapshots.ts'
import { everyStore } from '../../../../layout/storage/every-store.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Unread } from '../../../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

const blank = { store_id: '' }
type Typed = typeof blank
const { Choose } = fieldsFor<Typed>()

const read = ({ store_id }: Typed) =>
  readBy(TakeSnapshotSchema, { kind: 'snapshot', ...(store_id !== '' && { store_id }) })

/** Takes a snapshot of a cluster's etcd now. */
export default function TakeSnapshot({ cluster }: ChangeFormProps) {
  const answer = useQuery(everyStore)
  const stores = answer.data?.items ?? []
  return (
    <ChangeForm
      cluster={cluster}
      kind="snapshot"
      initial={blank}
      read={read}
      command={(change) =>
        change.kind === 'snapshot'
          ? cliOf(['cluster', 'snapshot', cluster.name], {
              store: stores.find((s) => s.id === change.store_id)?.name,
            })
          : ''
      }
    >
      {() => (
        <>
          <Unread what="The stores" of={answer} />
          <Choose
            name="store_id"
            label="Store"
            none="The schedule's store, or the only one"
            options={stores.map((s) => ({ value: s.id, text: s.name }))}
          />
        </>
      )}
    </ChangeForm>
  )
}
