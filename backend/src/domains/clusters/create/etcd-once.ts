/**
 * Bootstraps etcd exactly once per cluster. Talos refuses a second bootstrap on the same server, but not on another control plane. A row
 * written before the call selects the server and doesn't change while the result is unknown.
 */
import { TalosError } from '#talos/client/errors.ts'
import type { Job } from '../../../engine/engine.ts'
import type { ClusterRun, Turn } from '../whole/cluster-run.ts'
import { chooseForBootstrap } from '../whole/decide-cluster.ts'
import { memberOf, type State } from '../facts.ts'
import { done, running } from '../whole/progress.ts'
import { pollMs } from '../member/run.ts'
import { atTime } from '../sentences.ts'
import * as store from '../store.ts'

/** etcd lists its members seconds after its start. Without members after this time, in ms, the bootstrap is repeated on the same server. */
const bootstrapAgainMs = 15_000

export function etcdOnce({ parts, secrets, at, write, wakeMembers, show, wait }: ClusterRun): (job: Job, state: State) => Promise<Turn> {
  const { db, servers } = parts
  /** etcd members according to the control planes that answer. */
  const etcdMembers = async (job: Job, state: State): Promise<{ name: string; members: string[] } | undefined> => {
    const credentials = (await secrets.talosAdmin(state.row.id))!
    const asked = state.members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.released_at === null)
    const answers = await Promise.all(
      asked.map(async (m) => {
        try {
          const connection = await servers.connection(m.node_id)
          const members = await connection.secure(credentials, (client) => client.etcdMembers(), { signal: job.signal })
          return { name: m.name, members: members.map((e) => e.hostname) }
        } catch (error) {
          if (job.signal.aborted) throw error
          return { name: m.name, members: [] }
        }
      }),
    )
    return answers.find((a) => a.members.length > 0)
  }

  /**
   * The row is the decision. The chosen server never changes while its state is unknown. The proof that
   * etcd exists is its own member list, because a restart of the server can undo an answered call.
   */
  const bootstrap = async (job: Job, state: State): Promise<Turn> => {
    const found = await etcdMembers(job, state)
    const choice = state.bootstrap ?? (await choose(job, state))
    if (!choice) return { againMs: 1_000 }
    if (found) {
      await write(job, state, async (tx) => {
        await store.confirmBootstrap(tx, state.row.id, at(job))
        await show(tx, state, { bootstrap: done, 'control-plane': running() })
        await wakeMembers(tx, state)
      })
      return 'again'
    }
    const chosen = state.members.find((m) => m.node_id === choice.node_id)!
    const calledMs = choice.called_at === null ? Infinity : job.elapsedMs(choice.called_at)
    if (calledMs < bootstrapAgainMs)
      return wait(job, state, 'bootstrap', `etcd was started on ${chosen.name} at ${atTime(choice.called_at!.getTime())}; waiting for its first member`)
    const credentials = (await secrets.talosAdmin(state.row.id))!
    try {
      const connection = await servers.connection(chosen.node_id)
      await job.effect('bootstrap', () => connection.secure(credentials, (client) => client.bootstrap({ signal: job.signal }), { signal: job.signal }))
    } catch (error) {
      if (job.signal.aborted) throw error
      // The server has etcd data already, which its member list will confirm.
      if (!(error instanceof TalosError && error.kind === 'already_exists'))
        return wait(job, state, 'bootstrap', `etcd can not be started on ${chosen.name} yet: ${error instanceof Error ? error.message : String(error)}`)
    }
    await write(job, state, (tx) => store.noteBootstrapCall(tx, state.row.id, at(job)))
    return { againMs: pollMs(0) }
  }

  const choose = async (job: Job, state: State): Promise<store.BootstrapRow | undefined> => {
    const chosen = chooseForBootstrap(state.members.map(memberOf))
    if (!chosen) return undefined
    const [facts] = await servers.forPlan(db, [chosen.node_id])
    return write(job, state, async (tx) => {
      const row = await store.chooseBootstrap(tx, { cluster_id: state.row.id, node_id: chosen.node_id, node_uuid: facts!.uuid ?? '', intent_at: at(job) })
      await show(tx, state, { bootstrap: running(`On ${chosen.name}`) })
      return row
    })
  }

  return bootstrap
}
