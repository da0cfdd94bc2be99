/**
 * Brings a cluster as a whole to what was asked for: its secrets, etcd once, the control plane, the nodes, its key; or its end. The servers
 * have wake-ups of their own (`reconcile-member.ts`). Level-triggered, safe to repeat at every point.
 */
import { hasEnded } from '#contract/operations.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { chooseForBootstrap, type ClusterAct, decideCluster, describe, isStuck } from './decide-cluster.ts'
import { clusterFacts, load, memberOf, type State } from './facts.ts'
import { type Kubernetes, kubernetes, KubernetesError, type KubernetesTarget } from './kubernetes.ts'
import { clusterKeySecret, nodePath, operatorBinding } from './kubernetes-objects.ts'
import { clusterQueue, type ClusterParts, memberKey, memberQueue } from './parts.ts'
import { deletionSteps, leaving, newSteps, stepKey, type WholeStep } from './plan.ts'
import { done, failed, progress, running, type Shown, sinceStarted, waiting, whole } from './progress.ts'
import { pollMs } from './reconcile-member.ts'
import type { ClusterSecrets } from './secrets.ts'
import { atTime, lasting, listed } from './sentences.ts'
import * as store from './store.ts'

/** A cluster that is ready is looked at this often; two misses in a row make it degraded, so that one lost packet doesn't. */
const watchMs = 7_000
const missesUntilDegraded = 2
/** How long a step of the whole cluster may wait before a person has to look at it. */
const patienceMs = 45 * 60_000
/** etcd shows its members within seconds of its start; a bootstrap that shows none after this long was lost and is asked for again, on the same server. */
const bootstrapAgainMs = 15_000

