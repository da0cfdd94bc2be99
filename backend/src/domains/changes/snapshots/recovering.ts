/** The steps that start etcd from a snapshot. */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { BackupRefused } from '../../../backup/sealed.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readStage } from '#talos/client/inventory.ts'
import { SealBroken } from '../../../vault/cipher.ts'
import { StoreError } from '../../stores/api.ts'
import {
  bootstrapTokenPath,
  type MemberRow,
  notYet,
  orderOf,
  progressOf,
  seeEtcd,
  standingOf,
} from '../../clusters/api.ts'
import { etcdReports, isGivenUp, isWanted, nodePath } from '../../control-planes/api.ts'
import { joined, listed } from '../../../sentences.ts'
import {
  type ChangeTurn,
  kubernetes,
  type StepAt,
  type StepResult,
  talos,
  viewOf,
  write,
} from '../frame.ts'
import { nodeReady } from '../shared/drain.ts'
import { controlPlanes, type EtcdPlace, etcdPlace, keyCheck } from './checks.ts'
import { formerTokens, keysOfSnapshot } from './keys.ts'
import * as store from './store.ts'

type Turn = ChangeTurn<ChangeOf<'restore'>>

const recoveryOf = ({ parts, state, operation }: Turn) =>
  store.recovery(parts.db, state.row.id, operation.id)
const removedSentence = 'The snapshot was removed: request the restore again, with another snapshot'
/** Undefined if the snapshot was removed. */
const keptSnapshot = async ({ parts, change }: Turn) => {
  const row = await parts.snapshots.find(parts.db, change.snapshot_id)
  return row?.status === 'removing' ? undefined : row
}
/** Throws StoreError. */
const snapshotOf = async (turn: Turn) => {
  const row = await keptSnapshot(turn)
  if (!row) throw new StoreError(removedSentence, { kind: 'missing' })
  return row
}
const isOfStore = (error: unknown): error is Error =>
  error instanceof StoreError || error instanceof BackupRefused || error instanceof SealBroken

/** Verifies the whole snapshot before anything is wiped. */
export async function readBack(turn: Turn): Promise<StepResult> {
  try {
    const row = await snapshotOf(turn)
    const file = await turn.parts.snapshots.check(row, turn.job.signal)
    if (file.sha256 !== row.sha256)
      return { failed: 'The file in the store is not the one that was written' }
    // A plan does not know the keys of a snapshot that an earlier version of Steelyard has made,
    // and secrets may have been imported since the plan.
    const { parts, state } = turn
    const snapshot = { ...row, encryption: file.encryption }
    const keys = await keysOfSnapshot(parts.secrets, parts.db, state.row.id, snapshot)
    const { ok, message } = keyCheck(keys, { snapshot, cluster: state.row.name, isNew: false })
    return ok ? 'done' : { failed: message }
  } catch (error) {
    if (turn.job.signal.aborted || !isOfStore(error)) throw error
    return error instanceof StoreError && error.kind === 'failed'
      ? { waiting: error.message, againMs: 5_000 }
      : { failed: error.message }
  }
}

/**
 * Pause in ms before a wipe is sent again to a control plane that runs on as if it had not got it.
 * Talos begins a reset before it answers, or at once.
 */
const wipeBreakMs = 20_000

/**
 * Whether a control plane with data of etcd needs the wipe. It does if it never got one; if it came
 * back from the wipe and joined the others, which were wiped later; or if it runs on in the same
 * boot. While it resets, restarts or starts its services, it carries the wipe out.
 */
async function needsWipe(
  turn: Turn,
  { m, runs }: EtcdPlace,
  { wiped_boots: boots, wiped_at: sent }: store.RecoveryRow,
): Promise<{ boot: string } | null> {
  const seen = await talos(turn, m.node_id, async (client) => ({
    ...(await readStage(client)),
    boot: await client.bootId(),
  }))
  const { boot } = seen
  const got = boots[m.node_id]
  if (got === undefined || sent === null || (got !== boot && runs)) return { boot }
  const runsOn = got === boot && (seen.stage === 'running' || seen.stage === 'booting')
  return runsOn && turn.job.elapsedMs(sent) > wipeBreakMs ? { boot } : null
}

/**
 * Sends all wipes at once, because a single wiped control plane would join the etcd of the others.
 * Only the partition with etcd's data is wiped, so the servers keep their configurations. Done when
 * etcd waits for a bootstrap on each of them.
 */
