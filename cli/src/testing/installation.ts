/**
 * A small Steelyard in memory behind the test API: objects that `apply` reads, creates, changes and
 * removes, and the record of what it has created.
 */
import {
  type Applied,
  type AppliedKind,
  appliedList,
  appliedMove,
} from '#contract/apply/applied.ts'
import {
  type Cluster,
  clusterCreate,
  clusterDelete,
  clusterList,
} from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import {
  type Datacenter,
  datacenterCreate,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import { type Image, imageCreate, imageList, imageRemove } from '#contract/images.ts'
import {
  type JoinToken,
  joinTokenCreate,
  joinTokenList,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { relabelled } from '#contract/labels/labels.ts'
import {
  clusterSubnetsAssign,
  type Subnet,
  subnetCreate,
  subnetList,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { offerList } from '#contract/marketplace/offers.ts'
import { type Operation, operationGet } from '#contract/operations.ts'
import {
  type NewPatch,
  type Patch,
  patchCreate,
  patchList,
  patchRemove,
  patchUpdate,
} from '#contract/patches.ts'
import { type Server, serverList, serverUpdate } from '#contract/servers/servers.ts'
import type { SharedPatch } from '#contract/shared-patches/shared-patches.ts'
import { serveSharedPatches } from './shared-patches.ts'
import { type RunningClusters, serveRunning } from './running.ts'
import { serveTemplates } from './templates.ts'
import { startApi, type TestApi } from './api.ts'
import { aCluster, aDatacenter, anOperation, aServer, id, pageOf } from './things.ts'

const at = '2026-11-20T08:00:00.000Z'

export interface Installation {
  readonly api: TestApi
  readonly datacenters: Datacenter[]
  readonly servers: Server[]
  readonly tokens: JoinToken[]
  readonly subnets: Subnet[]
  readonly images: Image[]
  readonly patches: Patch[]
  readonly sharedPatches: SharedPatch[]
  readonly clusters: Cluster[]
  readonly applied: Applied[]
  readonly operations: Operation[]
  readonly running: RunningClusters
  /** Called before a subnet is created; may throw the API's refusal. */
  beforeSubnet: () => void
}

/** Removes the items that match, in place. */
function drop<T>(items: T[], matches: (item: T) => boolean): void {
  for (let i = items.length - 1; i >= 0; i--) if (matches(items[i]!)) items.splice(i, 1)
}
function one<T extends { id: string }>(items: readonly T[], wanted: string): T {
  const item = items.find((i) => i.id === wanted)
  if (!item) throw new Problem('not_found', 'There is no such object')
  return item
}

/**
 * `servers`: registered servers. Their names and datacenters change as the API would change them.
 */
export async function startInstallation(servers: Server[] = []): Promise<Installation> {
  const api = await startApi()
  const all: Installation = {
    api,
    datacenters: [],
    servers,
    tokens: [],
    subnets: [],
    images: [],
    patches: [],
    sharedPatches: [],
    clusters: [],
    applied: [],
    operations: [],
    running: { refused: {}, extensions: new Map(), changes: [] },
    beforeSubnet: () => undefined,
  }
  let next = 1000
  const newId = () => id(next++)
  const place = (datacenterId: string | null) => {
    if (datacenterId === null) return null
    const { id, code } = one(all.datacenters, datacenterId)
    return { id, code }
  }
  const headers = () => api.calls.at(-1)!.headers
  const made = (kind: AppliedKind, madeId: string, server_id: string | null = null) => {
    const set = headers()['steelyard-apply']
    if (typeof set === 'string')
      all.applied.push({ kind, id: madeId, set, server_id, created_at: at })
  }
  const gone = (kind: AppliedKind, goneId: string) =>
    drop(all.applied, (a) => a.kind === kind && a.id === goneId)
  const fresh = ({ version }: { version: number }) => {
    const asked = headers()['if-match']
    if (asked !== undefined && asked !== `"${version}"`)
      throw new Problem('stale', 'This object has changed')
  }

  api.on(datacenterList, () => pageOf(all.datacenters))
  api.on(datacenterCreate, ({ body: { index, ...fields } }) => {
    const datacenter = aDatacenter({
      ...fields,
      id: newId(),
      code: `${fields.country_code}-${fields.city_code}-${index ?? 1}`,
    })
    all.datacenters.push(datacenter)
    made('datacenter', datacenter.id)
    return datacenter
  })
  api.on(datacenterUpdate, ({ params, body }) => {
    const datacenter = one(all.datacenters, params.id)
    fresh(datacenter)
    return Object.assign(datacenter, body, { version: datacenter.version + 1 })
  })
  api.on(datacenterRemove, ({ params }) => {
    if (all.subnets.some((s) => s.datacenter.id === params.id))
      throw new Problem('datacenter_in_use', 'In this datacenter: 1 subnet')
    drop(all.datacenters, (d) => d.id === params.id)
    gone('datacenter', params.id)
    return undefined
  })

  api.on(joinTokenList, () => pageOf(all.tokens))
  api.on(joinTokenCreate, ({ body }) => {
    const expires_at =
      body.lifetime_hours === null
        ? null
        : new Date(Date.parse(at) + body.lifetime_hours * 3_600_000).toISOString()
    const token: JoinToken = {
      id: newId(),
      name: body.name,
      status: 'usable',
      datacenter: place(body.datacenter_id),
      max_uses: body.max_uses,
      uses: 0,
      expires_at,
      revoked_at: null,
      last_used_at: null,
      created_by: null,
      created_at: at,
      version: 1,
    }
    all.tokens.push(token)
    made('join_token', token.id)
    return { ...token, token: 'sy-join-x', kernel_argument: 'talos.config=x' }
  })
  api.on(joinTokenRevoke, ({ params }) => {
    one(all.tokens, params.id).status = 'revoked'
    return undefined
  })

  api.on(serverList, () => pageOf(all.servers))
  api.on(serverUpdate, ({ params, body }) => {
    const server = one(all.servers, params.id)
    fresh(server)
    if (all.servers.some((s) => s !== server && s.name === body.name))
      throw new Problem('name_taken', 'Server name already exists. Please choose a different name.')
    const datacenter =
      body.datacenter_id === undefined ? server.datacenter : place(body.datacenter_id)
    return Object.assign(server, {
      name: body.name ?? server.name,
      labels: relabelled(server.labels ?? {}, body.labels ?? {}),
      datacenter,
      version: server.version + 1,
    })
  })

  api.on(subnetList, () => pageOf(all.subnets))
  api.on(subnetCreate, ({ body: { datacenter_id, ...fields } }) => {
    all.beforeSubnet()
    const subnet: Subnet = {
      ...fields,
      id: newId(),
      type: 'IPv4',
      datacenter: place(datacenter_id)!,
      clusters: [],
      status: 'unassigned',
      reason: null,
      total: 60,
      used: null,
      observed_at: null,
      version: 1,
      created_at: at,
      updated_at: at,
    }
    all.subnets.push(subnet)
    made('subnet', subnet.id)
    return subnet
  })
  api.on(subnetUpdate, ({ params, body }) => {
    const subnet = one(all.subnets, params.id)
    fresh(subnet)
    return Object.assign(subnet, body, { version: subnet.version + 1 })
  })
  api.on(subnetRemove, ({ params }) => {
    if (one(all.subnets, params.id).clusters.length > 0)
      throw new Problem('subnet_assigned', 'This subnet is assigned')
    drop(all.subnets, (s) => s.id === params.id)
    gone('subnet', params.id)
    return undefined
  })

  api.on(imageList, () => pageOf(all.images))
  api.on(imageCreate, ({ body: { datacenter_id, token_id, early, ...fields } }) => {
    const token = token_id === null ? null : one(all.tokens, token_id)
    const image: Image = {
      ...fields,
      extensions: fields.extensions.toSorted(),
      id: newId(),
      kernel_args: [...fields.kernel_args, ...(token ? ['talos.config=https://x/join/…'] : [])],
      datacenter: place(datacenter_id) ?? token?.datacenter ?? null,
      token: token && { id: token.id, name: token.name, status: token.status },
      schematic_id: 'a'.repeat(64),
      schematic: '',
      factory: { url: 'https://factory', simulated: true, registered_at: at, reason: null },
      url: '',
      links: [],
      pxe_script: '',
      kernel_command_line: '',
      early: early && { documents: early, yaml: '', way: 'embedded', line_left: 1500 },
      warnings: [],
      created_by: null,
      created_at: at,
      version: 1,
    }
    all.images.push(image)
    made('image', image.id)
    return image
  })
  api.on(imageRemove, ({ params }) => {
    drop(all.images, (i) => i.id === params.id)
    gone('image', params.id)
    return undefined
  })

  api.on(patchList, ({ params }) => pageOf(all.patches.filter((p) => p.node_id === params.id)))
  const addPatch = (node_id: string, body: NewPatch): Patch => {
    const patch: Patch = {
      ...body,
      patch_id: newId(),
      node_id,
      read_only: false,
      version: 1,
      created_at: at,
      updated_at: at,
      created_by: null,
    }
    all.patches.push(patch)
    made('patch', patch.patch_id, node_id)
    return patch
  }
  const removePatch = (patchId: string): void => {
    drop(all.patches, (p) => p.patch_id === patchId)
    gone('patch', patchId)
  }
  api.on(patchCreate, ({ params, body }) => addPatch(params.id, body))
  api.on(patchUpdate, ({ params, body }) => {
    const patch = all.patches.find((p) => p.patch_id === params.patchId)!
    fresh(patch)
    return Object.assign(patch, body, { version: patch.version + 1 })
  })
  api.on(patchRemove, ({ params }) => {
    removePatch(params.patchId)
    return undefined
  })

  api.on(clusterList, () => pageOf(all.clusters))
  const began = (kind: Operation['kind'], clusterId = id(20)): Operation => {
    const target = { kind: 'cluster' as const, id: clusterId, name: 'web' }
    const operation = anOperation({ id: newId(), kind, target })
    all.operations.push(operation)
    return operation
  }
  Object.assign(all.running, serveRunning(api, { ...all, began, addPatch, removePatch }))
  serveSharedPatches(api, {
    ...all,
    newId,
    made: (madeId) => made('shared_patch', madeId),
    gone: (goneId) => gone('shared_patch', goneId),
    fresh,
    began: (target) => {
      const operation = anOperation({ id: newId(), kind: 'sharedPatchRollOut', target })
      all.operations.push(operation)
      return operation
    },
  })
  const assign = (cluster: Cluster, ids: readonly string[]): void => {
    cluster.subnets = ids
      .map((s) => one(all.subnets, s))
      .map(({ id, name, cidr }) => ({ id, name, cidr }))
    for (const subnet of all.subnets) {
      subnet.clusters = cluster.subnets.some((s) => s.id === subnet.id)
        ? [{ id: cluster.id, name: cluster.name }]
        : subnet.clusters.filter((c) => c.id !== cluster.id)
    }
  }
  api.on(clusterCreate, ({ body }) => {
    const members = body.servers.map(({ node_id, role, workload_disks }) => ({
      node_id,
      role,
      name: one(all.servers, node_id).name,
      workload_disks,
    }))
    const { id: datacenterId, code } = place(body.datacenter_id)!
    const cluster = aCluster({
      id: newId(),
      name: body.name,
      servers: members,
      datacenter: { id: datacenterId, code, country_code: 'PL' },
      vlan_id: body.vlan_id ?? null,
      ...(body.labels && { labels: body.labels }),
      ...(body.maintenance_window && { maintenance_window: body.maintenance_window }),
    })
    all.clusters.push(cluster)
    assign(cluster, body.subnet_ids ?? [])
    for (const { node_id } of members)
      one(all.servers, node_id).cluster = { id: cluster.id, name: cluster.name }
    made('cluster', cluster.id)
    return { cluster, operation: began('clusterCreate') }
  })
  api.on(clusterUpdate, ({ params, body }) => {
    const cluster = one(all.clusters, params.id)
    const labels = relabelled(cluster.labels ?? {}, body.labels ?? {})
    return Object.assign(cluster, { labels, version: cluster.version + 1 })
  })
  api.on(clusterDelete, ({ params }) => {
    drop(all.clusters, (c) => c.id === params.id)
    for (const s of all.servers) if (s.cluster?.id === params.id) s.cluster = null
    for (const subnet of all.subnets)
      subnet.clusters = subnet.clusters.filter((c) => c.id !== params.id)
    gone('cluster', params.id)
    return { operation: began('clusterDelete') }
  })
  api.on(clusterSubnetsAssign, ({ params, body }) => {
    assign(one(all.clusters, params.id), body.subnet_ids)
    return { operation: began('clusterSubnetsAssign') }
  })
  // An operation ends when it is read; one that has failed stays so.
  api.on(operationGet, ({ params }) => {
    const operation = one(all.operations, params.id)
    return operation.status === 'failed'
      ? operation
      : Object.assign(operation, { status: 'done', ended_at: at })
  })

  serveTemplates(api, { servers: all.servers, made, gone })

  api.on(offerList, () => pageOf([]))

  api.on(appliedList, () => pageOf(all.applied))
  api.on(appliedMove, ({ body }) => {
    const moving = all.applied.filter((a) =>
      body.objects.some((o) => o.kind === a.kind && o.id === a.id),
    )
    for (const a of moving) a.set = body.set
    return { moved: moving.length }
  })
  return all
}

/** A registered server with its own UUID and serial. */
export const numberedServer = (n: number, more: Partial<Server> = {}): Server =>
  aServer({
    id: id(n),
    name: `server-${n}`,
    identity: {
      state: 'confirmed',
      uuid: id(900 + n),
      serial: `S-${n}`,
      fingerprint: null,
      since: at,
      note: null,
    },
    ...more,
  })