export function clusterReconciler(parts: ClusterParts, secrets: ClusterSecrets): Reconciler {
  const { db, engine, servers, operations, recorder } = parts
  const steps = progress(operations)
  const at = (job: Job) => new Date(job.now())
  /** A fenced transaction that holds the cluster's row first. */
  const write = <T>(job: Job, act: (tx: Tx) => Promise<T>): Promise<T> =>
    job.fence.write(async (tx) => {
      await store.hold(tx, job.key)
      return act(tx)
    })

  const wakeMembers = async (tx: Tx, state: State): Promise<void> => {
    for (const m of state.members) if (m.released_at === null) await engine.wake(tx, memberQueue, memberKey(m.cluster_id, m.node_id))
  }

  const show = (tx: Tx, state: State, shown: Partial<Record<WholeStep, Shown>>) => steps.show(tx, state.row.operation_id, whole(shown))

  /** A step that waits; once it has waited for too long, it fails with what it waited for, and so does the operation. */
  const wait = async (job: Job, state: State, step: WholeStep, reason: string): Promise<Outcome> => {
    const waited = await sinceStarted(db, operations, state.row.operation_id, step, job.now())
    if (waited > patienceMs) {
      const why = `Not done after ${lasting(waited)}. ${reason}`
      await write(job, async (tx) => {
        await show(tx, state, { [step]: failed(why) })
        await end(tx, state, 'failed', why)
        await change(tx, state, { status: 'failed', reason: why })
      })
      return undefined
    }
    await write(job, (tx) => show(tx, state, { [step]: waiting(reason) }))
    return { againMs: pollMs(waited) }
  }

  /** Columns that people see: version and event with them, only where something differs. */
  const change = async (tx: Tx, state: State, columns: Partial<Pick<store.ClusterRow, 'status' | 'reason' | 'ready_at' | 'misses'>>): Promise<void> => {
    const differs = Object.entries(columns).some(([key, value]) => state.row[key as keyof store.ClusterRow] !== value)
    if (!differs) return
    const row = await store.update(tx, state.row.id, { ...columns, updated_at: new Date(parts.clock.now()) })
    await recorder.tell(tx, system, { name: 'cluster.updated', object: { kind: 'cluster', id: row.id }, version: row.version })
  }

  const end = async (tx: Tx, state: State, how: 'done' | 'failed' | 'cancelled', reason: string | null = null): Promise<void> => {
    if (state.row.operation_id !== null) await operations.set(tx, state.row.operation_id, { status: how, reason })
  }

  /** What people asked of the operation since: a cancel turns a creation around, a retry forgets failures. Answers whether anything changed. */
  const obey = async (job: Job, state: State): Promise<boolean> => {
    const operation = state.row.operation_id === null ? undefined : await operations.state(db, state.row.operation_id)
    const id = state.row.operation_id!
    if (!operation || hasEnded(operation)) return false
    if (operation.round > state.row.operation_round) {
      await write(job, async (tx) => {
        await store.update(tx, state.row.id, { operation_round: operation.round })
        for (const m of state.members.filter((row) => row.failed_at !== null && row.released_at === null)) {
          // What it was seen to be before it failed says nothing about what it is now.
          await store.updateMember(tx, m.cluster_id, m.node_id, {
            failed_at: null,
            failure: null,
            at_since: at(job),
            secured_at: null,
            sends: 0,
            etcd_at: null,
            node_ready_at: null,
          })
        }
        await wakeMembers(tx, state)
      })
      return true
    }
    if (operation.cancel_requested_at !== null && state.row.wanted === 'ready' && state.row.ready_at === null) {
      await write(job, async (tx) => {
        await store.update(tx, state.row.id, { wanted: 'removed', updated_at: at(job) })
        await store.updateMembers(tx, state.row.id, { wanted: 'released', failed_at: null, failure: null, at: 'reset', at_since: at(job) })
        const leavers = state.members.filter((m) => m.released_at === null)
        await operations.addSteps(tx, id, newSteps(deletionSteps(leavers, false)))
        for (const step of (await operations.read(tx, id))!.steps) {
          const isLeaving = leaving.some((place) => step.key.startsWith(`${place}/`)) || step.key === 'forget'
          if (!isLeaving && step.status !== 'done' && step.status !== 'skipped')
            await operations.step(tx, id, step.key, { status: 'skipped', reason: 'Cancelled' })
        }
        await wakeMembers(tx, state)
      })
      return true
    }
    if (operation.cancel_requested_at !== null && (await operations.read(db, id))?.kind === 'clusterDelete') {
      await write(job, (tx) =>
        operations.set(tx, id, { status: 'waiting', reason: 'A deletion goes on to its end: servers that were wiped can not be brought back' }),
      )
    }
    return false
  }

  const targetsOf = async (state: State): Promise<KubernetesTarget[]> => {
    const controlPlanes = state.members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.wanted === 'joined' && m.released_at === null)
    const facts = await servers.forPlan(
      db,
      controlPlanes.map((m) => m.node_id),
    )
    return facts.map((f) => ({ name: f.name, address: f.address }))
  }

  const api = async (state: State): Promise<Kubernetes> => kubernetes(await targetsOf(state), (await secrets.kubernetesAdmin(state.row.id))!, parts.dial)

  const makeSecrets = (job: Job, state: State): Promise<void> =>
    job.effect('secrets', async () => {
      await write(job, (tx) => show(tx, state, { secrets: running() }))
      const bundle = await secrets.generate(state.row.talos_version)
      await write(job, async (tx) => {
        if ((await store.secret(tx, state.row.id, 'bundle')) === undefined) await secrets.sealBundle(tx, state.row.id, bundle)
      })
    })

  /** On the disk before the secrets are used for the first time: a lost database is not a lost cluster. */
  const escrow = async (job: Job, state: State): Promise<void> => {
    await job.effect('escrow', () => secrets.escrow(state.row.id))
    await write(job, async (tx) => {
      await store.update(tx, state.row.id, { escrowed_at: at(job) })
      await show(tx, state, { secrets: done })
      await wakeMembers(tx, state)
    })
  }

  /** Members of etcd as the control planes tell; those that don't answer tell nothing. */
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
   * etcd once. The row is the decision, written before the call; the chosen server never changes while its state is unknown. What proves that
   * etcd was made is not the answer of the call, which a restart of the server can undo, but etcd's own list of members.
   */
  const bootstrap = async (job: Job, state: State): Promise<Outcome | 'again'> => {
    const found = await etcdMembers(job, state)
    const choice = state.bootstrap ?? (await choose(job, state))
    if (!choice) return { againMs: 1_000 }
    if (found) {
      await write(job, async (tx) => {
        await store.confirmBootstrap(tx, state.row.id, at(job))
        await show(tx, state, { bootstrap: done, 'control-plane': running() })
        await wakeMembers(tx, state)
      })
      return 'again'
    }
    const chosen = state.members.find((m) => m.node_id === choice.node_id)!
    const calledMs = choice.called_at === null ? Infinity : job.now() - choice.called_at.getTime()
    if (calledMs < bootstrapAgainMs)
      return wait(job, state, 'bootstrap', `etcd was started on ${chosen.name} at ${atTime(choice.called_at!.getTime())}; waiting for its first member`)
    const credentials = (await secrets.talosAdmin(state.row.id))!
    try {
      const connection = await servers.connection(chosen.node_id)
      await job.effect('bootstrap', () => connection.secure(credentials, (client) => client.bootstrap({ signal: job.signal }), { signal: job.signal }))
    } catch (error) {
      if (job.signal.aborted) throw error
      // It holds etcd's data already: its list of members will say so.
      if (!(error instanceof TalosError && error.kind === 'already_exists'))
        return wait(job, state, 'bootstrap', `etcd can not be started on ${chosen.name} yet: ${error instanceof Error ? error.message : String(error)}`)
    }
    await write(job, (tx) => store.noteBootstrapCall(tx, state.row.id, at(job)))
    return { againMs: pollMs(0) }
  }

  const choose = async (job: Job, state: State): Promise<store.BootstrapRow | undefined> => {
    const chosen = chooseForBootstrap(state.members.map(memberOf))
    if (!chosen) return undefined
    const [facts] = await servers.forPlan(db, [chosen.node_id])
    return write(job, async (tx) => {
      const row = await store.chooseBootstrap(tx, { cluster_id: state.row.id, node_id: chosen.node_id, node_uuid: facts!.uuid ?? '', intent_at: at(job) })
      await show(tx, state, { bootstrap: running(`On ${chosen.name}`) })
      return row
    })
  }

  /** etcd, trustd and the API server of one control plane are enough for the workers to begin. */
  const checkControlPlane = async (job: Job, state: State): Promise<Outcome | 'again'> => {
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
    await write(job, async (tx) => {
      await store.update(tx, state.row.id, { control_plane_at: at(job) })
      await show(tx, state, { bootstrap: done, 'control-plane': done, nodes: running() })
      await wakeMembers(tx, state)
    })
    return 'again'
  }

  const checkNodes = async (job: Job, state: State): Promise<Outcome | 'again'> => {
    const nodes = new Map((await (await api(state)).nodes(job.signal)).map((n) => [n.name, n]))
    const joining = state.members.filter((m) => m.wanted === 'joined' && m.released_at === null)
    const fresh = joining.filter((m) => m.node_ready_at === null && m.secured_at !== null && m.failed_at === null && nodes.get(m.name)?.ready === true)
    if (fresh.length > 0) {
      await write(job, async (tx) => {
        for (const m of fresh) {
          await store.updateMember(tx, m.cluster_id, m.node_id, { node_ready_at: at(job), at: 'join', at_since: m.at === 'join' ? m.at_since : at(job) })
          await servers.markReady(tx, system, m.node_id)
          const places = m.role === 'control_plane' ? (['boot', 'etcd', 'join'] as const) : (['boot', 'join'] as const)
          await steps.show(tx, state.row.operation_id, new Map(places.map((p) => [stepKey(p, m.node_id), done])))
        }
      })
    }
    // Also one that is Ready but hasn't been seen to answer yet: its own steps come to an end first.
    const late = joining.filter((m) => m.secured_at === null || nodes.get(m.name)?.ready !== true)
    if (late.length === 0) {
      await write(job, async (tx) => {
        await store.update(tx, state.row.id, { nodes_ready_at: at(job) })
        await show(tx, state, { nodes: done, key: running() })
      })
      return 'again'
    }
    const first = late.find((m) => m.at === 'join') ?? late[0]!
    const why = nodes.get(first.name)?.reason
    await write(job, (tx) => show(tx, state, { nodes: waiting(`Waiting for ${listed(late.map((m) => m.name))}${why ? `; ${first.name}: ${why}` : ''}`) }))
    return { againMs: pollMs(job.now() - Math.max(...joining.map((m) => m.at_since.getTime()))) }
  }

  const applyKey = async (job: Job, state: State): Promise<void> => {
    const { path, object } = clusterKeySecret({ address: state.row.chain_address, privateKeyHex: await secrets.chainKey(db, state.row.id) })
    const client = await api(state)
    await job.effect('key', () => client.apply(path, object, job.signal))
    await write(job, async (tx) => {
      await store.update(tx, state.row.id, { key_applied_at: at(job) })
      await show(tx, state, { key: done, access: running() })
    })
  }

  const applyAccess = async (job: Job, state: State): Promise<void> => {
    const { path, object } = operatorBinding()
    const client = await api(state)
    await job.effect('access', () => client.apply(path, object, job.signal))
    await write(job, async (tx) => {
      const now = at(job)
      await store.update(tx, state.row.id, { access_applied_at: now })
      await show(tx, state, { access: done })
      const late = state.members.filter((m) => m.wanted === 'released' && m.released_at === null)
      const reason = 'It has not answered; it is reset and released when it does'
      for (const m of late)
        await steps.show(tx, state.row.operation_id, new Map(leaving.map((place) => [stepKey(place, m.node_id), { status: 'skipped', reason }])))
      await change(tx, state, { ready_at: now, status: 'ready', reason: null })
      await end(tx, state, 'done')
      await recorder.record(tx, system, {
        action: 'cluster.ready',
        target: { kind: 'cluster', id: state.row.id, name: state.row.name },
        after: { chainAddress: state.row.chain_address },
      })
    })
  }

  /** ready ↔ degraded, with the reason. */
  const watch = async (job: Job, state: State): Promise<Outcome> => {
    const verdict = await health(job, state)
    const misses = verdict === null ? 0 : state.row.misses + 1
    const isDegraded = misses >= missesUntilDegraded
    await write(job, (tx) =>
      change(tx, state, {
        misses,
        ...(verdict === null ? { status: 'ready' as const, reason: null } : isDegraded ? { status: 'degraded' as const, reason: verdict } : {}),
      }),
    )
    return { againMs: watchMs }
  }

  const health = async (job: Job, state: State): Promise<string | null> => {
    try {
      await forgetReplaced(job, state)
      const nodes = new Map((await (await api(state)).nodes(job.signal)).map((n) => [n.name, n]))
      const ill = state.members.filter((m) => m.wanted === 'joined' && m.released_at === null && nodes.get(m.name)?.ready !== true)
      if (ill.length === 0) return null
      const why = nodes.get(ill[0]!.name)?.reason
      return `${listed(ill.map((m) => m.name))} ${ill.length === 1 ? 'is' : 'are'} not Ready${why ? `: ${why}` : ''}`
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      return `The Kubernetes API does not answer: ${error.message}`
    }
  }

  const forget = (job: Job, state: State): Promise<void> =>
    write(job, async (tx) => {
      const left = state.members.filter((m) => m.released_at === null)
      for (const m of left) {
        await store.updateMember(tx, m.cluster_id, m.node_id, { at: 'done', released_at: at(job) })
        await servers.release(tx, system, m.node_id, {
          why: `The cluster ${state.row.name} was forgotten; this server was not reset and may still hold its configuration`,
        })
      }
      const operation = state.row.operation_id === null ? undefined : await operations.read(tx, state.row.operation_id)
      await show(tx, state, {
        forget: {
          status: 'done',
          reason:
            left.length > 0
              ? `Forgotten without a reset: ${listed(
                  left.map((m) => m.name),
                  20,
                )}`
              : null,
        },
      })
      await end(tx, state, operation?.kind === 'clusterDelete' ? 'done' : 'cancelled')
      const row = await store.update(tx, state.row.id, { deleted_at: at(job), updated_at: at(job) })
      await recorder.record(tx, system, {
        action: 'cluster.removed',
        target: { kind: 'cluster', id: row.id, name: row.name },
        after: { forgotten: left.map((m) => m.name) },
        event: { name: 'cluster.removed', version: row.version },
      })
      secrets.drop(row.id)
    })

  /** A replaced server leaves Kubernetes too. What can't be removed now is a node that never is Ready, and is said to be. */
  const forgetReplaced = async (job: Job, state: State): Promise<void> => {
    const gone = state.members.filter((m) => m.wanted === 'released' && m.released_at !== null && m.node_ready_at !== null)
    if (gone.length === 0 || state.row.control_plane_at === null) return
    const client = await api(state)
    for (const m of gone) {
      await client.remove(nodePath(m.name), job.signal)
      await write(job, (tx) => store.updateMember(tx, m.cluster_id, m.node_id, { node_ready_at: null }))
    }
  }

  const perform = async (job: Job, state: State, act: ClusterAct): Promise<Outcome | 'again'> => {
    switch (act) {
      case 'secrets':
        await makeSecrets(job, state)
        return 'again'
      case 'escrow':
        await escrow(job, state)
        return 'again'
      case 'bootstrap':
        return bootstrap(job, state)
      case 'check-control-plane':
        return checkControlPlane(job, state)
      case 'check-nodes':
        await forgetReplaced(job, state)
        return checkNodes(job, state)
      case 'key':
        await applyKey(job, state)
        return 'again'
      case 'access':
        await applyAccess(job, state)
        return { againMs: watchMs }
      case 'watch':
        return watch(job, state)
      case 'forget':
        await forget(job, state)
        return undefined
      default:
        return undefined
    }
  }

  const stepOf: Partial<Record<ClusterAct, WholeStep>> = { 'check-control-plane': 'control-plane', 'check-nodes': 'nodes', key: 'key', access: 'access' }

  const turn = async (job: Job): Promise<Outcome | 'again'> => {
    const state = await load(db, job.key)
    if (!state) return undefined
    if (await obey(job, state)) return 'again'
    const facts = clusterFacts(state)
    const act = decideCluster(facts)
    if (act !== 'watch' && act !== 'forget') {
      const stuck = isStuck(facts)
      await write(job, async (tx) => {
        const described = describe(facts)
        await change(tx, state, described)
        if (stuck) await end(tx, state, 'failed', described.reason)
        else if (state.row.operation_id !== null) await operations.set(tx, state.row.operation_id, { status: 'running', reason: described.reason })
      })
      if (stuck) return undefined
    }
    try {
      return await perform(job, state, act)
    } catch (error) {
      const step = stepOf[act]
      if (!(error instanceof KubernetesError) || step === undefined) throw error
      return wait(job, state, step, error.message)
    }
  }

  return {
    queue: clusterQueue,
    concurrency: 32,
    deadlineMs: 180_000,
    async reconcile(job) {
      for (let turns = 0; turns < 12; turns++) {
        const outcome = await turn(job)
        if (outcome !== 'again') return outcome
      }
      return { againMs: 0 }
    },
  }
}
