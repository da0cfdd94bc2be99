/**
 * Chooses servers for clusters by need. Pure: the same servers give the same choice, with the
 * reason for each server that is chosen, and for those that are not.
 */
import type { ClusterRole } from '../clusters/clusters.ts'
import { leastMemoryBytes } from '../clusters/rules.ts'
import { selectorOf, selects } from '../labels/selector.ts'
import { spreadOverRacks } from '../racks/spread.ts'
import { defaultInstallDisk, installable, isBlank, mediaOf } from '../disks/choice.ts'
import { type DiskFacts, disksBeside, withoutPaths } from '../disks/disks.ts'
import { canJoinCluster, type Server } from '../servers/servers.ts'
import { counted, enumerated, someOf } from '../words.ts'
import {
  diskRuleSaid,
  fitsRule,
  gibibyte,
  type InstallDisk,
  isFree,
  type Needs,
  type WorkloadDisks,
} from './needs.ts'

/** What a role asks for. */
export interface RoleWish {
  readonly count: number
  readonly needs: Needs
  readonly install_disk: InstallDisk
  /** null: no disk is reserved for the workload. */
  readonly workload_disks: WorkloadDisks | null
}

export interface Wish {
  readonly control_plane: RoleWish
  readonly worker: RoleWish
  /** Whether the servers of a cluster come from as many racks as possible. */
  readonly isSpread: boolean
  /** Without it any version will do. */
  readonly talosVersion?: string | undefined
  /** Why servers can't get the image that is asked for, by their ids. */
  readonly otherImage?: ReadonlyMap<string, string> | undefined
}

/** The fields of a server that the choice reads. */
export type Choosable = Pick<
  Server,
  | 'id'
  | 'name'
  | 'status'
  | 'cluster'
  | 'placement'
  | 'hardware'
  | 'eligibility'
  | 'finding'
  | 'labels'
  | 'quarantine'
  | 'operation_id'
> & {
  readonly talos: Pick<Server['talos'], 'version' | 'installed'>
  readonly resources: { readonly disks: readonly DiskFacts[] }
}

export interface Chosen<S> {
  readonly server: S
  readonly role: ClusterRole
  readonly reasons: readonly string[]
  readonly install_disk: DiskFacts
  /** Why this disk. */
  readonly install_reason: string
  readonly workload_disks: readonly DiskFacts[]
}

/** Servers that are not chosen for the same reason. */
export interface Left<S> {
  readonly reason: string
  readonly servers: readonly S[]
}

export interface Choice<S> {
  /** The servers of each cluster, control planes first; null if there are too few. */
  readonly clusters: readonly (readonly Chosen<S>[])[] | null
  readonly left: readonly Left<S>[]
  /** Why there are too few servers, as a sentence; null if there are enough. */
  readonly refusal: string | null
}

interface Suitable<S> extends Omit<Chosen<S>, 'role'> {
  /** Lower comes first. */
  readonly rank: readonly number[]
}
type Judged<S> = { readonly suits: Suitable<S> } | { readonly reason: string }

const atLeast = (has: number, unit: string, least: number): string =>
  `${has} ${unit}, at least ${least}`

/** Why a server can't be used by any role; null if it can. */
function unusable(
  server: Choosable,
  { talosVersion, otherImage }: Pick<Wish, 'talosVersion' | 'otherImage'>,
): string | null {
  if (server.cluster !== null) return 'in a cluster already'
  if (server.quarantine) return 'in quarantine'
  if (server.finding?.severity === 'down') return 'an open finding says that it is down'
  if (server.operation_id !== null) return 'an operation runs on it'
  const verdict = canJoinCluster(server, talosVersion)
  return verdict.ok ? (otherImage?.get(server.id) ?? null) : verdict.reason
}

/** The disk for Talos and why; a string says why there is none. */
function installOn(
  { resources: { disks }, talos: { installed } }: Choosable,
  rule: InstallDisk,
): { readonly disk: DiskFacts; readonly reason: string } | string {
  const said = diskRuleSaid(rule)
  if (installed !== null) {
    const disk = disks.find((d) => `/dev/${d.id}` === installed.disk)
    if (disk !== undefined) return { disk, reason: 'Talos is installed on it already' }
  }
  const fixed = installable(disks).filter((d) => mediaOf(d) === null && fitsRule(d, rule))
  const isRuled = said !== '' || rule.prefer === 'largest'
  const first = isRuled
    ? fixed.toSorted(
        (a, b) =>
          Number(isBlank(b)) - Number(isBlank(a)) ||
          ((a.size ?? 0) - (b.size ?? 0)) * (rule.prefer === 'largest' ? -1 : 1),
      )[0]
    : defaultInstallDisk(disks)
  if (!first) return `no fixed disk for Talos${said === '' ? '' : ` (${said})`}`
  const which = `the ${rule.prefer}${isBlank(first) ? ' empty' : ''} disk`
  return { disk: first, reason: said === '' ? which : `${which} with ${said}` }
}

