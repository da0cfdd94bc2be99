/** Work on servers of clusters that is killed: acts on many, roll-outs, undos, documents. */
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { operationList } from '#contract/operations.ts'
import { type BulkAct, plannedItems, serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import {
  sharedPatchCreate,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { ended, patiently } from '../world.ts'
import { type Begun, type KilledSite, type Kind, notDone, operationOver } from './rounds.ts'

export interface Made {
  readonly cluster: Cluster
  readonly nodes: readonly Server[]
}

/** Creates clusters of one control plane and workers, all at once. */
export async function makeClusters(
  { site, call }: KilledSite,
  wanted: readonly { readonly name: string; readonly servers: number; readonly talos?: string }[],
): Promise<Made[]> {
  const begun: (Made & { readonly operationId: string })[] = []
  for (const { name, servers, talos } of wanted) {
    const nodes = await site.take(call, servers)
    const { cluster, operation } = await call(clusterCreate, {
      body: {
        name,
        datacenter_id: site.datacenterId,
        servers: nodes.map(({ id }, i) => ({
          node_id: id,
          role: i === 0 ? ('control_plane' as const) : ('worker' as const),
        })),
        ...(talos !== undefined && { talos_version: talos }),
      },
    })
    begun.push({ cluster, nodes, operationId: operation.id })
  }
  for (const { cluster, operationId } of begun) {
    const end = await ended(call, operationId, 240_000)
    if (end.status !== 'done') throw new Error(`${cluster.name} was not created: ${end.reason}`)
  }
  return begun
}

type Counter = 'boots' | 'applies' | 'installs' | 'resets'

/** Compares counters of machines with those before. */
export async function counting({ site }: KilledSite, nodes: readonly Server[]) {
  const read = async () => {
    const { servers } = await site.simulator.counters()
    return nodes.map(({ identity }) => servers.find((s) => s.uuid.toLowerCase() === identity.uuid)!)
  }
  const before = await read()
  /** What is wrong, if the counters haven't increased by this much on each server; others by 0. */
  return async (by: Partial<Record<Counter, number>>): Promise<string[]> => {
    const after = await read()
    return nodes.flatMap(({ name }, i) =>
      (['boots', 'applies', 'installs', 'resets'] as const).flatMap((counter) => {
        const n = after[i]![counter] - before[i]![counter]
        return n === (by[counter] ?? 0)
          ? []
          : [`${name} has ${n} ${counter} more, not ${by[counter] ?? 0}`]
      }),
    )
  }
}

/** Servers that an operation holds after its end, or that differ from their configuration. */
export async function leftOver({ call }: KilledSite, nodes: readonly Server[]): Promise<string[]> {
  const wrong: string[] = []
  for (const { id } of nodes) {
    const { name, operation_id, drift } = await patiently(() => call(serverGet, { params: { id } }))
    if (operation_id !== null) wrong.push(`${name} is held by ${operation_id}`)
    if (drift !== null) wrong.push(`${name} has drift`)
  }
  return wrong
}

/** Begins an act on all servers at once. */
export async function bulk(
  killed: KilledSite,
  nodes: readonly Server[],
  act: Partial<BulkAct> & Pick<BulkAct, 'kind'>,
): Promise<string> {
  const { call } = killed
  const plan = await patiently(() =>
    call(serverBulkPlan, { body: { act, node_ids: nodes.map(({ id }) => id) } }),
  )
  const items = plannedItems(plan)
  if (items.length < nodes.length)
    throw new Error(`Refused: ${plan.items.map(({ reason }) => reason).join(', ')}`)
  return (await call(serverBulk, { body: { act: plan.act, items } })).operation.id
}

/** Reboots all servers. Each has to boot once. */
export async function reboots(killed: KilledSite, nodes: readonly Server[]): Promise<Begun> {
  const { call } = killed
  const more = await counting(killed, nodes)
  const id = await bulk(killed, nodes, { kind: 'reboot' })
  return {
    isOver: operationOver(call, id),
    check: async () => [
      ...(await notDone(call, id)),
      ...(await more({ boots: 1 })),
      ...(await leftOver(killed, nodes)),
    ],
  }
}

/** Roll-outs of one shared patch, and their undos. */
export async function sharedPatches(
  killed: KilledSite,
  { cluster, nodes }: Made,
): Promise<readonly [rollOut: Kind, undo: Kind]> {
  const { call } = killed
  const body = (value: number) => `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`
  const { id } = await call(sharedPatchCreate, {
    body: { name: 'kills', body: body(1), targets: { cluster_ids: [cluster.id] } },
  })
  const params = { id }
  let value = 1
  let revision = 1
  const rollOut = async () => {
    const changed = { body: body(++value) }
    ;({ revision } = await patiently(() => call(sharedPatchUpdate, { params, body: changed })))
    return (await patiently(() => call(sharedPatchRollOut, { params, body: {} }))).operation.id
  }
  const changes = async () =>
    (
      await patiently(() =>
        call(operationList, { query: { target: cluster.id, kind: 'clusterConfigure' } }),
      )
    ).total
  const states = async () => (await patiently(() => call(sharedPatchServers, { params }))).items
  /** Every server gets the next revision, or has the former one again. */
  const begun = async (act: () => Promise<string>, wanted: () => number): Promise<Begun> => {
    const more = await counting(killed, nodes)
    const before = await changes()
    const operationId = await act()
    const expected = wanted()
    return {
      isOver: operationOver(call, operationId),
      check: async () => {
        const changed = (await changes()) - before
        return [
          ...(await notDone(call, operationId)),
          ...(await more({ applies: 1 })),
          ...(await leftOver(killed, nodes)),
          ...(await states()).flatMap((s) =>
            s.state === 'current' && s.revision === expected
              ? []
              : [`${s.server.name} is ${s.state} at ${s.revision}, not at ${expected}`],
          ),
          ...(changed > nodes.length ? [`the cluster was changed ${changed} times`] : []),
        ]
      },
    }
  }
  const rolledOut = async () => {
    const end = await ended(call, await rollOut(), 120_000)
    if (end.status !== 'done') throw new Error(`The roll-out is ${end.status}: ${end.reason}`)
  }
  // The first roll-out, which no undo takes back.
  await rolledOut()
  const saved = async () => (await states())[0]!.revision!
  return [
    {
      name: 'roll-out',
      mostMs: 1_500,
      begin: () => begun(rollOut, () => revision),
    },
    {
      name: 'undo',
      mostMs: 1_500,
      async begin() {
        const former = await saved()
        await rolledOut()
        return begun(
          async () =>
            (await patiently(() => call(sharedPatchUndo, { params, body: {} }))).operation.id,
          () => former,
        )
      },
    },
  ]
}

/** Moves of clusters, each once, from Talos 1.13's form of configuration to documents. */
export const documents = (killed: KilledSite, all: readonly Made[]): Kind => ({
  name: 'documents',
  mostMs: 700,
  mostRounds: all.length,
  async begin(round) {
    const { call } = killed
    const { cluster, nodes } = all[round]!
    const more = await counting(killed, nodes)
    const { operation } = await patiently(() =>
      call(clusterChange, {
        params: { id: cluster.id },
        body: { change: { kind: 'documents' }, confirmed_disks: [] },
      }),
    )
    return {
      isOver: operationOver(call, operation.id),
      check: async () => [
        ...(await notDone(call, operation.id)),
        ...(await more({ applies: 1 })),
        ...(await leftOver(killed, nodes)),
      ],
    }
  },
})
