/**
 * What a document asks of a running cluster: the changes in their order, and what can't be done.
 * Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterDocument } from '#contract/apply/documents.ts'
import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { canHaveControlPlanes, type Cluster, endpointHost } from '#contract/clusters/clusters.ts'
import type { ServerExtensions } from '#contract/clusters/extensions.ts'
import { formatAddress, parseAddress } from '#contract/network/addresses.ts'
import { canJoinCluster, type Server } from '#contract/servers/servers.ts'
import { yes } from '#contract/rule.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { counted } from '#contract/words.ts'
import type { Change } from '../plan.ts'
import { bareVersion, type Upgrade, upgradePath, type Versions } from './versions.ts'

/** A change of the cluster, and what it changes in the fields of the document. */
export interface Wanted {
  readonly change: ClusterChangeInput
  readonly changes: readonly Change[]
  /** More for people, as a sentence without a full stop. */
  readonly note?: string
}

export interface Refusal {
  /** The path of the field in the document. */
  readonly path: readonly string[]
  readonly message: string
}

export interface Difference {
  readonly wanted: readonly Wanted[]
  readonly refusals: readonly Refusal[]
  /** Members that the document doesn't name, and that nobody has allowed to remove. */
  readonly staying: readonly string[]
  /** Names of members that leave. */
  readonly leaving: readonly string[]
}

export interface Facts {
  readonly cluster: Cluster
  readonly document: ClusterDocument
  /** The registered servers that the document names and that aren't members, by name. */
  readonly found: ReadonlyMap<string, Server>
  /** The newest Talos version of each minor. */
  readonly offered: readonly OfferedTalos[]
  /** What each member runs; empty if the document names neither extensions nor arguments. */
  readonly images: readonly ServerExtensions[]
  /** Names of the servers that may be removed, which wipes them. */
  readonly removable: ReadonlySet<string>
  /** Whether upgrades take no snapshot of etcd first. */
  readonly noSnapshot: boolean
}

type Member = ClusterDocument['servers'][number]

/** An endpoint in one spelling: `https://10.0.4.10:6443` and `10.0.4.10` are the same. */
export function hostOf(endpoint: string): string {
  const host = endpointHost(endpoint)
  const address = parseAddress(host)
  return address ? formatAddress(address) : host.toLowerCase()
}

/** The fields that are fixed at the creation. */
function fixed({ cluster: c, document: d }: Facts): Refusal[] {
  type Value = string | number | null | undefined
  const rows: readonly (readonly [field: string, now: Value, wanted: Value])[] = [
    ['datacenter', c.datacenter.code, d.datacenter],
    ['vlan_id', c.vlan_id, d.vlan_id],
    ['pod_cidr', c.pod_cidr, d.pod_cidr],
    ['service_cidr', c.service_cidr, d.service_cidr],
  ]
  return rows.flatMap(([field, now, wanted]) =>
    wanted === undefined || wanted === now
      ? []
      : [
          {
            path: [field],
            message: `${field} of a cluster cannot be changed after its creation: it is ${String(now)}, not ${String(wanted)}`,
          },
        ],
  )
}

/** Problems of the list of servers that no plan of a change would report with its line. */
function listProblems({ cluster, document: { servers } }: Facts): Refusal[] {
  const seen = new Set<string>()
  const twice = servers.flatMap(({ server }, i): Refusal[] => {
    if (!seen.has(server)) return (seen.add(server), [])
    return [{ path: ['servers', String(i)], message: `${server} is named twice` }]
  })
  const count = servers.filter((m) => m.role === 'control_plane').length
  const verdict = count === cluster.control_planes ? yes : canHaveControlPlanes(count)
  return [...twice, ...(verdict.ok ? [] : [{ path: ['servers'], message: verdict.reason }])]
}

const joiner = ({ server: _name, workload_disks, ...chosen }: Member, { id }: Server) => ({
  ...chosen,
  node_id: id,
  ...(workload_disks.length > 0 && { workload_disks }),
})

/**
 * The change that adds servers, before the upgrades or after them. A server on which the wanted
 * Talos is installed already can only join afterwards.
 */
