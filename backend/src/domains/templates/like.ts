/** The template that a cluster is like. */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod/mini'
import type { Cluster, ClusterRole } from '#contract/clusters/clusters.ts'
import { endpointHost } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import type { NewPatch } from '#contract/patches.ts'
import { mediaOf } from '#contract/disks/choice.ts'
import { devicePath, type DiskFacts, withoutPaths } from '#contract/disks/disks.ts'
import { type Server, serverList } from '#contract/servers/server.ts'
import { type DiskRule, diskTypes, gibibyte } from '#contract/templates/needs.ts'
import { type clusterTemplate, NewTemplate } from '#contract/templates/templates.ts'
import { enumerated } from '#contract/words.ts'
import { type Caller, demandScope, type UserCaller } from '../../http/caller.ts'
import type { TemplateParts } from './parts.ts'

/** What a member of the cluster is like. */
interface Like {
  readonly server: Server
  readonly member: Cluster['servers'][number]
  readonly patches: readonly NewPatch[]
}

const known = (type: unknown): type is (typeof diskTypes)[number] =>
  diskTypes.some((one) => one === type)

/** The type that all these disks have, as a rule. */
function typeOf(disks: readonly DiskFacts[]): DiskRule {
  const types = new Set(disks.map((d) => d.type))
  const [type] = types
  return types.size === 1 && known(type) ? { type } : {}
}

/** The smallest of the values; undefined if one is unknown. */
const least = (values: readonly (number | null)[]): number | undefined => {
  const all = values.filter((value) => value !== null)
  return all.length === 0 || all.length < values.length ? undefined : Math.min(...all)
}

const fixedOf = ({ server }: Like): DiskFacts[] =>
  withoutPaths(server.resources.disks as DiskFacts[]).filter((d) => mediaOf(d) === null)

/** What every server of a role has. */
function needsOf(all: readonly Like[]): object {
  const cores = least(all.map(({ server }) => server.hardware.cores))
  const memory = least(all.map(({ server }) => server.hardware.memory_bytes))
  return {
    ...(cores !== undefined && cores >= 1 && { cores: Math.floor(cores) }),
    ...(memory !== undefined &&
      memory >= gibibyte && { memory_gib: Math.floor(memory / gibibyte) }),
    disks: diskTypes.flatMap((type) => {
      const count = Math.min(
        ...all.map((one) => fixedOf(one).filter((d) => d.type === type).length),
      )
      return count > 0 ? [{ count, type }] : []
    }),
  }
}

function disksOf(all: readonly Like[]): object {
  const named = ({ server }: Like, devices: readonly string[]): DiskFacts[] =>
    (server.resources.disks as DiskFacts[]).filter((d) => devices.includes(devicePath(d.id)))
  const install = all.flatMap((one) => named(one, [one.member.install_disk ?? '']))
  const workload = all.map((one) => named(one, one.member.workload_disks ?? []))
  const count = Math.min(...workload.map((disks) => disks.length))
  return {
    install_disk: install.length === all.length ? typeOf(install) : {},
    workload_disks: count === 0 ? null : { ...typeOf(workload.flat()), count },
  }
}

/** The patch that every server of the role has, and sentences about the others. */
async function patchOf(
  { patches }: TemplateParts,
  caller: Caller,
  all: readonly Like[],
  said: string,
): Promise<{ patch?: NewPatch; left: string[] }> {
  const isShared = (patch: NewPatch) =>
    all.every((one) => one.patches.some((other) => isDeepStrictEqual(other, patch)))
  const shared: NewPatch[] = []
  const left: string[] = []
  for (const patch of all[0]!.patches.filter(isShared))
    if (await patches.holdsSecret(caller, patch.body))
      left.push(`The patch ${patch.name} of the ${said} holds a secret, or a value that may be one`)
    else shared.push(patch)
  const own = new Set(
    all.flatMap((one) => one.patches.filter((patch) => !isShared(patch)).map(({ name }) => name)),
  )
  if (own.size > 0) left.push(`Not all ${said} have the patches ${enumerated([...own].toSorted())}`)
  const [patch, ...more] = shared
  if (more.length > 0)
    left.push(
      `A new server gets one patch, ${patch!.name}: add ${enumerated(more.map(({ name }) => name))} to the new ${said} later`,
    )
  return { ...(patch && { patch }), left }
}

