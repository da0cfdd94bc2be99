/** The steps from secrets to a ready cluster. Each is safe to repeat. */
import type { KeptObject } from '#contract/clusters/existing.ts'
import { TalosError } from '#talos/client/errors.ts'
import { system } from '../../../http/caller.ts'
import type { KubernetesNode } from '../../../kubernetes/answers.ts'
import { sweepQueue } from '../../configurations/api.ts'
import { poolQueue } from '../../pools/api.ts'
import { certificateQueue, healthQueue } from '../parts.ts'
import { bindsOperators, holdsKey, keyAddress, putUnlessKept } from '../existing.ts'
import { controlPlanesOf, factsOf, kubernetesOf } from '../../control-planes/api.ts'
import { updateCluster, wakeMembers } from '../parts.ts'
import { clusterKeySecret, operatorBinding } from '../objects.ts'
import {
  change,
  type ClusterTurn,
  done,
  end,
  type Next,
  nowOf,
  pollMs,
  running,
  show,
  showSteps,
  wait,
  waiting,
  write,
} from './cluster-run.ts'
import { leaving, stepKey } from '../plan.ts'
import { atTime, listed } from '../../../sentences.ts'
import {
  type EtcdSeen,
  notYet,
  orderOf,
  progressOf,
  reportsMembers,
  seeEtcd,
  standingOf,
} from './etcd-order.ts'
import * as store from '../store.ts'
import { chooseForBootstrap } from './decide-cluster.ts'

export const makeSecrets = (turn: ClusterTurn): Promise<void> =>
  turn.job.effect('secrets', async () => {
    const { parts, state } = turn
    await write(turn, (tx) => show(turn, tx, { secrets: running() }))
    const bundle = await parts.secrets.generate(state.row.talos_version)
    await write(turn, async (tx) => {
      if ((await store.secret(tx, state.row.id, 'bundle')) === undefined)
        await parts.secrets.sealBundle(tx, state.row.id, bundle)
    })
  })

/**
 * Writes the escrow file (a backup of the cluster's secrets) before the first use of the secrets,
 * so that losing the database doesn't lose the cluster.
 */
export async function escrow(turn: ClusterTurn): Promise<void> {
  const { parts, job, state } = turn
  await job.effect('escrow', () => parts.secrets.escrow(state.row.id))
  await write(turn, async (tx) => {
    await store.update(tx, state.row.id, { escrowed_at: nowOf(turn) })
    await show(turn, tx, { secrets: done })
    await wakeMembers(parts.engine, tx, state.members)
  })
}

type Looked = { readonly m: store.MemberRow } & (
  | { readonly seen: EtcdSeen }
  | { readonly begun: boolean }
  | { readonly silent: string }
)

/**
 * Asks all control planes for members of etcd, and the one that is chosen for the bootstrap what
 * its etcd does.
 */
async function lookAtEtcd({ parts, job, state }: ClusterTurn): Promise<Looked[]> {
  const credentials = (await parts.secrets.talosAdmin(state.row.id))!
  const asked = state.members.filter(
    (m) => m.role === 'control_plane' && m.secured_at !== null && m.released_at === null,
  )
  return Promise.all(
    asked.map(async (m): Promise<Looked> => {
      try {
        const connection = await parts.servers.connection(m.node_id)
        const options = { signal: job.signal }
        return m.node_id === state.bootstrap?.node_id
          ? { m, seen: await connection.secure(credentials, seeEtcd, options) }
          : { m, begun: await connection.secure(credentials, reportsMembers, options) }
      } catch (error) {
        if (job.signal.aborted) throw error
        return { m, silent: error instanceof Error ? error.message : String(error) }
      }
    }),
  )
}

/**
 * Bootstraps etcd exactly once per cluster. Talos refuses a second bootstrap on the same server,
 * but not on another control plane. So the chosen server is stored before the call and isn't
 * changed while the result is unknown. Only etcd's own member list proves that etcd exists, because
 * a restart of the server can undo a successful call.
 */
