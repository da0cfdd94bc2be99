/**
 * Renders the configurations of a cluster's servers: generated, patched, sealed. Each generation is
 * rendered once: the stored bytes are the validated bytes and the sent bytes. Only an operation
 * renders again.
 */
import { createHash } from 'node:crypto'
import type { NewPatch } from '#contract/patches.ts'
import { endpointHost } from '#contract/clusters/clusters.ts'
import { generateConfig } from '#talos/config/generate.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { images } from '#talos/versions.ts'
import type { Config } from '../../config.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { ours } from '../../reading/reader.ts'
import type { RenderContext } from '../patches/layers.ts'
import type { PatchSet } from '../patches/sets.ts'
import type { ChosenServer, Resolved } from './create/check.ts'
import { formOfNewServer } from './change/rotate/stages.ts'
import { selectorWwid } from './create/disks.ts'
import { type CoreParts, factsOf } from './parts.ts'
import * as store from './store.ts'

/** The Image Factory's schematic without customization, from which Talos's own images are built. */
const emptySchematic = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

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

/** Settings of a cluster, which may exist or be only previewed. */
type Blueprint = Pick<
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
} & Partial<Pick<store.ClusterRow, 'other_endpoint' | 'other_virtual_ip'>>
/** Settings of a server. `images`: image names that others have set in its configuration. */
type BlueprintServer = Pick<
  store.MemberRow,
  'role' | 'interface' | 'install_disk' | 'install_wwid' | 'install_image'
> &
  Partial<Pick<store.MemberRow, 'images' | 'endpoint'>>

function base(
  blueprint: Blueprint,
  server: BlueprintServer,
  secrets: SecretsBundle,
): { yaml: string; context: RenderContext } {
  // While the endpoint changes, both are valid, and each server uses one of them.
  const other = blueprint.other_endpoint ?? null
  const hosts = [blueprint.endpoint, ...(other === null ? [] : [other])].map(endpointHost)
  const virtualIps = hosts.filter((_, i) =>
    i === 0 ? blueprint.virtual_ip : blueprint.other_virtual_ip,
  )
  const both = {
    role: server.role,
    talosVersion: blueprint.talos_version,
    installDisk: server.install_disk,
    installImage: server.install_image,
  }
  return {
    yaml: generateConfig({
      ...both,
      clusterName: blueprint.name,
      endpoint: server.endpoint ?? blueprint.endpoint,
      kubernetesVersion: blueprint.kubernetes_version,
      secrets,
      podCidr: blueprint.pod_cidr,
      serviceCidr: blueprint.service_cidr,
    }),
    context: {
      ...both,
      installWwid: server.install_wwid,
      endpointHost: hosts[0]!,
      otherHosts: hosts.slice(1),
      controlPlaneAddresses: blueprint.controlPlaneAddresses,
      virtualIps,
      vlanId: blueprint.vlan_id,
      workloadInterface: server.interface,
      images: server.images,
    },
  }
}

/**
 * A server's generated configuration without patches, and the context for rendering it. Null until
 * the cluster has its secrets.
 */
export async function generated(
  parts: CoreParts,
  on: Db | Tx,
  clusterId: string,
  nodeId: string,
): Promise<{ yaml: string; context: RenderContext } | null> {
  const row = await store.row(on, clusterId)
  const members = await store.members(on, clusterId)
  const server = members.find((m) => m.node_id === nodeId && m.released_at === null)
  const bundle = await parts.secrets.bundle(on, clusterId)
  if (!row || row.deleted_at !== null || !server || !bundle) return null
  const controlPlanes = members.filter((m) => m.role === 'control_plane' && m.wanted === 'joined')
  const facts = await factsOf(parts, on, controlPlanes)
  const made = base({ ...row, controlPlaneAddresses: facts.map((f) => f.address) }, server, bundle)
  const adopted = await store.base(on, clusterId, nodeId)
  const whole = adopted
    ? {
        yaml: await parts.secrets.openBase(on, clusterId, adopted.sealed),
        context: { ...made.context, isAdopted: true },
      }
    : made
  return { ...whole, yaml: await whileRotating(parts, on, server, whole.yaml) }
}

