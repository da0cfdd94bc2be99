/** Plans clusters from a template: servers with reasons, disks by name, subnets. Writes nothing. */
import * as z from 'zod/mini'
import { NewCluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import { sharedRackWarnings } from '#contract/racks/spread.ts'
import { contentOf, isBlank } from '#contract/disks/choice.ts'
import { type ConfirmedDisk, devicePath, type DiskFacts } from '#contract/disks/disks.ts'
import { diskName, disksToConfirm } from '#contract/disks/wipe.ts'
import type { Server } from '#contract/servers/server.ts'
import { type Chosen, chooseServers } from '#contract/templates/choose.ts'
import { firstSettingsOf, noStoreOf } from '#contract/templates/first-settings.ts'
import { chooseSubnets } from '#contract/templates/subnets.ts'
import type {
  NewTemplate,
  PlannedCluster,
  PlannedClusters,
  TemplatePlan,
} from '#contract/templates/templates.ts'
import { otherImages } from './images.ts'
import type { TemplateParts } from './parts.ts'
import { judgeVersions } from './versions.ts'

/** Servers that are named per reason; the number says how many more there are. */
const mostNamed = 50

const diskOf = (disk: DiskFacts) => ({
  device: devicePath(disk.id),
  disk: diskName(disk),
  size: disk.size ?? null,
  content: contentOf(disk),
})

/** Path of the disk with an installed Talos, which is kept. */
const keptOn = ({ talos }: Server): string | null => talos.installed?.disk ?? null
const devicesOf = ({ install_disk, workload_disks }: Chosen<Server>): string[] =>
  [install_disk, ...workload_disks].map((d) => devicePath(d.id))

/** Names the empty disks, so that a creation is refused if one of them is another disk by then. */
const emptyDisks = (chosen: readonly Chosen<Server>[]): ConfirmedDisk[] =>
  chosen.flatMap(({ server, install_disk, workload_disks }) =>
    [install_disk, ...workload_disks]
      .filter((disk) => devicePath(disk.id) !== keptOn(server) && isBlank(disk))
      .flatMap((disk): ConfirmedDisk[] => {
        const content = contentOf(disk)
        if (disk.wwid) return [{ wwid: disk.wwid, content }]
        return disk.serial ? [{ serial: disk.serial, content }] : []
      }),
  )

/** The template with the wishes of the call. */
const merged = (template: NewTemplate, asked: TemplatePlan): NewTemplate => ({
  ...template,
  control_planes: {
    ...template.control_planes,
    count: asked.control_planes ?? template.control_planes.count,
  },
  workers: { ...template.workers, count: asked.workers ?? template.workers.count },
  ...(asked.talos_version !== undefined && { talos_version: asked.talos_version }),
  ...(asked.kubernetes_version !== undefined && {
    kubernetes_version: asked.kubernetes_version,
  }),
})

function plannedOf(
  template: NewTemplate,
  asked: TemplatePlan,
  {
    at,
    chosen,
    subnets,
    storeId,
    versions,
  }: {
    at: number
    chosen: readonly Chosen<Server>[]
    subnets: readonly Subnet[]
    storeId: string | null
    versions: { readonly talos_version: string; readonly kubernetes_version: string }
  },
): PlannedCluster {
  const { name, endpoint } = asked.clusters[at]!
  const { vlan_id, pod_cidr, service_cidr, virtual_ip } = template
  const patches = { control_plane: template.control_planes.patch, worker: template.workers.patch }
  return {
    name,
    servers: chosen.map(
      ({ server, role, reasons, install_disk, install_reason, workload_disks }) => ({
        node_id: server.id,
        name: server.name,
        role,
        rack: server.placement?.rack.name ?? null,
        reasons: [...reasons],
        install_disk: {
          ...diskOf(install_disk),
          reason: install_reason,
          wiped: devicePath(install_disk.id) !== keptOn(server),
        },
        workload_disks: workload_disks.map(diskOf),
      }),
    ),
    body: z.parse(NewCluster, {
      name,
      datacenter_id: asked.datacenter_id,
      talos_version: versions.talos_version,
      kubernetes_version: versions.kubernetes_version,
      ...(endpoint !== undefined && { endpoint, virtual_ip }),
      vlan_id,
      pod_cidr,
      service_cidr,
      servers: chosen.map(({ server, role, install_disk, workload_disks }) => ({
        node_id: server.id,
        role,
        install_disk: devicePath(install_disk.id),
        workload_disks: workload_disks.map((d) => devicePath(d.id)),
        ...(patches[role] && { patch: patches[role] }),
      })),
      confirmed_disks: emptyDisks(chosen),
      ...firstSettingsOf(template, storeId),
      subnet_ids: subnets.map(({ id }) => id),
    }),
    to_confirm: disksToConfirm(
      chosen.map((one) => ({
        server: one.server.name,
        disks: one.server.resources.disks,
        devices: devicesOf(one),
        kept: keptOn(one.server),
      })),
    ).map((one) => ({ ...one, disk: one.disk as PlannedCluster['to_confirm'][number]['disk'] })),
    subnets: subnets.map(({ id, name: subnet, cidr }) => ({ id, name: subnet, cidr })),
  }
}

/** Names that can't be used. */
async function nameProblems(
  { db, clusters }: TemplateParts,
  { clusters: wanted }: TemplatePlan,
): Promise<string[]> {
  const problems: string[] = []
  for (const [at, { name }] of wanted.entries()) {
    if (wanted.findIndex((other) => other.name === name) !== at)
      problems.push(`${name} is named twice`)
    else if ((await clusters.idOf(db, name)) !== undefined)
      problems.push(`${name}: ${nameSentences('Cluster').taken}`)
  }
  return problems
}

/** Why the image factory doesn't build the image of the template; none if it asks for none. */
async function imageProblems(
  { installers }: TemplateParts,
  { extensions = [], kernel_args = [] }: NewTemplate,
  version: string,
): Promise<string[]> {
  if (extensions.length + kernel_args.length === 0) return []
  try {
    await installers.demandBuildable(version, {
      officialExtensions: extensions,
      extraKernelArgs: kernel_args,
    })
    return []
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [`The image of the template can't be had: ${error.message}`]
  }
}

/** Answers `templatePlan`. @throws Problem not_found for the datacenter */
export async function planClusters(
  parts: TemplateParts,
  saved: NewTemplate,
  asked: TemplatePlan,
): Promise<PlannedClusters> {
  const datacenter = await parts.datacenters.find(parts.db, asked.datacenter_id)
  if (!datacenter) throw new Problem('not_found', 'There is no such datacenter')
  const template = merged(saved, asked)
  const versions = judgeVersions(parts.versions, template)
  const refusals = await nameProblems(parts, asked)
  if (versions.problem !== null) refusals.push(versions.problem)
  const without = new Set(asked.without)
  const servers = (await parts.servers.inDatacenter(datacenter.id)).filter(
    (server) => !without.has(server.id),
  )
  const { control_planes, workers, spread_over_racks } = template
  const choice = chooseServers(
    servers,
    {
      control_plane: control_planes,
      worker: workers,
      isSpread: spread_over_racks,
      // Of a version that is gone nothing can be said about a server.
      ...(versions.problem === null && { talosVersion: versions.talos_version }),
      otherImage: await otherImages(parts.installers, template, servers),
    },
    asked.clusters.length,
  )
  if (choice.refusal !== null) refusals.push(choice.refusal)
  const subnets = chooseSubnets(
    template.subnets.length === 0 ? [] : await parts.subnets.free(datacenter.id),
    template.subnets,
    asked.clusters.length,
  )
  if (typeof subnets === 'string') refusals.push(subnets)
  const store = template.snapshots?.store
  const storeId = store === undefined ? null : await parts.storeNamed(store)
  if (store !== undefined && storeId === null) refusals.push(noStoreOf(store))
  if (versions.problem === null)
    refusals.push(...(await imageProblems(parts, template, versions.talos_version)))
  const isWhole = refusals.length === 0 && choice.clusters !== null && typeof subnets !== 'string'
  return {
    template,
    clusters: isWhole
      ? choice.clusters.map((chosen, at) =>
          plannedOf(template, asked, {
            at,
            chosen,
            subnets: subnets[at]!,
            storeId,
            versions,
          }),
        )
      : null,
    refusals,
    nearest: versions.nearest,
    warnings: [
      ...(versions.problem === null
        ? parts.versions.warnings(versions.talos_version, versions.kubernetes_version)
        : []),
      ...asked.clusters
        .filter(({ endpoint }) => template.virtual_ip && endpoint === undefined)
        .map(
          ({ name }) =>
            `No virtual address is named for ${name}: its endpoint is the address of its first control plane, and is lost with it.`,
        ),
      ...(choice.clusters ?? []).flatMap((cluster) =>
        sharedRackWarnings(
          cluster.filter(({ role }) => role === 'control_plane').map(({ server }) => server),
        ),
      ),
    ],
    left: choice.left.map(({ reason, servers: those }) => ({
      reason,
      count: those.length,
      servers: those.slice(0, mostNamed).map(({ id, name }) => ({ id, name })),
    })),
  }
}
