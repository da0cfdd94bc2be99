/**
 * Renders the configurations of a cluster's servers: generated, patched, sealed. Rendered once per server and generation: the stored bytes are
 * the validated bytes and the sent bytes. Only an operation renders again.
 */
import { createHash } from 'node:crypto'
import type { NewPatch } from '#contract/patches.ts'
import { endpointHost } from '#contract/clusters/clusters.ts'
import { generateConfig } from '#talos/config/generate.ts'
import type { MachineImages } from '#talos/config/compare.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { images } from '#talos/versions.ts'
import type { Config } from '../../config.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import type { RenderContext } from '../patches/layers.ts'
import type { Rendered } from '../patches/render.ts'
import type { ChosenServer, Resolved } from './create/check.ts'
import { selectorWwid } from './create/disks.ts'
import { load, type State } from './facts.ts'
import type { CoreParts } from './core.ts'
import type { ClusterSecrets } from './secrets.ts'
import * as outsideStore from './outside/store.ts'
import * as store from './store.ts'

/** The schematic without customization, that of Talos's own images (Image Factory). */
const emptySchematic = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

/** The installer image with the schematic that the server booted, so that extensions and kernel arguments survive the installation. */
export const installImage = (
  server: { schematic: string | null; secure_boot: boolean },
  talosVersion: string,
  { imageFactoryUrl }: Pick<Config, 'imageFactoryUrl'>,
): string =>
  images.factoryInstaller(server.schematic ?? emptySchematic, talosVersion, { secureBoot: server.secure_boot, factory: new URL(imageFactoryUrl).host })

/** Input of a generated configuration, for existing and previewed clusters. */
export interface Blueprint {
  readonly name: string
  readonly endpoint: string
  readonly virtual_ip: boolean
  readonly vlan_id: number | null
  readonly talos_version: string
  readonly kubernetes_version: string
  readonly pod_cidr: string
  readonly service_cidr: string
  readonly controlPlaneAddresses: readonly string[]
}

export interface BlueprintServer {
  readonly node_id: string
  readonly role: 'control_plane' | 'worker'
  readonly interface: string | null
  readonly install_disk: string
  readonly install_wwid: string | null
  readonly install_image: string
  /** Images set in its configuration by others. */
  readonly images?: MachineImages | null
}

export interface Rendering {
  /** Renders and stores a server's configuration if there is none yet. */
  readonly renderOnce: (job: Job, state: State, nodeId: string) => Promise<void>
  /** Renders again in the caller's transaction and stores the bytes as the next generation; null if the cluster has no secrets yet. */
  readonly renderAgain: (tx: Tx, clusterId: string, nodeId: string) => Promise<{ yaml: string } | null>
  /** A server's generated configuration before any patch, and the cluster's choices for it. */
  readonly generated: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<{ yaml: string; context: RenderContext } | null>
  /** For the preview of a creation. */
  readonly preview: (
    on: Db | Tx,
    name: string,
    resolved: Resolved,
    server: ChosenServer,
    secrets: SecretsBundle,
    patch: NewPatch | undefined,
  ) => Promise<Rendered>
}

export function rendering(
  { clock, config, servers, patches }: Pick<CoreParts, 'clock' | 'config' | 'servers' | 'patches'>,
  secrets: ClusterSecrets,
): Rendering {
  const base = (blueprint: Blueprint, server: BlueprintServer, bundle: SecretsBundle): { yaml: string; context: RenderContext } => {
    const host = endpointHost(blueprint.endpoint)
    return {
      yaml: generateConfig({
        role: server.role,
        clusterName: blueprint.name,
        endpoint: blueprint.endpoint,
        talosVersion: blueprint.talos_version,
        kubernetesVersion: blueprint.kubernetes_version,
        secrets: bundle,
        podCidr: blueprint.pod_cidr,
        serviceCidr: blueprint.service_cidr,
        installDisk: server.install_disk,
        installImage: server.install_image,
      }),
      context: {
        role: server.role,
        talosVersion: blueprint.talos_version,
        installDisk: server.install_disk,
        installWwid: server.install_wwid,
        installImage: server.install_image,
        endpointHost: host,
        controlPlaneAddresses: blueprint.controlPlaneAddresses,
        virtualIp: blueprint.virtual_ip ? host : null,
        vlanId: blueprint.vlan_id,
        workloadInterface: server.interface,
        images: server.images,
      },
    }
  }

  const blueprintOf = async (on: Db | Tx, { row, members }: State): Promise<Blueprint> => {
    const controlPlanes = members.filter((m) => m.role === 'control_plane' && m.wanted === 'joined')
    const facts = await servers.forPlan(
      on,
      controlPlanes.map((m) => m.node_id),
    )
    return { ...row, controlPlaneAddresses: facts.map((f) => f.address) }
  }

  const generated: Rendering['generated'] = async (on, clusterId, nodeId) => {
    const state = await load(on, clusterId)
    const server = state?.members.find((m) => m.node_id === nodeId && m.released_at === null)
    const bundle = await secrets.bundle(on, clusterId)
    if (!state || !server || !bundle) return null
    const made = base(await blueprintOf(on, state), server, bundle)
    const adopted = await outsideStore.base(on, clusterId, nodeId)
    return adopted ? { yaml: await secrets.openBase(on, clusterId, adopted.sealed), context: { ...made.context, isAdopted: true } } : made
  }

  /** Throws if the patches don't give a valid configuration, which means that they have changed since the creation checked them. */
  const rendered = async (on: Db | Tx, clusterId: string, nodeId: string): Promise<string | null> => {
    const from = await generated(on, clusterId, nodeId)
    if (!from) return null
    return (await patches.render(on, nodeId, from.yaml, from.context)).yaml
  }

  const keep = async (tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void> => {
    const sealed = await secrets.sealConfig(tx, clusterId, yaml)
    const hash = createHash('sha256').update(yaml).digest('hex')
    await store.putConfig(tx, { cluster_id: clusterId, node_id: nodeId, sealed, hash, created_at: new Date(clock.now()) })
  }

  return {
    generated,
    renderOnce: (job, { row }, nodeId) =>
      job.effect(`config/${nodeId}`, () =>
        job.fence.write(async (tx) => {
          await store.hold(tx, row.id)
          if (await store.newestConfig(tx, row.id, nodeId)) return
          const yaml = await rendered(tx, row.id, nodeId)
          if (yaml !== null) await keep(tx, row.id, nodeId, yaml)
        }),
      ),
    async renderAgain(tx, clusterId, nodeId) {
      if (!(await store.newestConfig(tx, clusterId, nodeId))) return null
      const yaml = await rendered(tx, clusterId, nodeId)
      if (yaml === null) return null
      await keep(tx, clusterId, nodeId, yaml)
      return { yaml }
    },
    preview(on, name, resolved, server, bundle, patch) {
      const controlPlaneAddresses = resolved.servers.filter((s) => s.role === 'control_plane').map((s) => s.candidate.address)
      const placed = {
        ...server,
        install_wwid: selectorWwid(server.candidate.disks, server.install_disk),
        install_image: installImage(server.candidate, resolved.talos_version, config),
      }
      const { yaml, context } = base({ ...resolved, name, controlPlaneAddresses }, placed, bundle)
      return patches.render(on, server.node_id, yaml, context, patch ? [patch] : [])
    },
  }
}