/** During a rotation each server has the secrets of the step that it has reached. */
async function whileRotating(
  parts: CoreParts,
  on: Db | Tx,
  server: store.MemberRow,
  yaml: string,
): Promise<string> {
  const rotation = await parts.secrets.rotation(on, server.cluster_id)
  if (!rotation) return yaml
  const newest = await store.newestConfig(on, server.cluster_id, server.node_id)
  if (newest)
    return parts.read(
      ours,
      'withSecrets',
      yaml,
      await parts.secrets.openConfig(on, server.cluster_id, newest.sealed),
    )
  return parts.read(
    ours,
    'form',
    yaml,
    server.role === 'control_plane',
    rotation,
    formOfNewServer(rotation.what, rotation.stage),
  )
}

/** Stores a configuration as the server's next generation, and returns its number. */
export async function storeConfig(
  { clock, secrets }: CoreParts,
  tx: Tx,
  clusterId: string,
  nodeId: string,
  yaml: string,
): Promise<number> {
  const sealed = await secrets.sealConfig(tx, clusterId, yaml)
  const hash = createHash('sha256').update(yaml).digest('hex')
  return store.putConfig(tx, {
    cluster_id: clusterId,
    node_id: nodeId,
    sealed,
    hash,
    created_at: new Date(clock.now()),
  })
}

/**
 * Renders and stores the next generation. Throws if patches that were changed after the creation's
 * check make the configuration invalid.
 */
async function renderNext(
  parts: CoreParts,
  tx: Tx,
  clusterId: string,
  nodeId: string,
): Promise<{ yaml: string } | null> {
  const from = await generated(parts, tx, clusterId, nodeId)
  if (!from) return null
  const { yaml } = await parts.patches.render(tx, nodeId, from.yaml, from.context)
  await storeConfig(parts, tx, clusterId, nodeId, yaml)
  return { yaml }
}

/** Renders and stores a server's configuration if it has none yet. */
export const renderOnce = (
  parts: CoreParts,
  job: Job,
  clusterId: string,
  nodeId: string,
): Promise<void> =>
  job.effect(`config/${nodeId}`, () =>
    job.fence.write(async (tx) => {
      await store.hold(tx, clusterId)
      if (!(await store.newestConfig(tx, clusterId, nodeId)))
        await renderNext(parts, tx, clusterId, nodeId)
    }),
  )

/**
 * Renders again in the caller's transaction and stores the bytes as the next generation; null if
 * the server has no configuration yet.
 */
export const renderAgain = async (
  parts: CoreParts,
  tx: Tx,
  clusterId: string,
  nodeId: string,
): Promise<{ yaml: string } | null> =>
  (await store.newestConfig(tx, clusterId, nodeId))
    ? renderNext(parts, tx, clusterId, nodeId)
    : null

/**
 * Makes the newest generation the one with these changes of patches, unless it is already; null if
 * the server has no configuration yet. The patches themselves are saved when the machine has the
 * configuration.
 */
export async function renderWith(
  parts: CoreParts,
  tx: Tx,
  clusterId: string,
  nodeId: string,
  set?: PatchSet,
): Promise<{ yaml: string } | null> {
  const [newest, from] = [
    await store.newestConfig(tx, clusterId, nodeId),
    await generated(parts, tx, clusterId, nodeId),
  ]
  if (!newest || !from) return null
  const { yaml } = await parts.patches.render(tx, nodeId, from.yaml, from.context, set)
  if ((await parts.secrets.openConfig(tx, clusterId, newest.sealed)) !== yaml)
    await storeConfig(parts, tx, clusterId, nodeId, yaml)
  return { yaml }
}

/** Renders a server's configuration for the preview of a creation. */
export function previewConfig(
  { config, db, patches }: Pick<CoreParts, 'config' | 'db' | 'patches'>,
  name: string,
  resolved: Resolved,
  server: ChosenServer,
  secrets: SecretsBundle,
  patch: NewPatch | undefined,
) {
  const controlPlaneAddresses = resolved.servers
    .filter((s) => s.role === 'control_plane')
    .map((s) => s.candidate.address)
  const placed = {
    ...server,
    install_wwid: selectorWwid(server.candidate.disks, server.install_disk),
    install_image: installImage(server.candidate, resolved.talos_version, config),
  }
  const { yaml, context } = base({ ...resolved, name, controlPlaneAddresses }, placed, secrets)
  return patches.render(db, server.node_id, yaml, context, {
    patches: patch ? [patch] : [],
    remove: [],
  })
}