export async function wipe(turn: Turn): Promise<StepResult> {
  const { change, job, state } = turn
  const named = controlPlanes(turn).filter((m) => change.reset.includes(m.node_id))
  const places = await Promise.all(named.map((m) => etcdPlace(viewOf(turn), m)))
  const left = places.filter((p) => p.state !== 'waits')
  if (left.length === 0) return 'done'
  const recovery = await recoveryOf(turn)
  const looked = await Promise.all(
    left
      .filter((p) => p.state === 'has-data')
      .map(async (p) => ({ m: p.m, due: await needsWipe(turn, p, recovery) })),
  )
  const due = looked.flatMap(({ m, due: found }) =>
    found === null ? [] : [{ m, boot: found.boot }],
  )
  if (due.length > 0) {
    // After a failure the snapshot can be removed, and a retry does not read it again.
    if (!(await keptSnapshot(turn))) return { failed: removedSentence }
    const refused = await job.effect('wipe', () =>
      Promise.all(due.map(({ m }) => sendWipe(turn, m))),
    )
    // If a crash lost the record of a wipe, the wipe is sent again at once. That is harmless before
    // etcd was started from the snapshot.
    const problems = refused.flatMap((problem) => problem ?? [])
    if (problems.length > 0) return { waiting: joined(problems), againMs: 2_000 }
    const boots = {
      ...recovery.wiped_boots,
      ...Object.fromEntries(due.map(({ m, boot }) => [m.node_id, boot])),
    }
    await write(turn, (tx) =>
      store.note(tx, state.row.id, {
        wiped_at: new Date(job.now()),
        wiped_boots: JSON.stringify(boots),
      }),
    )
  }
  return { waiting: joined(left.map((p) => p.reason)), againMs: 1_000 }
}

/** Sends the wipe. Returns why it was refused, or null. */
async function sendWipe(turn: Turn, m: MemberRow): Promise<string | null> {
  try {
    await talos(turn, m.node_id, (client) =>
      client.reset({ graceful: false, reboot: true, systemPartitions: ['EPHEMERAL'] }),
    )
    return null
  } catch (error) {
    if (turn.job.signal.aborted || !(error instanceof TalosError)) throw error
    return `${m.name}: ${error.message}`
  }
}

/** The control plane from which the restore starts etcd; undefined if it has left the cluster. */
const chosenOf = (turn: Turn, nodeId: string): MemberRow | undefined =>
  controlPlanes(turn).find((m) => m.node_id === nodeId)
const goneSentence =
  'The control plane that gets the snapshot has left the cluster: request the restore again'

/** Sends the snapshot to the control plane. Safe to repeat until etcd was started from it. */
export async function upload(turn: Turn, { nodeId }: StepAt): Promise<StepResult> {
  const { parts, job, state } = turn
  const m = chosenOf(turn, nodeId!)
  if (!m) return { failed: goneSentence }
  const recovery = await recoveryOf(turn)
  if (recovery.uploaded_at !== null) return 'done'
  const other = await othersWithEtcd(turn, m.node_id)
  if (other !== null) return { failed: other }
  const place = await etcdPlace(viewOf(turn), m)
  if (place.state !== 'waits') return { waiting: place.reason, againMs: 1_000 }
  try {
    const row = await snapshotOf(turn)
    await job.effect('upload', async () => {
      const bytes = await parts.snapshots.read(row, job.signal)
      await talos(turn, m.node_id, (client) => client.etcdRecover(bytes, { signal: job.signal }))
    })
  } catch (error) {
    if (job.signal.aborted || !isOfStore(error)) throw error
    return error instanceof StoreError && error.kind === 'missing'
      ? { failed: error.message }
      : { waiting: error.message, againMs: 5_000 }
  }
  await write(turn, (tx) =>
    store.note(tx, state.row.id, { uploaded_at: new Date(job.now()), node_id: m.node_id }),
  )
  return 'done'
}

/** Why etcd must not be started: another control plane has data of etcd. Null if none has. */
async function othersWithEtcd(turn: Turn, except: string): Promise<string | null> {
  const places = await Promise.all(
    controlPlanes(turn)
      .filter((m) => m.node_id !== except && m.secured_at !== null)
      .map((m) => etcdPlace(viewOf(turn), m)),
  )
  const found = places.filter((p) => p.state === 'has-data')
  return found.length === 0
    ? null
    : `${listed(found.map((p) => p.m.name))} ${found.length === 1 ? 'has' : 'have'} etcd data: request the restore again and add ${found.length === 1 ? 'it' : 'them'} to the control planes to wipe`
}

/**
 * Starts etcd from the snapshot, exactly once: the chosen server is stored before the call and
 * never changes, and Talos refuses a second bootstrap of a server with etcd data. The start counts
 * as successful only when etcd lists its members.
 */
