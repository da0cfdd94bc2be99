/**
 * Before a control plane is changed, all others are asked how they are. What the server itself
 * reports doesn't count here: a change may mend it, and a configuration on trial may make it ill
 * until the trial has ended. Waiting for the server afterwards is `domains/changes/shared/gate.ts`.
 */
import { hasEnded, operationTitle, type Step } from '#contract/operations.ts'
import type { LastChange } from '#contract/servers/silence.ts'
import { inTransaction } from '../../db/db.ts'
import type { Touched } from '../cluster-facts/api.ts'
import { forbiddenBy, settled, whyOthersForbid } from './judge.ts'
import { type ClusterView } from './view.ts'
import { controlPlanesNow } from './read.ts'
import * as store from './store.ts'
import type { Member } from './view.ts'

/**
 * Names of the servers that an operation takes out of the cluster and has not wiped yet. What ails
 * them ends with that, so it doesn't stop the operation.
 */
export const namesLeaving = (
  { steps }: { readonly steps: readonly Pick<Step, 'key' | 'node_id' | 'status'>[] },
  members: readonly Pick<Member, 'node_id' | 'name'>[],
): ReadonlySet<string> => {
  const isOver = ({ status }: Pick<Step, 'status'>): boolean =>
    status === 'done' || status === 'skipped'
  const ids = new Set(
    steps.flatMap((s) => (s.key.startsWith('reset/') && !isOver(s) ? [s.node_id] : [])),
  )
  return new Set(members.flatMap((m) => (ids.has(m.node_id) ? [m.name] : [])))
}

const none: ReadonlySet<string> = new Set()
/** Time in ms after which the claim of a process that was killed ends. */
const claimMs = 3 * 60_000

/** What is sent to a server, for the sentences about a silence that follows. */
async function changeOf(
  { parts, state: { row } }: ClusterView,
  { name }: Pick<Member, 'name'>,
): Promise<Omit<LastChange, 'at'>> {
  const operation =
    row.operation_id === null ? undefined : await parts.operations.read(parts.db, row.operation_id)
  if (operation === undefined || hasEnded(operation))
    return { title: `Change patches of ${name}`, operation_id: null, take_back: null }
  const { kind } = operation
  return {
    title: operationTitle(operation),
    operation_id: operation.id,
    take_back:
      kind === 'clusterConfigure'
        ? 'patches'
        : kind === 'clusterUpgradeTalos' || kind === 'clusterExtensions'
          ? 'talos'
          : null,
  }
}

interface Touching {
  /** Names of control planes that the change is to mend, or takes out of the cluster. */
  readonly mends?: ReadonlySet<string>
  /** The server joins or leaves: nothing changes on a server that stays silent. */
  readonly isComing?: boolean
  /** What is sent; by default what the operation of the cluster sends. */
  readonly change?: Omit<LastChange, 'at'>
  /**
   * The change may mend the server: if the server is not well, the illnesses of others don't count,
   * as long as etcd keeps its quorum. Otherwise servers that are ill alike could not be mended.
   */
  readonly mayMend?: true
}

/**
 * Sends something that may change the components of a server. Of the control planes of a cluster,
 * one at a time is changed, and only while all others are well; a worker may always be changed. The
 * error of `send` is thrown.
 */
export async function touching<T>(
  view: ClusterView,
  m: Pick<Member, 'cluster_id' | 'node_id' | 'name' | 'role'>,
  send: () => Promise<T>,
  { mends = none, isComing = false, change, mayMend }: Touching = {},
): Promise<Touched<T>> {
  const { cluster_id, node_id, name, role } = m
  const { db, clock, servers } = view.parts
  const sendNoted = async (): Promise<T> => {
    if (!isComing) {
      const sent = change ?? (await changeOf(view, m))
      await inTransaction(db, (tx) => servers.noteSending(tx, node_id, sent))
    }
    return send()
  }
  if (role !== 'control_plane') return { sent: await sendNoted() }
  const claim = { clusterId: cluster_id, nodeId: node_id }
  const now = clock.now()
  if (!(await store.claim(db, claim, new Date(now), new Date(now + claimMs))))
    return { forbidden: `${name} is changed after another control plane`, by: [], isBrief: true }
  try {
    // The server's own etcd counts only in a change that mends: a dead one has no quorum to lose.
    const isAsked = (other: string) => mends.size > 0 || other !== node_id
    let found = forbiddenBy(node_id, await controlPlanesNow(view, isAsked), mends)
    if (found !== null && mayMend) {
      const all = await controlPlanesNow(view)
      const isIll = all.some((one) => one.node_id === node_id && one.illnesses.length > 0)
      if (isIll) found = forbiddenBy(node_id, all, new Set(all.map((one) => one.name)))
    }
    return found === null
      ? { sent: await sendNoted() }
      : {
          forbidden: `${name} is changed as soon as the other control planes are well. ${found.why}`,
          by: found.by.map((one) => ({ id: one.node_id, name: one.name })),
        }
  } finally {
    // What was sent is visible on the machine now: others wait until it has taken effect.
    await store.release(db, claim)
  }
}

/**
 * Why a change of this control plane must not be requested now, or null. What only takes effect at
 * this moment is waited for when the change is sent.
 */
export async function whyNotRequest(
  view: ClusterView,
  { node_id, role }: Pick<Member, 'node_id' | 'role'>,
): Promise<string | null> {
  return role === 'control_plane'
    ? whyOthersForbid(
        node_id,
        settled(await controlPlanesNow(view, (other) => other !== node_id)),
        none,
      )
    : null
}
