/**
 * Bootstraps etcd exactly once per cluster. Talos refuses a second bootstrap on the same server, but not on another control plane. A row
 * written before the call selects the server and doesn't change while the result is unknown.
 */
import { TalosError } from '#talos/client/errors.ts'
import { factsOf, wakeMembers } from '../parts.ts'
import { pollMs } from '../member/run.ts'
import { atTime } from '../sentences.ts'
import * as store from '../store.ts'
import { type ClusterTurn, type Next, nowOf, show, wait, write } from '../whole/cluster-run.ts'
import { chooseForBootstrap } from '../whole/decide-cluster.ts'
import { done, running } from '../whole/progress.ts'

/** etcd lists its members seconds after its start. Without members after this time, in ms, the bootstrap is repeated on the same server. */
const bootstrapAgainMs = 15_000

/** Whether any control plane lists members of etcd. */
async function hasMembers({ parts, job, state }: ClusterTurn): Promise<boolean> {
  const credentials = (await parts.secrets.talosAdmin(state.row.id))!
  const asked = state.members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.released_at === null)
  const counts = await Promise.all(
    asked.map(async (m) => {
      try {
        const connection = await parts.servers.connection(m.node_id)
        return (await connection.secure(credentials, (client) => client.etcdMembers(), { signal: job.signal })).length
      } catch (error) {
        if (job.signal.aborted) throw error
        return 0
      }
    }),
  )
  return counts.some((count) => count > 0)
}

/**
 * The row is the decision. The chosen server never changes while its state is unknown. The proof that
 * etcd exists is its own member list, because a restart of the server can undo an answered call.
 */
export async function bootstrap(turn: ClusterTurn): Promise<Next> {
  const { parts, job, state } = turn
  const isBegun = await hasMembers(turn)
  const choice = state.bootstrap ?? (await choose(turn))
  if (!choice) return { againMs: 1_000 }
  if (isBegun) {
    await write(turn, async (tx) => {
      await store.confirmBootstrap(tx, state.row.id, nowOf(turn))
      await show(turn, tx, { bootstrap: done, 'control-plane': running() })
      await wakeMembers(parts.engine, tx, state.members)
    })
    return 'again'
  }
  const chosen = state.members.find((m) => m.node_id === choice.node_id)!
  if (choice.called_at !== null && job.elapsedMs(choice.called_at) < bootstrapAgainMs)
    return wait(turn, 'bootstrap', `etcd was started on ${chosen.name} at ${atTime(choice.called_at)}; waiting for its first member`)
  const credentials = (await parts.secrets.talosAdmin(state.row.id))!
  try {
    const connection = await parts.servers.connection(chosen.node_id)
    await job.effect('bootstrap', () => connection.secure(credentials, (client) => client.bootstrap({ signal: job.signal }), { signal: job.signal }))
  } catch (error) {
    if (job.signal.aborted) throw error
    // The server has etcd data already, which its member list will confirm.
    if (!(error instanceof TalosError && error.kind === 'already_exists'))
      return wait(turn, 'bootstrap', `etcd can not be started on ${chosen.name} yet: ${error instanceof Error ? error.message : String(error)}`)
  }
  await write(turn, (tx) => store.noteBootstrapCall(tx, state.row.id, nowOf(turn)))
  return { againMs: pollMs(0) }
}

async function choose(turn: ClusterTurn): Promise<store.BootstrapRow | undefined> {
  const { parts, state } = turn
  const chosen = chooseForBootstrap(state.members)
  if (!chosen) return undefined
  const [facts] = await factsOf(parts, parts.db, [chosen])
  return write(turn, async (tx) => {
    const choice = { cluster_id: state.row.id, node_id: chosen.node_id, node_uuid: facts!.uuid ?? '', intent_at: nowOf(turn) }
    const row = await store.chooseBootstrap(tx, choice)
    await show(turn, tx, { bootstrap: running(`On ${chosen.name}`) })
    return row
  })
}