export async function recover(turn: Turn, { nodeId }: StepAt): Promise<StepResult> {
  const { job, state } = turn
  const m = chosenOf(turn, nodeId!)
  if (!m) return { failed: goneSentence }
  const recovery = await recoveryOf(turn)
  const seen = await talos(turn, m.node_id, seeEtcd)
  if (seen.members.some((e) => e.hostname === m.name)) {
    await write(turn, (tx) => store.note(tx, state.row.id, { confirmed_at: new Date(job.now()) }))
    return 'done'
  }
  const { called_at: called } = recovery
  if (called !== null && seen.state === 'Failed' && /snapshot/.test(seen.message ?? '')) {
    // A retry would find the same refusal, because etcd is started from one upload only once.
    return {
      failed: `etcd on ${m.name} refuses the snapshot: ${seen.message!.replace(/\.$/, '')}. Request the restore again, with another snapshot if this repeats`,
    }
  }
  const unready = notYet(seen)
  if (unready !== null)
    return { waiting: `etcd cannot be started on ${m.name} yet: ${unready}`, againMs: 500 }
  const standing = standingOf(recovery, seen, (since) => job.elapsedMs(since))
  if (!standing.isDue) return { waiting: progressOf(m.name, called!, seen, standing), againMs: 500 }
  const order = orderOf(seen, new Date(job.now()))
  await write(turn, (tx) => store.noteCall(tx, state.row.id, order))
  try {
    await job.effect('recover', () =>
      talos(
        turn,
        m.node_id,
        (client) => client.bootstrap({ recover: true, signal: job.signal }),
        60_000,
      ),
    )
  } catch (error) {
    if (job.signal.aborted) throw error
    // `already_exists`: etcd has data there. The list of members shows whether it runs.
    if (!(error instanceof TalosError && error.kind === 'already_exists')) throw error
  }
  return {
    waiting: progressOf(m.name, order.called_at!, { pull: null }, { isDue: false, why: null }),
    againMs: 500,
  }
}

/**
 * Waits until the control planes of the restore are healthy members of etcd. A control plane that
 * doesn't answer is left out.
 */
export async function membersBack(turn: Turn): Promise<StepResult> {
  const reports = await etcdReports(viewOf(turn))
  const places = await Promise.all(controlPlanes(turn).map((m) => etcdPlace(viewOf(turn), m)))
  const silent = new Set(
    places
      .filter((p) => p.state === 'silent' && !turn.change.reset.includes(p.m.node_id))
      .map((p) => p.m.node_id),
  )
  const late = reports.filter((r) => r.problem !== null && !silent.has(r.node_id))
  // It waited for longer than Talos tries to join, such as for a long upload.
  const givenUp = late.filter((r) => isGivenUp(r.problem!))
  if (givenUp.length > 0)
    return {
      failed: `${joined(givenUp.map((r) => `${r.name}: ${r.problem}`))}. Restart ${listed(givenUp.map((r) => r.name))}, then go on`,
    }
  return late.length === 0 && reports.length > silent.size
    ? 'done'
    : {
        waiting: joined(late.map((r) => `${r.name}: ${r.problem}`)) || 'No control plane answers',
        againMs: 1_000,
      }
}

/**
 * Verifies that the Kubernetes API serves the snapshot: its namespace kube-system has the same UID.
 */
export async function objectsBack(turn: Turn): Promise<StepResult> {
  // A snapshot that was removed since it was sent is not compared.
  const identity =
    (await turn.parts.snapshots.find(turn.parts.db, turn.change.snapshot_id))?.identity ?? null
  const found = (await (
    await kubernetes(turn)
  ).get('/api/v1/namespaces/kube-system', turn.job.signal)) as {
    metadata?: { uid?: string }
  } | null
  const uid = found?.metadata?.uid
  if (uid === undefined)
    return { waiting: 'The Kubernetes API has no namespace kube-system yet', againMs: 1_000 }
  if (identity !== null && uid !== identity)
    return {
      failed: `The Kubernetes API serves another cluster than the snapshot: kube-system has the UID ${uid}, not ${identity}`,
    }
  return 'done'
}

/**
 * Removes what the snapshot has brought back: nodes whose servers have left the cluster since, and
 * bootstrap tokens that were rotated since.
 */
export async function removeStale(turn: Turn): Promise<StepResult> {
  const { job, state } = turn
  const client = await kubernetes(turn)
  const { parts } = turn
  const tokens = await formerTokens(parts.secrets, parts.db, state.row.id)
  if (tokens.length > 0)
    await job.effect('former-tokens', async () => {
      for (const id of tokens) await client.remove(bootstrapTokenPath(id), job.signal)
    })
  const names = new Set(state.members.filter((m) => isWanted(m)).map((m) => m.name))
  // A node that Steelyard has never managed may be a running machine of somebody else.
  const former = new Set(state.members.filter((m) => !isWanted(m)).map((m) => m.name))
  const stale = (await client.nodes(job.signal)).filter(
    (n) => former.has(n.name) && !names.has(n.name),
  )
  if (stale.length > 0)
    await job.effect('stale', async () => {
      for (const { name } of stale) await client.remove(nodePath(name), job.signal)
    })
  return 'done'
}

export const nodeBack = (turn: Turn, at: StepAt): Promise<StepResult> => nodeReady(turn, at)