/** The disks for the workload; a string says what is missing. */
function workloadOn(
  server: Choosable,
  install: DiskFacts,
  rule: WorkloadDisks | null,
): readonly DiskFacts[] | string {
  if (rule === null) return []
  const free = disksBeside(server.resources.disks, install.id)
    .filter((d) => isFree(d) && fitsRule(d, rule))
    .toSorted((a, b) => (a.size ?? 0) - (b.size ?? 0) || (a.id < b.id ? -1 : 1))
  if (rule.count === undefined) return free
  const said = diskRuleSaid(rule)
  return free.length < rule.count
    ? `fewer than ${counted(rule.count, 'empty disk')} for the workload${said === '' ? '' : ` (${said})`}`
    : free.slice(0, rule.count)
}

/** Whether a server suits a role. */
function judge<S extends Choosable>(
  server: S,
  role: ClusterRole,
  { needs, install_disk, workload_disks }: RoleWish,
): Judged<S> {
  const { cores, memory_bytes } = server.hardware
  const reasons: string[] = []
  if (needs.cores !== undefined) {
    if ((cores ?? 0) < needs.cores) return { reason: `fewer than ${needs.cores} cores` }
    reasons.push(atLeast(cores!, 'cores', needs.cores))
  }
  if (needs.memory_gib !== undefined) {
    if ((memory_bytes ?? 0) < needs.memory_gib * gibibyte)
      return { reason: `less than ${needs.memory_gib} GiB of memory` }
    reasons.push(atLeast(Math.floor(memory_bytes! / gibibyte), 'GiB', needs.memory_gib))
  } else if (memory_bytes !== null && memory_bytes < leastMemoryBytes[role])
    return { reason: `less memory than Talos needs on a ${role.replace('_', ' ')}` }
  const fixed = withoutPaths(server.resources.disks).filter((d) => mediaOf(d) === null)
  for (const { count, ...rule } of needs.disks) {
    const said = diskRuleSaid(rule)
    const suffix = said === '' ? '' : ` (${said})`
    const has = fixed.filter((d) => fitsRule(d, rule)).length
    if (has < count) return { reason: `fewer than ${counted(count, 'disk')}${suffix}` }
    reasons.push(`${counted(has, 'disk')}${suffix}, at least ${count}`)
  }
  if (needs.labels !== undefined) {
    if (!selects(selectorOf(needs.labels)!, server.labels ?? {}))
      return { reason: `labels other than ${needs.labels}` }
    reasons.push(`labels ${needs.labels}`)
  }
  const install = installOn(server, install_disk)
  if (typeof install === 'string') return { reason: install }
  const workload = workloadOn(server, install.disk, workload_disks)
  if (typeof workload === 'string') return { reason: workload }
  const isKept = server.talos.installed?.disk === `/dev/${install.disk.id}`
  return {
    suits: {
      server,
      reasons,
      install_disk: install.disk,
      install_reason: install.reason,
      workload_disks: workload,
      // A server that is well and needs no confirmation first; then the smallest that suits.
      rank: [
        server.finding ? 1 : 0,
        isKept || isBlank(install.disk) ? 0 : 1,
        cores ?? Infinity,
        memory_bytes ?? Infinity,
      ],
    },
  }
}

function byRank<S extends Choosable>(a: Suitable<S>, b: Suitable<S>): number {
  const at = a.rank.findIndex((value, i) => value !== b.rank[i])
  if (at !== -1) return a.rank[at]! < b.rank[at]! ? -1 : 1
  return a.server.name < b.server.name ? -1 : 1
}

/** Takes servers for one role from a pool. Returns them, and the rest of the pool in its order. */
function take<S extends Choosable>(
  pool: readonly Suitable<S>[],
  count: number,
  isSpread: boolean,
  beside: readonly S[],
): [taken: Suitable<S>[], rest: Suitable<S>[]] {
  const standing = pool.map((one) => ({
    name: one.server.name,
    placement: one.server.placement,
    one,
  }))
  const taken = (
    isSpread ? spreadOverRacks(standing, count, beside) : standing.slice(0, count)
  ).map(({ one }) => one)
  const gone = new Set(taken)
  return [taken, pool.filter((one) => !gone.has(one))]
}

/** Others in a rack that a reason names. */
const mostNamed = 20

/** What the racks say for each server of a cluster, whose servers may all stand in one. */
function rackReasons<S extends Choosable>(cluster: readonly S[]): (server: S) => string {
  const inside = new Map<string, string[]>()
  for (const { name, placement } of cluster.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const names = placement && inside.get(placement.rack.id)
    if (names) names.push(name)
    else if (placement) inside.set(placement.rack.id, [name])
  }
  return ({ name, placement }) => {
    if (!placement) return 'its rack is not known'
    const there = inside.get(placement.rack.id)!.filter((other) => other !== name)
    if (there.length === 0) return `alone in rack ${placement.rack.name}`
    const said = there.length > mostNamed ? someOf(there, mostNamed) : enumerated(there)
    return `rack ${placement.rack.name}, with ${said}`
  }
}

