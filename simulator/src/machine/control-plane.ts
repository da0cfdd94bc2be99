import { Interrupted } from '../clock.ts'
import { reachesEtcd } from '../cluster/endpoints.ts'
import { openEtcdHttp } from '../cluster/etcd-http.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { downgradeProblem, minorOfEtcd, raiseVersion } from '../cluster/storage-version.ts'
import { recoveredState, RecoveryError } from '../cluster/recovery.ts'
import { openTrustd } from '../wire/trustd.ts'
import { TAKES } from './durations.ts'
import { endingOf, fails, showRestarts, untilMended } from './failing.ts'
import { etcdImageOf, pullImage } from './images.ts'
import { lookUntil } from './kubelet/kubelet.ts'
import type { EtcdOrder, Machine } from './machine.ts'
import { limitOf } from './patience.ts'

/** trustd, which signs the certificates of workers. */
export const runTrustd = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  machine.service('trustd', 'Starting', 'Starting service')
  await machine.takes(TAKES.trustd, signal)
  await openTrustd(machine)
  machine.service('trustd', 'Running', 'Health check successful', true)
}

/**
 * etcd of a control plane. Without data it waits in `Preparing` until it is bootstrapped or finds
 * an etcd of its cluster to join. Each bootstrap stops what etcd does, also the pull of its image,
 * and starts it anew (Talos: internal/app/machined/pkg/system/services/etcd.go, BootstrapEtcd).
 */
export const runEtcd = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const config = machine.config!.node!
  if (!config.cluster.etcdCa?.key || !config.cluster.ca?.key) {
    machine.service(
      'etcd',
      'Failed',
      'Failed to run pre stage: the configuration has no etcd or Kubernetes certificate authority with a key',
    )
    return
  }
  const ordered: { last: EtcdOrder | null } = { last: null }
  // Talos promotes only a learner that it has added in this boot.
  const hasJoined = machine.disk.state.etcd === null
  while (machine.disk.state.etcd === null) {
    const stop = new AbortController()
    machine.bootstrapEtcd = (order) => {
      ordered.last = order
      machine.service('etcd', 'Finished', 'Bootstrap requested')
      machine.services.reload('etcd')
      machine.service('etcd', 'Starting', 'Starting service')
      stop.abort()
    }
    try {
      await prepareEtcd(machine, ordered.last, AbortSignal.any([signal, stop.signal]))
    } catch (cause) {
      if (!(cause instanceof Interrupted) || signal.aborted) throw cause
    }
  }
  machine.bootstrapEtcd = null
  await startEtcd(machine, signal, hasJoined)
}

/**
 * Gives etcd its data: of a new cluster if that was ordered, otherwise as a learner of the cluster
 * that it finds.
 */
const prepareEtcd = async (
  machine: Machine,
  order: EtcdOrder | null,
  signal: AbortSignal,
): Promise<void> => {
  machine.service('etcd', 'Preparing', 'Running pre state')
  const problem =
    (await pullImage(machine, etcdImageOf(machine), { signal })) ??
    (order === null ? await join(machine, signal) : create(machine, order))
  if (problem === null) return
  // Talos doesn't start a failed etcd again, until it is bootstrapped.
  machine.service('etcd', 'Failed', `Failed to run pre stage: ${problem}`)
  await machine.until(() => false, signal)
}

/** Makes a new cluster. Returns why etcd refuses the uploaded snapshot, or null. */
const create = (machine: Machine, { recovers, skipsHashCheck }: EtcdOrder): string | null => {
  try {
    const recovered = recovers
      ? recoveredState(machine.disk.snapshot, skipsHashCheck, minorOfEtcd(machine))
      : undefined
    const { cluster, member } = machine.world.etcd.create(machine, machine.config!.node!, recovered)
    machine.disk.change((state) => {
      state.etcd = { cluster: cluster.state.id, member: member.id }
      state.counters.bootstraps++
    })
    machine.disk.dropSnapshot()
    return null
  } catch (cause) {
    if (!(cause instanceof RecoveryError)) throw cause
    return cause.message
  }
}

/**
 * Joins an etcd as a learner. Returns why Talos has given up, or null (Talos: services/etcd.go,
 * buildInitialCluster).
 */
const join = async (machine: Machine, signal: AbortSignal): Promise<string | null> => {
  const { world, disk } = machine
  const until = world.clock.elapsed() + limitOf(machine, 'etcdJoin')
  machine.journal.kernel(
    '[talos] etcd is waiting to join the cluster, if this node is the first node in the cluster, please run `talosctl bootstrap` against one of the following IPs:',
  )
  machine.journal.kernel(`[talos] [${machine.plan.address}]`)
  for (;;) {
    // Search for the cluster again each time, because peers are found through discovery.
    const cluster = world.etcd.joinable(machine.config!.node!)
    const found = cluster && reachesEtcd(machine, cluster) ? cluster : undefined
    // The learner exists already if the simulator was killed after it wrote the cluster's file and
    // before it wrote the state of the disk.
    const own = found?.state.members.find(
      (known) => known.learner && known.machine === machine.plan.index,
    )
    const refusal =
      found && !own
        ? found.takesLearner
          ? found.addRefusal
          : 'etcdserver: too many learner members in cluster'
        : null
    if (refusal !== null) machine.journal.log('etcd', `retrying error: ${refusal}`)
    else if (found) {
      const member = own ?? found.add(machine)
      disk.change((state) => (state.etcd = { cluster: found.state.id, member: member.id }))
      return null
    }
    if (world.clock.elapsed() >= until)
      return `failed to build initial etcd cluster: failed to build cluster arguments: 2 error(s) occurred:\n\t${refusal === null ? 'no controlplane endpoints discovered yet' : `error adding member: ${refusal}`}\n\ttimeout`
    await machine.looksAgainAfter(TAKES.etcdLook, signal)
  }
}