export async function bootstrap(turn: ClusterTurn): Promise<Next> {
  const { parts, job, state } = turn
  if (!state.bootstrap) return (await choose(turn)) ? 'again' : { againMs: 1_000 }
  const looks = await lookAtEtcd(turn)
  if (
    looks.some((look) =>
      'seen' in look ? look.seen.members.length > 0 : 'begun' in look && look.begun,
    )
  ) {
    await write(turn, async (tx) => {
      await store.confirmBootstrap(tx, state.row.id, nowOf(turn))
      await show(turn, tx, { bootstrap: done, 'control-plane': running() })
      await wakeMembers(parts.engine, tx, state.members)
    })
    return 'again'
  }
  const order = state.bootstrap
  const { name } = state.members.find((m) => m.node_id === order.node_id)!
  const refused = (why: string) =>
    wait(turn, 'bootstrap', `etcd cannot be started on ${name} yet: ${why}`)
  const look = looks.find(({ m }) => m.node_id === order.node_id)
  if (!look || !('seen' in look)) {
    const why = look && 'silent' in look ? look.silent : 'it has not answered yet'
    return order.called_at === null
      ? refused(why)
      : wait(
          turn,
          'bootstrap',
          `etcd was started on ${name} at ${atTime(order.called_at)}, but then: ${why}`,
        )
  }
  const unready = notYet(look.seen)
  if (unready !== null) return refused(unready)
  const standing = standingOf(order, look.seen, (since) => job.elapsedMs(since))
  if (!standing.isDue)
    return wait(turn, 'bootstrap', progressOf(name, order.called_at!, look.seen, standing))
  await write(turn, (tx) =>
    store.noteBootstrapCall(tx, state.row.id, orderOf(look.seen, nowOf(turn))),
  )
  try {
    const credentials = (await parts.secrets.talosAdmin(state.row.id))!
    const connection = await parts.servers.connection(order.node_id)
    await job.effect('bootstrap', () =>
      connection.secure(credentials, (client) => client.bootstrap({ signal: job.signal }), {
        signal: job.signal,
      }),
    )
  } catch (error) {
    if (job.signal.aborted) throw error
    // `already_exists`: Talos reports etcd data on the server. A later query of the etcd members
    // confirms the bootstrap.
    if (!(error instanceof TalosError && error.kind === 'already_exists'))
      return refused(error instanceof Error ? error.message : String(error))
  }
  return { againMs: pollMs(0) }
}

async function choose(turn: ClusterTurn): Promise<store.BootstrapRow | undefined> {
  const { parts, state } = turn
  const chosen = chooseForBootstrap(state.members)
  if (!chosen) return undefined
  const [facts] = await factsOf(parts, parts.db, [chosen])
  return write(turn, async (tx) => {
    const choice = {
      cluster_id: state.row.id,
      node_id: chosen.node_id,
      node_uuid: facts!.uuid ?? '',
      intent_at: nowOf(turn),
    }
    const row = await store.chooseBootstrap(tx, choice)
    await show(turn, tx, { bootstrap: running(`On ${chosen.name}`) })
    return row
  })
}

/** Workers can start after one control plane runs etcd, trustd and the API server. */
export async function checkControlPlane(turn: ClusterTurn): Promise<Next> {
  const { parts, job, state } = turn
  const credentials = (await parts.secrets.talosAdmin(state.row.id))!
  const client = await kubernetesOf(parts, state)
  const answers = await Promise.all(
    controlPlanesOf(state.members).map(async (m): Promise<string | null> => {
      try {
        const connection = await parts.servers.connection(m.node_id)
        const services = await connection.secure(credentials, (c) => c.services(), {
          signal: job.signal,
        })
        const ill = ['etcd', 'trustd'].find(
          (id) => !services.some((s) => s.id === id && s.state === 'Running' && s.healthy === true),
        )
        if (ill)
          return `${ill} on ${m.name} is ${services.find((s) => s.id === ill)?.state.toLowerCase() ?? 'not there yet'}`
        await client.readyz({ name: m.name, address: connection.address }, job.signal)
        return null
      } catch (error) {
        if (job.signal.aborted) throw error
        return `${m.name}: ${error instanceof Error ? error.message : String(error)}`
      }
    }),
  )
  if (!answers.includes(null))
    return wait(turn, 'control-plane', answers[0] ?? 'No control plane answers')
  await write(turn, async (tx) => {
    await store.update(tx, state.row.id, { control_plane_at: nowOf(turn) })
    await show(turn, tx, { bootstrap: done, 'control-plane': done, nodes: running() })
    await wakeMembers(parts.engine, tx, state.members)
  })
  return 'again'
}