const collect = <S>(entries: readonly { reason: string; server: S }[]): Left<S>[] => {
  const groups = new Map<string, S[]>()
  for (const { reason, server } of entries) {
    const group = groups.get(reason)
    if (group) group.push(server)
    else groups.set(reason, [server])
  }
  return [...groups]
    .map(([reason, servers]) => ({ reason, servers }))
    .toSorted((a, b) => b.servers.length - a.servers.length || (a.reason < b.reason ? -1 : 1))
}

/**
 * Servers for clusters of the same kind.
 * @param servers those of one datacenter that aren't removed
 * @param clusters number of clusters
 */
export function chooseServers<S extends Choosable>(
  servers: readonly S[],
  wish: Wish,
  clusters = 1,
): Choice<S> {
  const { control_plane, worker, isSpread } = wish
  const suiting: Record<ClusterRole, Suitable<S>[]> = { control_plane: [], worker: [] }
  const out: { reason: string; server: S }[] = []
  for (const server of servers) {
    const reason = unusable(server, wish)
    if (reason !== null) {
      out.push({ reason, server })
      continue
    }
    const roles = [
      ['control_plane', control_plane],
      ['worker', worker],
    ] as const
    const refused = new Set<string>()
    let isSuitable = false
    for (const [role, asked] of roles) {
      if (asked.count === 0) continue
      const judged = judge(server, role, asked)
      if ('reason' in judged) refused.add(judged.reason)
      else {
        isSuitable = true
        suiting[role].push(judged.suits)
      }
    }
    if (!isSuitable) out.push({ reason: [...refused].join('; '), server })
  }
  suiting.control_plane.sort(byRank)
  suiting.worker.sort(byRank)
  const workers = new Set(suiting.worker.map(({ server }) => server))
  const shared = suiting.control_plane.filter(({ server }) => workers.has(server))
  const only = suiting.control_plane.filter(({ server }) => !workers.has(server))
  const [wantedC, wantedW] = [control_plane.count * clusters, worker.count * clusters]
  // Control planes may take so many servers that also suit workers, and leave enough for them.
  const budget = Math.min(shared.length, suiting.worker.length - wantedW)
  if (budget < 0 || only.length + budget < wantedC) {
    const total = new Set([...only, ...suiting.worker].map(({ server }) => server)).size
    return {
      clusters: null,
      left: collect(out),
      refusal: refusalOf({ wish, clusters, total, suiting, out }),
    }
  }
  let pool: readonly Suitable<S>[] =
    budget < wantedC
      ? [...only, ...take(shared, budget, isSpread, [])[0]].toSorted(byRank)
      : suiting.control_plane
  const members: Chosen<S>[][] = []
  for (let at = 0; at < clusters; at++) {
    const [chosen, others] = take(pool, control_plane.count, isSpread, [])
    members.push(chosen.map((one) => chosenAs(one, 'control_plane')))
    pool = others
  }
  const taken = new Set(members.flat().map(({ server }) => server))
  let rest = suiting.worker.filter(({ server }) => !taken.has(server))
  for (const cluster of members) {
    const beside = cluster.map(({ server }) => server)
    const [chosen, others] = take(rest, worker.count, isSpread, beside)
    cluster.push(...chosen.map((one) => chosenAs(one, 'worker')))
    rest = others
  }
  const used = new Set(members.flat().map(({ server }) => server))
  const unused = [...only, ...suiting.worker]
    .filter(({ server }) => !used.has(server))
    .map(({ server }) => ({ reason: 'suitable, not needed', server }))
  return {
    clusters: members.map((cluster) => {
      const reasonOf = rackReasons(cluster.map(({ server }) => server))
      return cluster.map((one) => ({ ...one, reasons: [...one.reasons, reasonOf(one.server)] }))
    }),
    left: collect([...unused, ...out]),
    refusal: null,
  }
}

const chosenAs = <S>({ rank: _rank, ...one }: Suitable<S>, role: ClusterRole): Chosen<S> => ({
  ...one,
  role,
})

function refusalOf<S>({
  wish: { control_plane, worker },
  clusters,
  total,
  suiting,
  out,
}: {
  wish: Wish
  clusters: number
  total: number
  suiting: Record<ClusterRole, readonly Suitable<S>[]>
  out: readonly { reason: string; server: S }[]
}): string {
  const wanted = [
    counted(control_plane.count * clusters, 'control plane'),
    ...(worker.count > 0 ? [counted(worker.count * clusters, 'worker')] : []),
  ].join(' and ')
  const suited =
    worker.count > 0
      ? `${counted(total, 'server')} suit${total === 1 ? 's' : ''} (${suiting.control_plane.length} as control planes, ${suiting.worker.length} as workers)`
      : `${counted(total, 'server')} suit${total === 1 ? 's' : ''}`
  const why = collect(out).map(({ reason, servers }) => `${servers.length}: ${reason}`)
  return `Too few servers for ${wanted}: ${suited}${why.length === 0 ? '' : `. Of the others, ${why.join('; ')}`}`
}
