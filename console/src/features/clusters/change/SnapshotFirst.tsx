import { useQuery } from '@tanstack/react-query'
import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { lastUseFailed, storeOf, unsaved } from '#contract/clusters/changes/snapshot-first.ts'
import { snapshotScheduleGet } from '#contract/clusters/changes/snapshots.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Store } from '#contract/storage/stores.ts'
import { query } from '../../../api/query.ts'
import { everyStore } from '../../../layout/storage/every-store.ts'
import { paths } from '../../../lib/paths.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { Unread } from '../../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'

/** The values of the fields about the snapshot before an upgrade. */
export interface SnapshotTyped {
  snapshot: boolean
  /** '': the store of the schedule, or the only one. */
  store_id: string
}
export const snapshotBlank: SnapshotTyped = { snapshot: true, store_id: '' }
const { Check, Choose } = fieldsFor<SnapshotTyped>()

type Upgrade = Extract<ClusterChangeInput, { kind: 'upgradeTalos' | 'upgradeKubernetes' }>

export const snapshotRead = ({ snapshot, store_id }: SnapshotTyped) => ({
  snapshot,
  ...(snapshot && store_id !== '' && { store_id }),
})

export function useStores(): readonly Store[] | undefined {
  return useQuery(everyStore).data?.items
}

/** The options of the command. */
export const snapshotOptions = (
  { snapshot, store_id }: Upgrade,
  stores: readonly Store[] | undefined,
) => ({
  'no-snapshot': snapshot === false,
  store: stores?.find(({ id }) => id === store_id)?.name,
})

/**
 * The fields about the snapshot that an upgrade takes first: whether, and into which store. Says
 * where it is written to, or why none is taken.
 */
export function SnapshotFirst({
  cluster,
  stores,
  values: { snapshot, store_id },
}: {
  cluster: Cluster
  stores: readonly Store[] | undefined
  values: SnapshotTyped
}) {
  const read = useQuery(everyStore)
  const { data } = useQuery(query(snapshotScheduleGet, { params: { id: cluster.id } }))
  const scheduled = stores?.find(({ id }) => id === data?.schedule?.store.id)
  return (
    <div className="stack stack2">
      <Check name="snapshot" label="Take a snapshot first" />
      {snapshot && <Unread what="The stores" of={read} />}
      {snapshot && stores !== undefined && data !== undefined && (
        <>
          <Place
            chosen={storeOf(stores.find(({ id }) => id === store_id) ?? scheduled, stores)}
            isEmpty={stores.length === 0}
          />
          {stores.length > 1 && (
            <Choose
              name="store_id"
              label="Store of the snapshot"
              none={scheduled === undefined ? 'None' : `That of the schedule, ${scheduled.name}`}
              options={stores.map(({ id, name }) => ({ value: id, text: name }))}
            />
          )}
        </>
      )}
    </div>
  )
}

function Place({
  chosen,
  isEmpty,
}: {
  chosen: ReturnType<typeof storeOf<Store>>
  isEmpty: boolean
}) {
  if (!chosen.ok)
    return (
      <Alert tone="warn">
        {unsaved(chosen.reason)}. {isEmpty && <a href={paths.stores()}>Stores</a>}
      </Alert>
    )
  const { name, problem } = chosen.store
  return problem === null ? (
    <p className="fs12 t3">
      etcd is copied to the store {name}, encrypted, before the first server is changed
    </p>
  ) : (
    <Alert tone="warn">{lastUseFailed(name, problem)}.</Alert>
  )
}
