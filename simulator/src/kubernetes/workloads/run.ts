import type { EtcdCluster } from '../../cluster/etcd.ts'
import { TAKES } from '../../machine/durations.ts'
import type { Machine } from '../../machine/machine.ts'
import { builtIn } from '../kinds.ts'
import { reporterOf } from '../nodes.ts'
import { Objects } from '../objects.ts'
import { budgetNames, observeBudgets } from './budgets.ts'
import { Nodes } from './containers.ts'
import { countAll } from './counting.ts'
import { control } from './controllers.ts'
import { nameOf, PODS } from './pods.ts'
import { schedule } from './scheduler.ts'

const NODES = builtIn('nodes')
/** Shortest pause between two rounds, in milliseconds of real time. */
const SHORTEST_MS = 100
/**
 * Maximum number of passes per round. A round ends when nothing changes any more, which takes a few
 * passes. A roll-out takes more while simulated time passes quickly: then the next round continues.
 */
const MOST_STEPS = 8

interface Seen {
  state: string
  nodes: Nodes
  countAt: number
  /** Nodes that were ready at least once. */
  ready: Set<string>
  /** Budgets that have enough healthy pods. */
  kept: Set<string>
}
const seen = new WeakMap<EtcdCluster, Seen>()

/**
 * Runs the workloads of a cluster on one control plane at a time: controllers, scheduler, and what
 * kubelets report about pods.
 */
export const runWorkloads = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  for (;;) {
    await machine.looksAgainAfter(
      Math.max(TAKES.workload, SHORTEST_MS * machine.world.clock.speed),
      signal,
    )
    workloadsRound(machine)
  }
}

const RUNS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const

/**
 * The control plane with the elected controllers and scheduler: the first one on which they run.
 */
const actorOf = (cluster: EtcdCluster): Machine | undefined =>
  cluster.hasQuorum
    ? cluster.voters
        .map((member) => cluster.machineOf(member))
        .find(
          (machine) =>
            machine?.apiServerUp === true &&
            RUNS.every((name) => machine.staticPods.get(name)?.ready === true),
        )
    : undefined

/** One round, if the controllers of the machine are the elected ones. */
export const workloadsRound = (machine: Machine): void => {
  const cluster = machine.etcdCluster
  if (cluster && actorOf(cluster) === machine) round(machine, cluster)
}

const round = (machine: Machine, cluster: EtcdCluster): void => {
  const { world } = machine
  const { clock } = world
  const objects = new Objects(cluster, clock.now)
  const known = seen.get(cluster) ?? {
    state: '',
    nodes: new Nodes(),
    countAt: 0,
    ready: new Set(),
    kept: new Set(),
  }
  seen.set(cluster, known)
  const machinesOf = (): Map<string, Machine | undefined> =>
    new Map(
      objects.list(NODES, '').map((node) => {
        const name = nameOf(node)
        const { machine: found } = reporterOf(world, node)
        return [name, found?.hostname === name ? found : undefined]
      }),
    )
  const machines = machinesOf()
  const stateOf = (): string =>
    `${objects.resourceVersion} ${[...machines.values()].map((one) => (one ? `${one.bootId} ${one.isOn} ${one.nodeReady} ${one.isRegistered} ${one.services.isRunning('cri')}` : '')).join()}`
  countUnready(cluster, known, machines)
  const now = clock.elapsed()
  if (stateOf() === known.state && now < known.nodes.due && now < known.countAt) return
  let isSettled = false
  objects.together(() => {
    let short: string[] = []
    for (let step = 0; step < MOST_STEPS && !isSettled; step++) {
      const before = objects.resourceVersion
      control(objects, clock.now())
      schedule(objects, (node) => machines.get(nameOf(node))?.nodeReady === true)
      known.nodes.observe(objects, clock.elapsed(), clock.now(), machines)
      short = observeBudgets(objects, objects.list(PODS, ''))
      isSettled = objects.resourceVersion === before
    }
    countBreaches(cluster, objects, known, short)
    known.countAt = countAll(cluster, objects, clock.elapsed())
  })
  // The controllers haven't seen yet what the last pass has changed, if it has.
  known.state = isSettled ? stateOf() : ''
}

/**
 * Counts the nodes that are not ready at the same time. Nodes that never were ready don't count.
 */
const countUnready = (
  cluster: EtcdCluster,
  { ready }: Seen,
  machines: ReadonlyMap<string, Machine | undefined>,
): void => {
  for (const name of ready) if (!machines.has(name)) ready.delete(name)
  for (const [name, machine] of machines) if (machine?.nodeReady === true) ready.add(name)
  cluster.count(
    'mostUnready',
    [...ready].filter((name) => machines.get(name)?.nodeReady !== true).length,
  )
}

/** Counts the budgets that no longer have enough healthy pods. */
const countBreaches = (
  cluster: EtcdCluster,
  objects: Objects,
  { kept }: Seen,
  short: readonly string[],
): void => {
  for (const name of short) if (kept.delete(name)) cluster.count('budgetBreaches')
  for (const name of budgetNames(objects)) if (!short.includes(name)) kept.add(name)
}