export async function checkNodes(turn: ClusterTurn): Promise<Next> {
  const { parts, job, state } = turn
  const nodes = new Map(
    (await (await kubernetesOf(parts, state)).nodes(job.signal)).map((n) => [n.name, n]),
  )
  const joining = state.members.filter(store.isWanted)
  // A control plane counts only as a member of etcd. It may be Ready in Kubernetes earlier: its
  // kubelet can use another control plane's API server.
  const hasAnswered = (m: store.MemberRow) =>
    m.secured_at !== null && (m.role === 'worker' || m.etcd_at !== null)
  const fresh = joining.filter(
    (m) =>
      m.node_ready_at === null &&
      m.failed_at === null &&
      hasAnswered(m) &&
      nodes.get(m.name)?.ready === true,
  )
  if (fresh.length > 0) {
    await write(turn, async (tx) => {
      const now = new Map((await store.members(tx, state.row.id)).map((m) => [m.node_id, m]))
      // Skips servers that have failed since they were read: a failed server stays failed until a
      // user acts.
      for (const m of fresh.filter((read) => now.get(read.node_id)?.failed_at === null)) {
        await store.updateMember(tx, m.cluster_id, m.node_id, {
          node_ready_at: nowOf(turn),
          at: 'join',
          at_since: m.at === 'join' ? m.at_since : nowOf(turn),
        })
        await parts.servers.markReady(tx, system, m.node_id)
        await parts.servers.noteNodes(tx, m.cluster_id, [
          { node_id: m.node_id, ready: true, reason: null },
        ])
        const places =
          m.role === 'control_plane'
            ? (['boot', 'etcd', 'join'] as const)
            : (['boot', 'join'] as const)
        await showSteps(
          parts.operations,
          tx,
          state.row.operation_id,
          new Map(places.map((p) => [stepKey(p, m.node_id), done])),
        )
      }
    })
  }
  // Late servers: not Ready, or Ready in Kubernetes but without an answer to Steelyard, or failed
  // and not retried.
  const late = joining.filter(
    (m) => !hasAnswered(m) || m.failed_at !== null || nodes.get(m.name)?.ready !== true,
  )
  if (late.length === 0) {
    await write(turn, async (tx) => {
      await store.update(tx, state.row.id, { nodes_ready_at: nowOf(turn) })
      await show(turn, tx, { nodes: done, key: running() })
    })
    return 'again'
  }
  const first = late.find((m) => m.at === 'join') ?? late[0]!
  const [facts] = await parts.servers.forPlan(parts.db, [first.node_id])
  const why = lateReason(
    { name: first.name, address: facts!.address, secured: first.secured_at !== null },
    [...nodes.values()],
  )
  await write(turn, (tx) =>
    show(turn, tx, {
      nodes: waiting(
        `Waiting for ${listed(late.map((m) => m.name))}${why === null ? '' : `; ${why}`}`,
      ),
    }),
  )
  return { againMs: pollMs(Math.min(...joining.map((m) => job.elapsedMs(m.at_since)))) }
}

/** The kept objects of a cluster with one more. */
const keeping = ({ kept }: store.ClusterRow, more: KeptObject): string =>
  JSON.stringify([...kept.filter((one) => one.object !== more.object), more])
const without = ({ kept }: store.ClusterRow, object: KeptObject['object']): string =>
  JSON.stringify(kept.filter((one) => one.object !== object))

