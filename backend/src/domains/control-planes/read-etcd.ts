/** Reads the content of a cluster's etcd from its best member. */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { Problem } from '#contract/errors.ts'
import { OutOfTime } from '#contract/connections/causes.ts'
import { forNow, no, type Refusal } from '#contract/rule.ts'
import { isForNow } from '../../for-now.ts'
import { timeLimit } from '../../time-limit.ts'
import type { ClusterView, ControlPlaneParts, Member } from './view.ts'

/** Time limit of reading the state of etcd from a control plane, in ms. */
const askMs = 8_000

interface Source {
  readonly nodeId: string
  readonly name: string
  readonly isLeader: boolean
  readonly appliedIndex: bigint
  readonly version: string
}

/**
 * The best source first: followers before the leader, because reading the database loads the
 * machine; among followers, the one that is least behind.
 */
const best = (a: Source, b: Source): number =>
  Number(a.isLeader) - Number(b.isLeader) ||
  (a.appliedIndex === b.appliedIndex
    ? a.name < b.name
      ? -1
      : 1
    : a.appliedIndex > b.appliedIndex
      ? -1
      : 1)

/** The state of etcd on a control plane, or why no snapshot can be read from it. */
async function ask(
  { servers, secrets }: Pick<ControlPlaneParts, 'servers' | 'secrets'>,
  m: Member,
  signal: AbortSignal,
): Promise<Source | Refusal> {
  try {
    const credentials = (await secrets.talosAdmin(m.cluster_id))!
    const connection = await servers.connection(m.node_id)
    return await connection.secure(
      credentials,
      async (client) => {
        const etcd = (await client.services()).find((s) => s.id === 'etcd')
        if (etcd?.state !== 'Running' || etcd.healthy !== true)
          return forNow(
            `etcd on ${m.name} is ${etcd?.healthy === false ? 'not healthy' : (etcd?.state.toLowerCase() ?? 'not there')}`,
          )
        const status = await client.etcdStatus()
        if (status.learner) return forNow(`${m.name} is still a learner of etcd`)
        if (status.errors.some((e) => /corrupt/i.test(e)))
          return no(`etcd on ${m.name} reports damaged data`)
        return {
          nodeId: m.node_id,
          name: m.name,
          isLeader: status.memberId === status.leaderId,
          appliedIndex: BigInt(status.appliedIndex),
          version: status.version,
        }
      },
      { signal: AbortSignal.any([signal, timeLimit(askMs)]), deadlineMs: askMs },
    )
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (!(error instanceof TalosError || error instanceof Problem || error instanceof OutOfTime))
      throw error
    const reason = `${m.name}: ${error.message}`
    return isForNow(error) ? forNow(reason) : no(reason)
  }
}

/**
 * Reads the etcd of a cluster from its best member. `read` gets the bytes of the snapshot and must
 * consume them. @throws Problem `cluster_not_ready` with the reason if no member can be read;
 * TalosError if the stream breaks off
 */
export async function readEtcd<T>(
  { parts, state, signal }: ClusterView,
  read: (from: { name: string; version: string }, bytes: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const asked = state.members.filter(
    (m) => m.role === 'control_plane' && m.secured_at !== null && m.released_at === null,
  )
  const answers = await Promise.all(asked.map((m) => ask(parts, m, signal)))
  const [source] = answers.flatMap((a) => ('ok' in a ? [] : [a])).toSorted(best)
  if (!source) {
    const refusals = answers.filter((a) => 'ok' in a)
    // One that can be read later is enough.
    const why = refusals.find((r) => r.kind === 'for_now') ?? refusals[0]
    throw Problem.of('cluster_not_ready', {
      ok: false,
      reason: `No control plane of ${state.row.name} has a healthy etcd${why === undefined ? '' : `: ${why.reason}`}`,
      kind: why?.kind ?? 'final',
    })
  }
  const connection = await parts.servers.connection(source.nodeId)
  return connection.secure(
    (await parts.secrets.talosAdmin(state.row.id))!,
    (client: TalosClient) => read(source, client.etcdSnapshot({ signal })),
    { signal },
  )
}