const startEtcd = async (
  machine: Machine,
  signal: AbortSignal,
  hasJoined: boolean,
): Promise<void> => {
  const cluster = machine.etcdCluster
  const id = machine.disk.state.etcd?.member ?? ''
  if (!cluster?.member(id)) return endsForEver(machine, signal)
  machine.service('etcd', 'Preparing', 'Creating service runner')
  await machine.takes(TAKES.etcd, signal)
  const problem = downgradeProblem(cluster, machine)
  if (problem !== null) {
    machine.journal.log('etcd', problem)
    showRestarts(machine, 'etcd')
    await machine.until(() => false, signal)
  }
  await runs(machine, signal)
  raiseVersion(cluster)
  rename(cluster, id, machine)
  if (hasJoined && cluster.member(id)?.learner) await promote(machine, cluster, id, signal)
  while (cluster.member(id)) {
    const ends = endingOf(machine, 'etcd')
    await lookUntil(machine, signal, () => !cluster.member(id) || ends())
    if (cluster.member(id)) await runs(machine, signal)
  }
  machine.apiServerUp = false
  machine.ports.kubernetes.close()
  machine.ports.etcdHttp.close()
  if (machine.disk.state.etcd === null)
    machine.service('etcd', 'Finished', 'Service finished successfully')
  else await endsForEver(machine, signal)
}

/**
 * An etcd whose member was removed ends after each start. Talos starts it again after five seconds,
 * for ever (Talos: runner/restart/restart.go; etcd: server/etcdserver/errors, ErrMemberRemoved).
 */
const endsForEver = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  for (;;) {
    machine.journal.log('etcd', 'the member has been permanently removed from the cluster')
    showRestarts(machine, 'etcd')
    await machine.looksAgainAfter(TAKES.restartService, signal)
    machine.service('etcd', 'Running', 'Started task etcd (PID 2342) for container etcd')
    await machine.looksAgainAfter(TAKES.etcdLook, signal)
  }
}

/** Talos tries for ten minutes, and never again (Talos: services/etcd.go, promoteMember). */
const promote = async (
  machine: Machine,
  cluster: EtcdCluster,
  id: string,
  signal: AbortSignal,
): Promise<void> => {
  const { clock } = machine.world
  const until = clock.elapsed() + limitOf(machine, 'etcdPromotion')
  await machine.takes(TAKES.etcdPromote, signal)
  await lookUntil(machine, signal, () => cluster.hasQuorum || clock.elapsed() >= until)
  if (!cluster.hasQuorum) {
    machine.journal.kernel(
      '[talos] failed promoting member: 2 error(s) occurred:\n\tetcdserver: request timed out\n\ttimeout',
    )
    return
  }
  cluster.promote(id)
  machine.journal.log('etcd', `member ${id} was promoted to a voting member`)
  machine.service('etcd', 'Running', 'Health check successful', true)
}

/** Shows etcd as running, as soon as it stays so. */
const runs = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  if (fails(machine, 'etcd')) {
    machine.ports.etcdHttp.close()
    showRestarts(machine, 'etcd')
    await untilMended(machine, 'etcd', signal)
  }
  await openEtcdHttp(machine)
  // The health check reads a key, which a learner doesn't allow (Talos: internal/pkg/etcd/etcd.go,
  // ValidateQuorum; etcd: api/v3rpc/interceptor.go, isRPCSupportedForLearner).
  const { etcd } = machine.disk.state
  if (etcd && machine.etcdCluster?.member(etcd.member)?.learner)
    machine.service('etcd', 'Running', 'etcdserver: rpc not supported for learner', false)
  else machine.service('etcd', 'Running', 'Health check successful', true)
}

/** Updates a member that returns with another name or address. */
const rename = (cluster: EtcdCluster, id: string, machine: Machine): void => {
  const now = { name: machine.hostname, address: machine.plan.address }
  const known = cluster.member(id)
  if (known?.name !== now.name || known.address !== now.address)
    cluster.change((state) =>
      state.members.forEach((member) => member.id === id && Object.assign(member, now)),
    )
}

/**
 * Virtual addresses of a cluster: one elected control plane has them. If this control plane fails,
 * another one takes them over (Talos:
 * internal/app/machined/pkg/controllers/network/operator/vip.go). Only addresses of the simulation
 * are supported.
 */
export const runVirtualAddresses = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  for (;;) {
    const isLeader = machine.etcdCluster?.leader?.machine === machine.plan.index
    const addresses =
      isLeader && machine.hasAddress
        ? (machine.config?.node?.virtualAddresses ?? [])
            .map(({ address }) => address)
            .filter((address) => address.startsWith('127.20.'))
        : []
    if (addresses.join() !== machine.virtualAddresses.join()) {
      machine.virtualAddresses = addresses
      for (const address of addresses)
        machine.journal.kernel(`[talos] assigned virtual IP ${address}`)
      machine.journal.changed()
    }
    // Try again in each round: a port may open later, and the previous control plane may not have
    // released its addresses yet.
    await Promise.all(Object.values(machine.ports).map((port) => port.share(addresses)))
    await machine.looksAgainAfter(TAKES.virtualAddress, signal)
  }
}
