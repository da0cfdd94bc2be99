/** What a cluster decides about the configurations of its servers. */
import { type ClusterRole, endpointHost } from '#contract/clusters/clusters.ts'
import { virtualHosts } from '#contract/clusters/endpoint.ts'
import type { ServerFacts } from '../servers/api.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { images, minorText } from '#talos/versions.ts'
import type { Config } from '../../config.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Blueprint } from '../configurations/api.ts'
import { formOfNewServer } from './rotation-stages.ts'
import { selectorWwid } from './disks.ts'
import { type CoreParts } from './parts.ts'
import { factsOf } from '../control-planes/api.ts'
import type { OpenRotation } from './secrets.ts'
import * as store from './store.ts'

/** A server of a cluster that is to be created, with every default filled in. */
export interface ChosenServer {
  readonly node_id: string
  readonly name: string
  readonly role: ClusterRole
  readonly interface: string | null
  readonly install_disk: string
  readonly workload_disks: readonly string[]
  readonly candidate: ServerFacts
  /** Of the image that is installed. Left out: that of the image that the server runs. */
  readonly schematic?: string
}

/** The request with every default filled in. */
export interface Resolved {
  readonly talos_version: string
  readonly kubernetes_version: string
  /** `https://10.1.2.3:6443` */
  readonly endpoint: string
  readonly virtual_ip: boolean
  readonly vlan_id: number | null
  readonly pod_cidr: string
  readonly service_cidr: string
  readonly servers: readonly ChosenServer[]
}

/** The Image Factory's schematic without customization, from which Talos's own images are built. */
export const emptySchematic = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

/**
 * The installer image with the schematic that the server booted, so that extensions and kernel
 * arguments survive the installation.
 */
export const installImage = (
  server: { schematic: string | null; secure_boot: boolean },
  talosVersion: string,
  { imageFactoryUrl }: Pick<Config, 'imageFactoryUrl'>,
): string =>
  images.factoryInstaller(server.schematic ?? emptySchematic, talosVersion, {
    secureBoot: server.secure_boot,
    factory: new URL(imageFactoryUrl).host,
  })

/** The installer image of a server that is to join. */
export const imageOfChosen = (
  { candidate, schematic }: Pick<ChosenServer, 'candidate' | 'schematic'>,
  talosVersion: string,
  config: Pick<Config, 'imageFactoryUrl'>,
): string =>
  installImage(
    { schematic: schematic ?? candidate.schematic, secure_boot: candidate.secure_boot },
    talosVersion,
    config,
  )

/** Settings of a cluster, which may exist or be only previewed. */
type Planned = Pick<
  Resolved,
  | 'endpoint'
  | 'virtual_ip'
  | 'vlan_id'
  | 'talos_version'
  | 'kubernetes_version'
  | 'pod_cidr'
  | 'service_cidr'
> & {
  readonly name: string
  readonly controlPlaneAddresses: readonly string[]
} & Partial<
    Pick<
      store.ClusterRow,
      'other_endpoint' | 'other_virtual_ip' | 'former_endpoints' | 'contract' | 'is_moved'
    >
  >
/** Settings of a server. `images`: image names that others have set in its configuration. */
type PlannedServer = Pick<
  store.MemberRow,
  'role' | 'interface' | 'install_disk' | 'install_wwid' | 'install_image'
> &
  Partial<Pick<store.MemberRow, 'images' | 'endpoint' | 'is_moved' | 'forgets_other_endpoint'>>

function blueprintFor(
  planned: Planned,
  server: PlannedServer,
  secrets: SecretsBundle,
  rotation: OpenRotation | null,
): Blueprint {
  // While the endpoint changes, both are valid, and each server uses one of them. At the end they
  // forget the former one, one after another.
  const cluster = server.forgets_other_endpoint
    ? { ...planned, other_endpoint: null, other_virtual_ip: false }
    : planned
  const other = cluster.other_endpoint ?? null
  const endpoints = [cluster.endpoint, ...(other === null ? [] : [other])]
  const hosts = endpoints.map(endpointHost)
  return {
    clusterName: cluster.name,
    role: server.role,
    talosVersion: cluster.talos_version,
    contract: cluster.contract ?? minorText(cluster.talos_version),
    isMoved: server.is_moved ?? cluster.is_moved ?? false,
    kubernetesVersion: cluster.kubernetes_version,
    podCidr: cluster.pod_cidr,
    serviceCidr: cluster.service_cidr,
    endpoint: server.endpoint ?? cluster.endpoint,
    endpointHost: hosts[0]!,
    otherHosts: hosts.slice(1),
    formerIssuers: [...new Set([...endpoints, ...(cluster.former_endpoints ?? [])])],
    controlPlaneAddresses: cluster.controlPlaneAddresses,
    virtualIps: virtualHosts(cluster),
    secrets,
    ...(rotation && {
      rotation: { of: rotation, form: formOfNewServer(rotation.what, rotation.stage) },
    }),
    installDisk: server.install_disk,
    installWwid: server.install_wwid,
    installImage: server.install_image,
    vlanId: cluster.vlan_id,
    workloadInterface: server.interface,
    images: server.images,
  }
}

/** The blueprint of a server of the cluster. Null until the cluster has its secrets. */
export async function blueprint(
  parts: CoreParts,
  on: Db | Tx,
  clusterId: string,
  nodeId: string,
): Promise<Blueprint | null> {
  const row = await store.row(on, clusterId)
  const members = await store.members(on, clusterId)
  const server = members.find((m) => m.node_id === nodeId && m.released_at === null)
  const bundle = await parts.secrets.bundle(on, clusterId)
  if (!row || row.deleted_at !== null || !server || !bundle) return null
  const controlPlanes = members.filter((m) => m.role === 'control_plane' && m.wanted === 'joined')
  const facts = await factsOf(parts, on, controlPlanes)
  const rotation = await parts.secrets.rotation(on, clusterId)
  const cluster = { ...row, controlPlaneAddresses: facts.map((f) => f.address) }
  return blueprintFor(cluster, server, bundle, rotation)
}

/** Settings of a cluster that may be only previewed, and the servers that join it. */
export type Joining = Omit<Planned, 'name' | 'controlPlaneAddresses'> &
  Pick<Resolved, 'servers'> & {
    /** Of a cluster that exists. */
    readonly id?: string
  }

/** The blueprint of a server that may join a cluster. */
export function previewBlueprint(
  config: Config,
  name: string,
  resolved: Joining,
  server: ChosenServer,
  secrets: SecretsBundle,
): Blueprint {
  const controlPlaneAddresses = resolved.servers
    .filter((s) => s.role === 'control_plane')
    .map((s) => s.candidate.address)
  const placed = {
    ...server,
    install_wwid: selectorWwid(server.candidate.disks, server.install_disk),
    install_image: imageOfChosen(server, resolved.talos_version, config),
  }
  return blueprintFor({ ...resolved, name, controlPlaneAddresses }, placed, secrets, null)
}
