/** The steps from secrets to a ready cluster. Each is safe to repeat. */
import type { Job } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { sweepQueue } from '../../patches/drift/sweep.ts'
import type { ClusterRun, Turn } from '../whole/cluster-run.ts'
import type { State } from '../facts.ts'
import { clusterKeySecret, operatorBinding } from '../kubernetes-objects.ts'
import { lateReason } from './late-nodes.ts'
import { leaving, stepKey } from '../plan.ts'
import { done, running, waiting } from '../whole/progress.ts'
import { pollMs } from '../member/run.ts'
import { listed } from '../sentences.ts'
import * as store from '../store.ts'

export function bringUp({ parts, secrets, steps, at, write, wakeMembers, show, wait, change, end, api }: ClusterRun) {
  const { db, servers, record } = parts

  const makeSecrets = (job: Job, state: State): Promise<void> =>
    job.effect('secrets', async () => {
      await write(job, state, (tx) => show(tx, state, { secrets: running() }))
      const bundle = await secrets.generate(state.row.talos_version)
      await write(job, state, async (tx) => {
        if ((await store.secret(tx, state.row.id, 'bundle')) === undefined) await secrets.sealBundle(tx, state.row.id, bundle)
      })
    })

  /** Writes the escrow file before the secrets are first used, so that a lost database doesn't lose the cluster. */
  const escrow = async (job: Job, state: State): Promise<void> => {
    await job.effect('escrow', () => secrets.escrow(state.row.id))
    await write(job, state, async (tx) => {
      await store.update(tx, state.row.id, { escrowed_at: at(job) })
      await show(tx, state, { secrets: done })
      await wakeMembers(tx, state)
    })
  }

  /** Workers can start once one control plane runs etcd, trustd and the API server. */
  const checkControlPlane = async (job: Job, state: State): Promise<Turn> => {
    const credentials = (await secrets.talosAdmin(state.row.id))!
    const client = await api(state)
    const controlPlanes = state.members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.wanted === 'joined' && m.released_at === null)
    const answers = await Promise.all(
      controlPlanes.map(async (m): Promise<string | null> => {
        try {
          const connection = await servers.connection(m.node_id)
          const services = await connection.secure(credentials, (c) => c.services(), { signal: job.signal })
          const ill = ['etcd', 'trustd'].find((id) => !services.some((s) => s.id === id && s.state === 'Running' && s.healthy === true))
          if (ill) return `${ill} on ${m.name} is ${services.find((s) => s.id === ill)?.state.toLowerCase() ?? 'not there yet'}`
          await client.readyz({ name: m.name, address: connection.address }, job.signal)
          return null
        } catch (error) {
          if (job.signal.aborted) throw error
          return `${m.name}: ${error instanceof Error ? error.message : String(error)}`
        }
      }),
    )
    if (!answers.includes(null)) return wait(job, state, 'control-plane', answers[0] ?? 'No control plane answers')
    await write(job, state, async (tx) => {
      await store.update(tx, state.row.id, { control_plane_at: at(job) })
      await show(tx, state, { bootstrap: done, 'control-plane': done, nodes: running() })
      await wakeMembers(tx, state)
    })
    return 'again'
  }

  const checkNodes = async (job: Job, state: State): Promise<Turn> => {
    const nodes = new Map((await (await api(state)).nodes(job.signal)).map((n) => [n.name, n]))
    const joining = state.members.filter((m) => m.wanted === 'joined' && m.released_at === null)
    // Kubernetes may report a control plane Ready before etcd has accepted it, because its kubelet uses another API server.
    const hasAnswered = (m: store.MemberRow) => m.secured_at !== null && (m.role === 'worker' || m.etcd_at !== null)
    const fresh = joining.filter((m) => m.node_ready_at === null && m.failed_at === null && hasAnswered(m) && nodes.get(m.name)?.ready === true)
    if (fresh.length > 0) {
      await write(job, state, async (tx) => {
        const now = new Map((await store.members(tx, state.row.id)).map((m) => [m.node_id, m]))
        // A server that has failed since it was read stays failed until a user acts.
        for (const m of fresh.filter((read) => now.get(read.node_id)?.failed_at === null)) {
          await store.updateMember(tx, m.cluster_id, m.node_id, { node_ready_at: at(job), at: 'join', at_since: m.at === 'join' ? m.at_since : at(job) })
          await servers.markReady(tx, system, m.node_id)
          await servers.noteNodes(tx, m.cluster_id, [{ node_id: m.node_id, ready: true, reason: null }])
          const places = m.role === 'control_plane' ? (['boot', 'etcd', 'join'] as const) : (['boot', 'join'] as const)
          await steps.show(tx, state.row.operation_id, new Map(places.map((p) => [stepKey(p, m.node_id), done])))
        }
      })
    }
    // Includes a server that is Ready but was not seen to answer: its own steps end first. Only a retry restarts a failed server.
    const late = joining.filter((m) => !hasAnswered(m) || m.failed_at !== null || nodes.get(m.name)?.ready !== true)
    if (late.length === 0) {
      await write(job, state, async (tx) => {
        await store.update(tx, state.row.id, { nodes_ready_at: at(job) })
        await show(tx, state, { nodes: done, key: running() })
      })
      return 'again'
    }
    const first = late.find((m) => m.at === 'join') ?? late[0]!
    const [facts] = await servers.forPlan(db, [first.node_id])
    const why = lateReason({ name: first.name, address: facts!.address, secured: first.secured_at !== null }, [...nodes.values()])
    await write(job, state, (tx) => show(tx, state, { nodes: waiting(`Waiting for ${listed(late.map((m) => m.name))}${why === null ? '' : `; ${why}`}`) }))
    return { againMs: pollMs(Math.min(...joining.map((m) => job.elapsedMs(m.at_since)))) }
  }

  const applyKey = async (job: Job, state: State): Promise<void> => {
    const { path, object } = clusterKeySecret({ address: state.row.chain_address, privateKeyHex: await secrets.chainKey(db, state.row.id) })
    const client = await api(state)
    await job.effect('key', () => client.apply(path, object, job.signal))
    await write(job, state, async (tx) => {
      await store.update(tx, state.row.id, { key_applied_at: at(job) })
      await show(tx, state, { key: done, access: running() })
    })
  }

  const applyAccess = async (job: Job, state: State): Promise<void> => {
    const { path, object } = operatorBinding()
    const client = await api(state)
    await job.effect('access', () => client.apply(path, object, job.signal))
    await write(job, state, async (tx) => {
      const now = at(job)
      await store.update(tx, state.row.id, { access_applied_at: now })
      await show(tx, state, { access: done })
      const late = state.members.filter((m) => m.wanted === 'released' && m.released_at === null)
      const reason = 'It has not answered; it is reset and released when it does'
      for (const m of late)
        await steps.show(tx, state.row.operation_id, new Map(leaving.map((place) => [stepKey(place, m.node_id), { status: 'skipped', reason }])))
      await change(tx, state, { ready_at: now, status: 'ready', reason: null })
      await end(tx, state, 'done')
      await parts.engine.wake(tx, sweepQueue, state.row.id)
      // A cluster that was taken over ran before.
      if (state.row.taken_over_at !== null) return
      await record(tx, system, {
        action: 'cluster.ready',
        target: { kind: 'cluster', id: state.row.id, name: state.row.name },
        after: { chainAddress: state.row.chain_address },
      })
    })
  }

  return { makeSecrets, escrow, checkControlPlane, checkNodes, applyKey, applyAccess }
}