/** The extensions and kernel arguments that all servers have, or why they are left out. */
async function imageOf(
  parts: TemplateParts,
  id: string,
  signal: AbortSignal,
): Promise<{ image: object; left: string[] }> {
  try {
    const items = await parts.extensionsOf(id, signal)
    const [first] = items
    const unknown = items.find((one) => one.extensions === null)
    if (!first || unknown)
      return {
        image: {},
        left: [`The extensions are not known: ${unknown?.reason ?? 'no server answers'}`],
      }
    const { extensions, kernel_args } = first
    const isSame = items.every(
      (one) =>
        isDeepStrictEqual(one.extensions, extensions) &&
        isDeepStrictEqual(one.kernel_args, kernel_args),
    )
    return isSame
      ? { image: { extensions, kernel_args }, left: [] }
      : { image: {}, left: ['The servers have different extensions or kernel arguments'] }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { image: {}, left: [`The extensions are not known: ${error.message}`] }
  }
}

/** Answers `clusterTemplate`. @throws Problem not_found, forbidden */
export async function likeCluster(
  parts: TemplateParts,
  caller: UserCaller,
  id: string,
  signal: AbortSignal,
): Promise<NonNullable<Answer<typeof clusterTemplate>>> {
  const cluster = await parts.shown(id)
  // The template says what hardware and patches the servers have.
  demandScope(caller, serverList.scope)
  const members: Record<ClusterRole, Like[]> = { control_plane: [], worker: [] }
  for (const member of cluster.servers)
    members[member.role].push({
      member,
      server: await parts.servers.get(member.node_id),
      patches: await parts.patches.ofServer(parts.db, member.node_id),
    })
  const left: string[] = []
  const roleOf = async (role: ClusterRole, said: string): Promise<object> => {
    const all = members[role]
    if (all.length === 0) return { count: 0 }
    const { patch, left: more } = await patchOf(parts, caller, all, said)
    left.push(...more)
    return {
      count: all.length,
      needs: needsOf(all),
      ...disksOf(all),
      ...(patch && { patch }),
    }
  }
  const control_planes = await roleOf('control_plane', 'control planes')
  const workers = await roleOf('worker', 'workers')
  const { image, left: unknown } = await imageOf(parts, id, signal)
  left.push(...unknown)
  const schedule = await parts.scheduleOf(id)
  const host = endpointHost(cluster.endpoint)
  const isOfServer = members.control_plane.some(({ server }) =>
    server.nodeAddresses.some((address) => address.split('/', 1)[0] === host),
  )
  if (cluster.virtual_ip || !isOfServer)
    left.push(`Each cluster has an endpoint of its own; that of ${cluster.name} is ${host}`)
  const template = z.safeParse(NewTemplate, {
    name: cluster.name,
    talos_version: cluster.talos_version,
    kubernetes_version: cluster.kubernetes_version,
    virtual_ip: cluster.virtual_ip,
    vlan_id: cluster.vlan_id,
    pod_cidr: cluster.pod_cidr,
    service_cidr: cluster.service_cidr,
    control_planes,
    workers,
    subnets: (await parts.subnets.byCluster(parts.db, id))
      .filter(({ purpose }) => purpose === 'workload')
      .map(({ type, total }) => ({ type, addresses: Math.min(total ?? 1, 1_000_000) || 1 })),
    ...image,
    labels: cluster.labels ?? {},
    maintenance_window: cluster.maintenance_window ?? null,
    snapshots: schedule && {
      store: schedule.store.name,
      every_hours: schedule.every_hours,
      at_hour: schedule.at_hour,
      keep_count: schedule.keep_count,
      keep_days: schedule.keep_days,
      paused: schedule.paused,
    },
  })
  if (!template.success)
    throw new Problem(
      'conflict',
      `No template can be made of ${cluster.name}: ${template.error.issues[0]!.message}`,
    )
  return { template: template.data, left_out: left }
}