function growth(
  { cluster, document, found }: Facts,
  { talos }: Versions,
): { before: Wanted[]; after: Wanted[] } {
  const members = new Set(cluster.servers.map((m) => m.name))
  const joining = document.servers.flatMap((member) => {
    const server = found.get(member.server)
    return members.has(member.server) || !server ? [] : [{ member, server }]
  })
  const later = joining.filter(
    ({ server }) =>
      !canJoinCluster(server, cluster.talos_version).ok && canJoinCluster(server, talos).ok,
  )
  const grow = (some: typeof joining): Wanted[] =>
    some.length === 0
      ? []
      : [
          {
            change: { kind: 'grow', servers: some.map((one) => joiner(one.member, one.server)) },
            changes: some.map(({ member: { server, role } }) => ({
              field: server,
              before: null,
              after: role,
            })),
          },
        ]
  return { before: grow(joining.filter((one) => !later.includes(one))), after: grow(later) }
}

const upgradeOf = (now: Versions, upgrade: Upgrade): Wanted =>
  upgrade.kind === 'upgradeTalos'
    ? {
        change: upgrade,
        changes: [
          {
            field: 'talos_version',
            before: bareVersion(now.talos),
            after: bareVersion(upgrade.version),
          },
        ],
      }
    : {
        change: upgrade,
        changes: [
          {
            field: 'kubernetes_version',
            before: bareVersion(now.kubernetes),
            after: bareVersion(upgrade.version),
          },
        ],
      }

function upgradesOf({ cluster, document, offered, noSnapshot }: Facts): {
  wanted: Wanted[]
  refusals: Refusal[]
} {
  const now = { talos: cluster.talos_version, kubernetes: cluster.kubernetes_version }
  const path = upgradePath(
    now,
    {
      ...(document.talos_version !== undefined && { talos: document.talos_version }),
      ...(document.kubernetes_version !== undefined && { kubernetes: document.kubernetes_version }),
    },
    offered,
  )
  if ('refused' in path)
    return { wanted: [], refusals: [{ path: ['kubernetes_version'], message: path.refused }] }
  const wanted: Wanted[] = []
  for (const upgrade of path.upgrades) {
    const asked = upgradeOf(now, upgrade)
    wanted.push(noSnapshot ? { ...asked, change: { ...upgrade, snapshot: false } } : asked)
    now[upgrade.kind === 'upgradeTalos' ? 'talos' : 'kubernetes'] = upgrade.version
  }
  return { wanted, refusals: [] }
}

/** Whether a member's image has what the document names. Unknown values are `null`. */
export function hasImage(
  { extensions, kernel_args }: Pick<ServerExtensions, 'extensions' | 'kernel_args'>,
  document: Pick<ClusterDocument, 'extensions' | 'kernel_args'>,
): boolean | null {
  if (extensions === null || kernel_args === null) return null
  const sorted = (list: readonly string[]) => list.toSorted()
  return (
    (document.extensions === undefined ||
      isDeepStrictEqual(sorted(extensions), sorted(document.extensions))) &&
    (document.kernel_args === undefined || isDeepStrictEqual(kernel_args, document.kernel_args))
  )
}

/** The change of the image of the named servers; `null`: of all servers that differ by then. */
function imagesOf(
  { document, images }: Facts,
  isGrowing: boolean,
): {
  wanted: Wanted[]
  refusals: Refusal[]
} {
  const { extensions, kernel_args } = document
  if (extensions === undefined && kernel_args === undefined) return { wanted: [], refusals: [] }
  const unknown = images.filter((one) => hasImage(one, document) === null)
  const different = images.filter((one) => hasImage(one, document) === false)
  const refusals = unknown.map(({ name, reason }) => ({
    path: [extensions === undefined ? 'kernel_args' : 'extensions'],
    message: `The image of ${name} can't be compared: ${reason ?? 'it is unknown'}`,
  }))
  if (different.length === 0 && !isGrowing) return { wanted: [], refusals }
  const names = [...different.map(({ name }) => name), ...(isGrowing ? ['new servers'] : [])]
  const now = different[0]
  return {
    refusals,
    wanted: [
      {
        change: {
          kind: 'extensions',
          ...(extensions !== undefined && { extensions }),
          ...(kernel_args !== undefined && { kernel_args }),
          ...(different.length > 0 && { node_ids: different.map(({ node_id }) => node_id) }),
        },
        changes: [
          ...(extensions === undefined
            ? []
            : [{ field: 'extensions', before: now?.extensions ?? null, after: extensions }]),
          ...(kernel_args === undefined
            ? []
            : [{ field: 'kernel_args', before: now?.kernel_args ?? null, after: kernel_args }]),
        ],
        note: `on ${names.join(', ')}${isGrowing ? ', where it differs by then' : ''}`,
      },
    ],
  }
}