export async function applyKey(turn: ClusterTurn): Promise<void> {
  const { parts, job, state } = turn
  const { id, name, chain_address: address, replaces } = state.row
  if (address === null) throw new Error(`The cluster ${id} has no key of its own`)
  const key = { address, privateKeyHex: await parts.secrets.chainKey(parts.db, id) }
  const client = await kubernetesOf(parts, state)
  const wanted = {
    ...clusterKeySecret(key),
    isWanted: holdsKey(key),
    replaces: replaces.cluster_key,
  }
  const other = await job.effect('key', () => putUnlessKept(client, wanted, job.signal))
  await write(turn, async (tx) => {
    await store.update(tx, id, { key_applied_at: nowOf(turn) })
    if (other) {
      const kept: KeptObject = { object: 'cluster_key', address: keyAddress(other.kept) }
      await store.removeSecret(tx, id, 'chain_key')
      await updateCluster(parts, tx, system, id, {
        chain_address: null,
        kept: keeping(state.row, kept),
      })
      await parts.record(tx, system, {
        action: 'cluster.key_kept',
        target: { kind: 'cluster', id, name },
        after: { address: kept.address },
      })
    }
    await show(turn, tx, { key: done, access: running() })
  })
}

export async function applyAccess(turn: ClusterTurn): Promise<void> {
  const { parts, job, state } = turn
  const client = await kubernetesOf(parts, state)
  const wanted = {
    ...operatorBinding(),
    isWanted: bindsOperators,
    replaces: state.row.replaces.operator_binding,
  }
  const other = await job.effect('access', () => putUnlessKept(client, wanted, job.signal))
  await write(turn, async (tx) => {
    const now = nowOf(turn)
    const kept = other
      ? keeping(state.row, { object: 'operator_binding', address: null })
      : without(state.row, 'operator_binding')
    if (kept !== JSON.stringify(state.row.kept))
      await updateCluster(parts, tx, system, state.row.id, { kept })
    await store.update(tx, state.row.id, { access_applied_at: now })
    await show(turn, tx, { access: done })
    const late = state.members.filter((m) => m.wanted === 'released' && m.released_at === null)
    const reason = 'The server has not answered; as soon as it answers, it is reset and released'
    for (const m of late)
      await showSteps(
        parts.operations,
        tx,
        state.row.operation_id,
        new Map(leaving.map((place) => [stepKey(place, m.node_id), { status: 'skipped', reason }])),
      )
    await change(turn, tx, { ready_at: now, status: 'ready', reason: null })
    await end(turn, tx, 'done')
    await parts.engine.wake(tx, sweepQueue, state.row.id)
    await parts.engine.wake(tx, certificateQueue, state.row.id)
    await parts.engine.wake(tx, healthQueue, state.row.id)
    await parts.engine.wake(tx, poolQueue, state.row.id)
    // A cluster that was taken over ran before, so it gets no `cluster.ready` event.
    if (state.row.taken_over_at !== null) return
    await parts.record(tx, system, {
      action: 'cluster.ready',
      target: { kind: 'cluster', id: state.row.id, name: state.row.name },
      after: { chainAddress: state.row.chain_address },
    })
  })
}

interface Late {
  readonly name: string
  /** The address that Steelyard dials. */
  readonly address: string
  /** The server has answered over its secured API. */
  readonly secured: boolean
}

/** Why a server is not Ready in Kubernetes yet; null if Kubernetes reports nothing about it. */
export function lateReason(late: Late, nodes: readonly KubernetesNode[]): string | null {
  const own = nodes.find((n) => n.name === late.name)
  if (!own) {
    const other = nodes.find((n) => n.addresses.includes(late.address))
    return other
      ? `${late.name} calls itself ${other.name} in Kubernetes: its configuration must not change its node name`
      : null
  }
  if (!own.ready) return `${late.name}: ${own.reason}`
  const [elsewhere] = own.addresses
  if (late.secured || elsewhere === undefined || own.addresses.includes(late.address)) return null
  return `${late.name} is Ready at ${elsewhere}, but is expected at ${late.address}: let the DHCP server give it ${late.address} again`
}
