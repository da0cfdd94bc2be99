/**
 * Restores a cluster from a snapshot. On its own control planes: the etcd data of the control
 * planes that the user has named is wiped, then one of them starts etcd from the snapshot, and the
 * others join it. On other servers: the first control plane is installed and starts etcd from the
 * snapshot, then the other servers join. Talos: "Disaster recovery"; `EtcdRecover` and `Bootstrap`
 * with `recover_etcd` (internal/app/machined/internal/server/v1alpha1).
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { listed } from '../../../sentences.ts'
import { clusterRows } from '../../clusters/api.ts'
import {
  type ChangeKind,
  type ChangeView,
  keyOf,
  type Planned,
  type PlannedGroup,
} from '../frame.ts'
import { endJoining, joining, joinWith } from '../members/joining.ts'
import { joiningPatienceMs } from '../members/candidates.ts'
import { controlPlanes, type EtcdPlace, etcdPlaces, placeChecks, snapshotChecks } from './checks.ts'
import { beginNew, planNew } from './on-new-servers.ts'
import {
  membersBack,
  nodeBack,
  objectsBack,
  readBack,
  recover,
  removeStale,
  upload,
  wipe,
} from './recovering.ts'
import * as store from './store.ts'

const titles = changeTable.clusterRestore.steps
type Change = ChangeOf<'restore'>

const whole = (...steps: PlannedGroup['steps']): PlannedGroup => ({
  node_id: null,
  name: null,
  steps,
})

/**
 * The control planes of the restore: those whose etcd waits for a bootstrap, and those that are
 * wiped.
 */
const returning = (places: readonly EtcdPlace[], { reset }: Change) =>
  places.filter((p) => p.state === 'waits' || reset.includes(p.m.node_id)).map((p) => p.m)

async function planHere(view: ChangeView, change: Change): Promise<Planned> {
  const [snapshot, places] = await Promise.all([snapshotChecks(view, change), etcdPlaces(view)])
  const place = placeChecks(places, change.reset, view.state.row.name)
  const back = returning(places, change)
  const [first] = back
  const wiped = controlPlanes(view).filter((m) => change.reset.includes(m.node_id))
  const healthy = places.filter((p) => p.runs)
  return {
    checks: [...snapshot.checks, ...place.checks],
    warnings: [
      ...snapshot.warnings,
      ...place.warnings,
      ...(healthy.length * 2 > places.length
        ? [
            `etcd still runs on ${listed(healthy.map((p) => p.m.name))}: its content is replaced with the snapshot.`,
          ]
        : []),
    ],
    groups: first
      ? [
          whole({ key: 'read', title: titles.read() }),
          ...(wiped.length > 0
            ? [
                whole({
                  key: 'wipe',
                  title: titles.wipe({
                    names: listed(
                      wiped.map((m) => m.name),
                      20,
                    ),
                  }),
                }),
              ]
            : []),
          {
            node_id: first.node_id,
            name: first.name,
            steps: [
              { key: keyOf('upload', first.node_id), title: titles.upload(first) },
              { key: keyOf('recover', first.node_id), title: titles.recover(first) },
            ],
          },
          whole(
            { key: 'members', title: titles.members() },
            { key: 'objects', title: titles.objects() },
            { key: 'stale', title: titles.stale() },
          ),
          ...back.map((m) => ({
            node_id: m.node_id,
            name: m.name,
            steps: [{ key: keyOf('node-ready', m.node_id), title: titles['node-ready'](m) }],
          })),
        ]
      : [],
  }
}

const join: ChangeKind<Change>['steps'][string] = (turn, at) =>
  joining(turn, at, {
    together: turn.change.servers.map((s) => s.node_id),
    isTakenBack: false,
    isRebuilding: true,
  })

export const restore: ChangeKind<Change> = {
  patienceMs: { ...joiningPatienceMs, wipe: 30 * 60_000, upload: 3 * 3_600_000 },

  plan: (view, change) =>
    change.servers.length > 0 ? planNew(view, change) : planHere(view, change),

  async begin(tx, begun) {
    const { view, change, operationId } = begun
    await view.parts.snapshots.hold(tx, change.snapshot_id)
    await store.begin(tx, {
      cluster_id: view.state.row.id,
      operation_id: operationId,
      snapshot_id: change.snapshot_id,
    })
    if (change.servers.length > 0) await beginNew(tx, begun)
  },

  steps: {
    read: readBack,
    wipe,
    upload,
    recover,
    members: membersBack,
    objects: objectsBack,
    stale: removeStale,
    'node-ready': nodeBack,
    ...joinWith(join),
  },

  async end(tx, turn, how) {
    const { change, state } = turn
    if (change.servers.length > 0)
      await endJoining(
        tx,
        turn,
        change.servers.map((s) => s.node_id),
        how,
      )
    if (how === 'done')
      await clusterRows.update(tx, state.row.id, { control_plane_at: new Date(turn.job.now()) })
    // The retry of a failed restore continues where it failed.
    if (how !== 'failed') await store.drop(tx, state.row.id)
  },
}