function endpointOf({ cluster, document }: Facts): Wanted[] {
  const host =
    document.endpoint === undefined ? hostOf(cluster.endpoint) : hostOf(document.endpoint)
  const isSame = host === hostOf(cluster.endpoint)
  const virtual_ip = document.virtual_ip ?? (isSame ? cluster.virtual_ip : false)
  if (isSame && virtual_ip === cluster.virtual_ip) return []
  return [
    {
      change: { kind: 'endpoint', endpoint: document.endpoint ?? cluster.endpoint, virtual_ip },
      changes: [
        ...(isSame ? [] : [{ field: 'endpoint', before: hostOf(cluster.endpoint), after: host }]),
        ...(virtual_ip === cluster.virtual_ip
          ? []
          : [{ field: 'virtual_ip', before: cluster.virtual_ip, after: virtual_ip }]),
      ],
    },
  ]
}

function rolesOf({ cluster, document }: Facts): Wanted[] {
  const roles = new Map(document.servers.map((m) => [m.server, m.role]))
  const changing = cluster.servers.filter((m) => {
    const role = roles.get(m.name)
    return role !== undefined && role !== m.role
  })
  if (changing.length === 0) return []
  return [
    {
      change: {
        kind: 'role',
        servers: changing.map(({ node_id, name }) => ({ node_id, role: roles.get(name)! })),
      },
      changes: changing.map(({ name, role }) => ({
        field: name,
        before: role,
        after: roles.get(name)!,
      })),
      note: `${changing.map((m) => m.name).join(', ')}: reset, then joins again; workload disks are kept`,
    },
  ]
}

function removals({ cluster, document, removable }: Facts): {
  wanted: Wanted[]
  staying: string[]
  leaving: string[]
} {
  const named = new Set(document.servers.map((m) => m.server))
  const absent = cluster.servers.filter((m) => !named.has(m.name))
  const leaving = absent.filter((m) => removable.has(m.name))
  const names = leaving.map((m) => m.name)
  return {
    staying: absent.filter((m) => !removable.has(m.name)).map((m) => m.name),
    leaving: names,
    wanted:
      leaving.length === 0
        ? []
        : [
            {
              change: { kind: 'shrink', servers: leaving.map(({ node_id }) => ({ node_id })) },
              changes: leaving.map(({ name, role }) => ({
                field: name,
                before: role,
                after: null,
              })),
              note: `wipes ${counted(names.length, 'server')}: ${names.join(', ')}, with ${names.length === 1 ? 'its' : 'their'} workload disks`,
            },
          ],
  }
}

/**
 * The order: servers that join, so that capacity comes first; upgrades; images, which need the
 * Talos version; the endpoint; roles; servers that leave come last.
 */
export function differenceOf(facts: Facts): Difference {
  const { cluster, document } = facts
  const upgrades = upgradesOf(facts)
  const { before, after } = growth(facts, {
    talos: document.talos_version ?? cluster.talos_version,
    kubernetes: cluster.kubernetes_version,
  })
  const images = imagesOf(facts, before.length + after.length > 0)
  const { wanted: shrink, staying, leaving } = removals(facts)
  return {
    refusals: [...fixed(facts), ...listProblems(facts), ...upgrades.refusals, ...images.refusals],
    wanted: [
      ...before,
      ...upgrades.wanted,
      ...after,
      ...images.wanted,
      ...endpointOf(facts),
      ...rolesOf(facts),
      ...shrink,
    ],
    staying,
    leaving,
  }
}
