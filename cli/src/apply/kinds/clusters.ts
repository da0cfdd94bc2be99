import type { ClusterDocument, SubnetDocument } from '#contract/apply/documents.ts'
import {
  canHaveControlPlanes,
  type Cluster,
  clusterCreate,
  clusterDelete,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { canAssignSubnet, clusterSubnetsAssign, type Subnet } from '#contract/network/subnets.ts'
import { canJoinCluster, type Server } from '#contract/servers/servers.ts'
import { withDisks } from '../../commands/confirm-disks.ts'
import { withLosses } from '../../commands/confirm-loss.ts'
import type { Placed } from '../files.ts'
import {
  demandDatacenter,
  documentsOf,
  fieldsOf,
  keyOf,
  planner,
  type Planning,
  planRemoval,
  ranks,
  refuse,
  type Run,
} from '../plan.ts'
import { hostOf } from '../running/difference.ts'
import { planRunning } from '../running/planning.ts'
import { hasStore, planLock, scheduleBody, settingsOf } from '../running/settings.ts'
import { type FoundServer, isFreed, serverFinder } from '../servers.ts'

type Member = ClusterDocument['servers'][number]
const memberOf = ({
  name,
  role,
  interface: link,
  install_disk,
  workload_disks,
}: Cluster['servers'][number]): Member => ({
  server: name,
  role,
  ...(typeof link === 'string' && { interface: link }),
  ...(install_disk !== undefined && { install_disk }),
  workload_disks: workload_disks ?? [],
})

/**
 * The endpoint is left out if it is the first control plane's address, as in a cluster that was
 * created without an endpoint.
 */
function endpointOf(
  { endpoint, virtual_ip, servers: [first] }: Cluster,
  servers: readonly Server[],
): { endpoint?: string } {
  const addresses = servers.find((s) => s.id === first?.node_id)?.nodeAddresses ?? []
  return !virtual_ip && addresses.some((address) => hostOf(address) === hostOf(endpoint))
    ? {}
    : { endpoint }
}

const documentOf = (c: Cluster, servers: readonly Server[]): ClusterDocument => ({
  kind: 'cluster',
  name: c.name,
  datacenter: c.datacenter.code,
  talos_version: c.talos_version,
  kubernetes_version: c.kubernetes_version,
  ...endpointOf(c, servers),
  virtual_ip: c.virtual_ip,
  vlan_id: c.vlan_id,
  pod_cidr: c.pod_cidr,
  service_cidr: c.service_cidr,
  servers: c.servers.map(memberOf),
  subnets: c.subnets.map((s) => s.name).toSorted(),
})

/**
 * The servers of a new cluster by name; null if one is missing or can't join. Adds the problems, or
 * the document to those that wait.
 */
function serversOf(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  find: (name: string) => FoundServer,
): Map<string, Server> | null {
  const { document } = placed
  const { plan } = planning
  const servers = new Map<string, Server>()
  let isComplete = true
  for (const [i, { server: name }] of document.servers.entries()) {
    const found = find(name)
    const fail = (message: string) => {
      isComplete = false
      refuse(planning, placed, message, 'servers', String(i))
    }
    if (servers.has(name)) fail(`${name} is named twice`)
    else if (found === null)
      fail(`There is no server ${name}, and no document gives a server this name`)
    else if ('waiting' in found) {
      if (!plan.waiting.some((w) => w.placed === placed))
        plan.waiting.push({ kind: 'cluster', name: document.name, placed, reason: found.waiting })
      isComplete = false
    } else {
      const { server, datacenter } = found
      const verdict = isFreed(planning, server)
        ? null
        : canJoinCluster(server, document.talos_version)
      if (verdict?.ok === false) fail(`${name}: ${verdict.reason}`)
      else if (datacenter !== document.datacenter)
        fail(`${name} is in ${datacenter ?? 'no datacenter'}, not in ${document.datacenter}`)
      servers.set(name, server)
    }
  }
  const count = document.servers.filter((m) => m.role === 'control_plane').length
  const verdict = canHaveControlPlanes(count)
  if (!verdict.ok) refuse(planning, placed, verdict.reason, 'servers')
  return isComplete && verdict.ok ? servers : null
}

const bodyOf = async (
  run: Run,
  document: ClusterDocument,
  servers: ReadonlyMap<string, Server>,
): Promise<NewClusterInput> => {
  const {
    kind: _kind,
    datacenter,
    servers: members,
    subnets = [],
    snapshots,
    locked: _locked,
    ...fields
  } = document
  const subnet_ids: string[] = []
  for (const subnet of new Set(subnets)) subnet_ids.push(await run.idOf('subnet', subnet))
  return {
    ...fields,
    ...(subnet_ids.length > 0 && { subnet_ids }),
    ...(snapshots && { snapshots: await scheduleBody(run, snapshots) }),
    datacenter_id: await run.idOf('datacenter', datacenter),
    servers: members.map(({ server, ...member }) => ({
      ...member,
      node_id: servers.get(server)!.id,
    })),
  }
}

/**
 * Adds the steps that change a cluster's subnets. Those that leave go first, because a pruned
 * subnet can only be removed once its addresses are free.
 */
async function planSubnets(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
): Promise<void> {
  const { name } = placed.document
  if (placed.document.subnets === undefined) return
  const wanted = [...new Set(placed.document.subnets)]
  const draining = new Set(
    (await planning.world.subnets()).filter((s) => s.status === 'draining').map((s) => s.id),
  )
  const now = cluster.subnets.filter((s) => !draining.has(s.id)).map((s) => s.name)
  const staying = now.filter((s) => wanted.includes(s))
  const step = { kind: 'cluster', name, placed, does: 'update' } as const
  const assign = async (run: Run, names: readonly string[]) => {
    // An earlier run may have ended before the cluster was ready.
    if (cluster.operation_id) await run.wait(cluster.operation_id)
    await run.waitForCluster(name)
    const id = await run.idOf('cluster', name)
    const subnet_ids: string[] = []
    for (const subnet of names) subnet_ids.push(await run.idOf('subnet', subnet))
    const { operation } = await run.call(clusterSubnetsAssign, {
      params: { id },
      body: { subnet_ids },
    })
    run.begun(name, operation.id)
    return operation.id
  }
  if (staying.length < now.length)
    planning.plan.steps.push({
      ...step,
      rank: ranks.unassign,
      changes: [{ field: 'subnets', before: now.toSorted(), after: staying.toSorted() }],
      note: 'addresses in use are drained first',
      run: async (run) => run.wait(await assign(run, staying)),
    })
  if (staying.length < wanted.length)
    planning.plan.steps.push({
      ...step,
      rank: ranks.assign,
      changes: [{ field: 'subnets', before: staying.toSorted(), after: wanted.toSorted() }],
      run: async (run) => run.wait(await assign(run, wanted)),
    })
}

/** Whether the document's subnets exist and may be assigned to the cluster. Adds the problems. */
async function subnetsFit(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster | null,
): Promise<boolean> {
  const { name, datacenter, subnets: wanted = [] } = placed.document
  const present = new Map((await planning.world.subnets()).map((s) => [s.name, s]))
  const described = new Map(
    documentsOf<SubnetDocument>(planning, 'subnet').map(({ document }) => [
      document.name,
      document,
    ]),
  )
  let isValid = true
  for (const [i, subnet] of wanted.entries()) {
    const key = keyOf('subnet', subnet)
    if (!planning.referred.has(key)) planning.referred.set(key, placed)
    const known = present.get(subnet)
    const document = described.get(subnet)
    const fail = (message: string) => {
      isValid = false
      refuse(planning, placed, message, 'subnets', String(i))
    }
    if (!known && !document) fail(`There is no subnet ${subnet}, and no document describes it`)
    else {
      const code = known?.datacenter.code ?? document!.datacenter
      // Names stand for ids, because the objects may not exist yet.
      const holders: Subnet['clusters'] = (known?.clusters ?? []).map((c) => ({ ...c, id: c.name }))
      const freed = holders.filter((c) => !isUnassigned(planning, c.name, subnet))
      const facts = {
        name: subnet,
        datacenter: { id: code, code },
        purpose: document?.purpose ?? known!.purpose,
        clusters: freed,
      }
      const verdict = canAssignSubnet(facts, {
        id: cluster?.name ?? name,
        name,
        datacenter: { id: datacenter, code: datacenter },
      })
      if (!verdict.ok) fail(verdict.reason)
    }
  }
  return isValid
}

/**
 * Whether the run takes the subnet from a cluster: the cluster is removed, or its document no
 * longer names the subnet.
 */
function isUnassigned(planning: Planning, cluster: string, subnet: string): boolean {
  if (planning.prune?.clusters.includes(cluster)) return true
  const document = documentsOf<ClusterDocument>(planning, 'cluster').find(
    (one) => one.document.name === cluster,
  )?.document
  return document?.subnets !== undefined && !document.subnets.includes(subnet)
}

function planCreation(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  servers: ReadonlyMap<string, Server>,
): void {
  const { document } = placed
  const { name } = document
  planning.plan.steps.push({
    kind: 'cluster',
    name,
    placed,
    rank: ranks.cluster,
    does: 'create',
    changes: fieldsOf(document),
    note: 'Talos is installed on its servers',
    async run(run) {
      const body = await bodyOf(run, document, servers)
      const { cluster, operation } = await withDisks(
        run.context,
        body.servers,
        run.confirmedDisks,
        (confirmed) =>
          withLosses(run.context, run.confirmedLoss, (losses) =>
            run.call(clusterCreate, {
              body: {
                ...body,
                ...(confirmed.length > 0 && { confirmed_disks: confirmed }),
                ...losses,
              },
            }),
          ),
      )
      run.made('cluster', name, cluster.id)
      run.begun(name, operation.id)
    },
  })
}

export const clusters = planner<ClusterDocument>({
  kind: 'cluster',
  appliedKind: 'cluster',
  nameOf: ({ name }) => name,

  async plan(planning, placed) {
    if (placed.length === 0) return
    const now = new Map((await planning.world.clusters()).map((c) => [c.name, c]))
    const find = await serverFinder(planning)
    for (const one of placed) {
      const { document } = one
      const cluster = now.get(document.name) ?? null
      const isPlaced = await demandDatacenter(planning, one, document.datacenter)
      const hasSubnets = await subnetsFit(planning, one, cluster)
      for (const { server } of document.servers)
        if (!planning.referred.has(keyOf('server', server)))
          planning.referred.set(keyOf('server', server), one)
      if (cluster === null) {
        const servers = serversOf(planning, one, find)
        if (!servers || !isPlaced || !hasSubnets) continue
        if (!(await hasStore(planning, one))) continue
        planCreation(planning, one, servers)
        planLock(planning, { placed: one, cluster: null })
        continue
      }
      planning.described.add(keyOf('cluster', cluster.id))
      if (cluster.status === 'deleting') {
        refuse(
          planning,
          one,
          `The cluster ${cluster.name} is being deleted: apply again when it is gone`,
        )
        continue
      }
      if (cluster.status === 'failed')
        planning.plan.notes.push(
          `The cluster ${cluster.name} has failed${cluster.reason ? `: ${cluster.reason}` : ''}`,
        )
      const { steps, problems, withheld, waiting } = planning.plan
      const count = () => steps.length + problems.length + withheld.length + waiting.length
      const before = count()
      await planRunning(planning, one, cluster, find)
      if (hasSubnets) await planSubnets(planning, one, cluster)
      if (hasSubnets && count() === before) planning.plan.unchanged++
    }
  },

  async prune(planning, applied) {
    const all = await planning.world.clusters()
    const allowed = planning.prune?.clusters ?? []
    const byId = new Map(all.map((c) => [c.id, c]))
    for (const { id } of applied) {
      const known = byId.get(id)
      if (!known) continue
      const { name } = known
      if (!allowed.includes(name)) {
        planning.plan.notes.push(
          `The cluster ${name} is in no document. It is removed only with --prune-cluster ${name}`,
        )
        continue
      }
      if (known.status === 'deleting') continue
      planRemoval(planning, {
        kind: 'cluster',
        name,
        note: `its servers are wiped: ${known.servers.map((s) => s.name).join(', ')}`,
        rank: ranks.clusterRemove,
        async run(run) {
          const { operation } = await run.call(
            clusterDelete,
            { params: { id }, query: {} },
            known.version,
          )
          await run.wait(operation.id)
        },
      })
    }
  },

  async export(world) {
    const servers = await world.servers()
    const documents: ClusterDocument[] = []
    for (const c of (await world.clusters()).toSorted((a, b) => a.name.localeCompare(b.name)))
      documents.push({ ...documentOf(c, servers), ...(await settingsOf(world.api, c)) })
    return documents
  },
})
