/**
 * Reads the members of etcd, the API servers and the disks of each running cluster once a minute and
 * stores what findings are judged from, and the figures of this minute. Changes nothing on the machines.
 */
import { Problem } from '#contract/errors.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readDisks, readStage } from '#talos/client/inventory.ts'
import type { Reconciler } from '../../../engine/engine.ts'
import { type ClusterParts, healthQueue, runningOn } from '../parts.ts'
import {
  askApiServers,
  askEtcd,
  controlPlanesOf,
  etcdHealth,
  factsOf,
  kubernetesOf,
} from '../../control-planes/api.ts'
import type { PlannedDisk } from '../../servers/api.ts'
import * as clusters from '../store.ts'
import type { MemberRow } from '../store.ts'
import { apartMs, isAtWork, missesUntilIll, missingDisks, observedOf } from './observed.ts'
import { measuredOf } from './measured.ts'
import * as store from './store.ts'

const everyMs = 60_000
/** Shortest time between two looks. */
const shortestMs = 5_000
/** A machine that doesn't show a disk is asked for its disks itself, within this time. */
const askDisksMs = 4_000

interface Missing {
  readonly m: MemberRow
  readonly devices: readonly string[] | null
  readonly isBooting: boolean
}

/**
 * The disks of a member that a reading of its hardware lacks, by what the machine says now: the
 * reading may be of its start, when disks appear one after another, or ten minutes old (Talos:
 * `controllers/block/devices.go`, which lists what the kernel knows by then and follows its events).
 * `devices` is null if it doesn't answer, which is no reading.
 */
async function missingNow(
  { servers, secrets }: ClusterParts,
  m: MemberRow,
  read: readonly PlannedDisk[],
  signal: AbortSignal,
): Promise<Missing> {
  if (missingDisks(m, read).length === 0) return { m, devices: [], isBooting: false }
  try {
    const keys = (await secrets.talosAdmin(m.cluster_id))!
    const connection = await servers.connection(m.node_id)
    const [disks, { stage }] = await connection.secure(
      keys,
      (client) => Promise.all([readDisks(client), readStage(client)]),
      { signal, deadlineMs: askDisksMs },
    )
    const devices = missingDisks(
      m,
      disks.map((disk) => ({ ...disk, device: devicePath(disk.id) })),
    )
    return { m, devices, isBooting: stage === 'booting' }
  } catch (error) {
    if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
    return { m, devices: null, isBooting: false }
  }
}

export const healthWatch = (parts: ClusterParts): Reconciler => ({
  queue: healthQueue,
  concurrency: 8,
  deadlineMs: 60_000,
  async reconcile(job) {
    const row = await clusters.row(parts.db, job.key)
    if (!row || row.deleted_at !== null || row.wanted !== 'ready') return undefined
    // Machines that refuse Steelyard's certificates show nothing.
    if (row.ready_at === null || row.locked_out !== null) return { againMs: everyMs }
    const members = (await clusters.members(parts.db, job.key)).filter(clusters.isWanted)
    const controlPlanes = controlPlanesOf(members).filter((m) => m.etcd_at !== null)
    const facts = await factsOf(parts, parts.db, members)
    const targets = facts.filter((f) => controlPlanes.some((m) => m.node_id === f.id))
    if (targets.length === 0) return { againMs: everyMs }
    const askedAt = job.now()
    const client = await kubernetesOf(parts, { row, members })
    const joined = members.flatMap((m, i) =>
      m.node_ready_at === null ? [] : [{ m, disks: facts[i]!.disks }],
    )
    const [etcd, apiServers, running, missing] = await Promise.all([
      askEtcd(parts, controlPlanes, job.signal),
      askApiServers(client, targets, { signal: job.signal, clock: parts.clock }),
      runningOn(parts, parts.db, row),
      Promise.all(joined.map(({ m, disks }) => missingNow(parts, m, disks, job.signal))),
    ])
    const seen = {
      etcd: etcdHealth(etcd).members,
      api_servers: apiServers.map(({ state, isOwnDelay }) => ({ ...state, isOwnDelay })),
      missing_disks: missing.flatMap(({ m: { node_id, name }, devices }) =>
        (devices ?? []).map((device) => ({ node_id, name, device })),
      ),
      silent: missing.flatMap(({ m, devices }) => (devices === null ? [m.node_id] : [])),
      booting: missing.flatMap(({ m, isBooting }) => (isBooting ? [m.node_id] : [])),
    }
    const observed = observedOf(row.observed, seen, {
      at: askedAt,
      isChanging: isAtWork(running),
    })
    const figures = measuredOf(
      { etcd, apiServers },
      members.flatMap((m, i) => (m.node_ready_at === null ? [] : [facts[i]!.node_ready])),
    )
    await job.fence.write(async (tx) => {
      await store.noteObserved(tx, job.key, observed)
      await parts.measurements.writeCluster(tx, job.key, askedAt, figures)
    })
    const isNew = [...observed.etcd, ...observed.api_servers, ...observed.missing_disks].some(
      ({ misses }) => misses > 0 && misses < missesUntilIll,
    )
    // Counted from the questions, so that no minute is left out.
    const nextMs = (isNew ? apartMs : everyMs) - (job.now() - askedAt)
    return { againMs: Math.max(shortestMs, nextMs) }
  },
})
