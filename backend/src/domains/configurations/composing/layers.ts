/**
 * The layers of a server's configuration, first to last: the generated one for its role,
 * Steelyard's settings for this machine (`static-system`), settings that keep the machine reachable
 * if it gets a VLAN (`default-node`), and the users' patches. Later layers win.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import { systemLayers } from '#contract/patches.ts'
import { defaultInstallDisk } from '#contract/disks/choice.ts'
import { generateConfig } from '#talos/config/generate.ts'
import { factsOfImages } from '#talos/facts/images.ts'
import { documents, type Homes, patchOf, patchText } from '#talos/facts/patch.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { images, lastInMain, supportedPairs } from '#talos/versions.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Blueprint } from '../api.ts'

/** What a server's layers depend on, in addition to the server itself. */
export type RenderContext = Pick<
  Blueprint,
  | 'role'
  | 'talosVersion'
  | 'isMoved'
  | 'installDisk'
  | 'installWwid'
  | 'installImage'
  | 'endpoint'
  | 'endpointHost'
  | 'otherHosts'
  | 'formerIssuers'
  | 'controlPlaneAddresses'
  | 'virtualIps'
  | 'vlanId'
  | 'workloadInterface'
  | 'images'
> & {
  /** The documents in which the base tells its facts. */
  readonly homes: Homes
  /**
   * The base was adopted from the machine and already has the settings that Steelyard would add.
   */
  readonly isAdopted?: boolean | undefined
  /**
   * For a server without a cluster, which has no role yet: the base that it would have as a control
   * plane. Its patches must be possible with this base or with the other one.
   */
  readonly controlPlaneBase?: string | undefined
  /** Of the cluster: `1.36.3`; unknown for a server without one. */
  readonly kubernetesVersion?: string | undefined
  /**
   * Of a worker: the configuration of a control plane of its cluster, which decides what workers
   * don't say; unknown for a server without a cluster.
   */
  readonly controlPlane?: string | undefined
}

export interface Layer {
  /** Id of a patch, or the name of a layer that Steelyard writes. */
  readonly id: string
  readonly name: string
  readonly weight: number
  /** YAML; empty if the layer changes nothing. */
  readonly body: string
}

type Facts = Pick<ServerFacts, 'name' | 'address' | 'link' | 'links'>

const unique = (values: readonly string[]): string[] => [...new Set(values)]

/** Host name, install disk and image, names in the certificates, the virtual address. */
export function staticSystem(server: Facts, context: RenderContext): Layer {
  const isControlPlane = context.role === 'control_plane'
  const layer = {
    id: 'static-system',
    name: 'static-system',
    weight: systemLayers['static-system'],
  }
  if (context.isAdopted)
    return {
      ...layer,
      body: context.images ? patchText(patchOf(context.homes, factsOfImages(context.images))) : '',
    }
  // Talos adds a machine's own addresses to its certificate, but not the endpoint or a translated
  // address.
  const names = unique(
    isControlPlane
      ? [
          context.endpointHost,
          ...(context.otherHosts ?? []),
          ...context.controlPlaneAddresses,
          server.address,
        ]
      : [server.address],
  )
  const added: object[] = [
    ...patchOf(context.homes, {
      installDisk: { device: context.installDisk, wwid: context.installWwid || null },
      installImage: context.installImage,
      talosNames: names,
      ...(isControlPlane && { apiServerNames: names }),
      ...factsOfImages(context.images ?? {}),
    }),
    documents.hostName(server.name),
  ]
  const formers = context.formerIssuers?.filter((one) => one !== context.endpoint) ?? []
  const hasIssuer = context.isMoved === true || context.homes.includes('KubeClusterConfig')
  if (isControlPlane && hasIssuer && formers.length > 0)
    added.push(documents.acceptedIssuers(context.endpoint, formers))
  if (isControlPlane && server.link)
    for (const address of context.virtualIps ?? [])
      added.push(documents.virtualAddress(address, server.link))
  return { ...layer, body: patchText(added) }
}

/**
 * The VLAN link of the workload, without an address. DHCP is configured explicitly on each link
 * that has an address now, because Talos stops its default DHCP on all links if there is a link or
 * DHCP document (`RunDefaultDHCPOperators` in Talos `pkg/machinery/config/container`).
 */
export function defaultNode(
  server: Facts,
  {
    vlanId,
    workloadInterface,
    isAdopted,
  }: Pick<RenderContext, 'vlanId' | 'workloadInterface' | 'isAdopted'>,
): Layer {
  const layer = { id: 'default-node', name: 'default-node', weight: systemLayers['default-node'] }
  const parent = workloadInterface ?? server.link
  if (!vlanId || !parent || isAdopted) return { ...layer, body: '' }
  const addressed = server.links.filter(
    (l) => l.physical && (l.addresses.length > 0 || l.name === server.link),
  )
  const added: object[] = [
    // A link's name has at most 15 characters in Linux, so it can't contain the parent's name and
    // the number.
    documents.vlan(`vlan${vlanId}`, vlanId, parent),
    ...addressed.map((l) => documents.dhcp(l.name)),
  ]
  if (!addressed.some((l) => l.name === parent)) added.push(documents.linkUp(parent))
  return { ...layer, body: patchText(added) }
}

/**
 * Order of patches: by weight, then shared ones, then by age and id. Unstored patches come last within their weight.
 */
export const inOrder = <
  T extends { weight: number; created_at: Date | null; id: string; isShared?: true },
>(
  patches: readonly T[],
): T[] =>
  patches.toSorted(
    (a, b) =>
      a.weight - b.weight ||
      Number(b.isShared === true) - Number(a.isShared === true) ||
      (a.created_at?.getTime() ?? Infinity) - (b.created_at?.getTime() ?? Infinity) ||
      (a.id < b.id ? -1 : 1),
  )

const whenItJoins = '<set when it joins>'

/**
 * Marker for values that are unknown before joining. It doesn't occur in a patch by chance, and is
 * replaced by the placeholder before anything is shown.
 */
const mark = 'set-when-it-joins.steelyard.invalid'
const encodedMark = Buffer.from(mark).toString('base64')

const pair = { crt: mark, key: mark }
const secrets: SecretsBundle = {
  cluster: { id: mark, secret: mark },
  secrets: { bootstrapToken: mark, secretboxEncryptionSecret: mark },
  trustdInfo: { token: mark },
  certs: { os: pair, etcd: pair, k8s: pair, k8sAggregator: pair, k8sServiceAccount: { key: mark } },
}

/**
 * The base on which patches of a server without a cluster are shown: a worker of the newest
 * supported version pair, with placeholders for what a cluster would fill in. It is never sent to a
 * machine. Which form the cluster will have is unknown, so patches of both are possible: the base is
 * moved to documents as soon as a patch has one.
 * @param imageFactory host of the image factory, as in a cluster's install images
 */
export function freeBase(
  server: ServerFacts,
  imageFactory: string,
): { yaml: string; context: Omit<RenderContext, 'homes'> } {
  const { talos, kubernetes } = supportedPairs[0]!
  const installDisk = server.system_disk ?? defaultInstallDisk(server.disks)?.device ?? '/dev/sda'
  const installImage = images.factoryInstaller(server.schematic ?? emptySchematicId, talos, {
    secureBoot: server.secure_boot,
    factory: imageFactory,
  })
  const generated = (role: ClusterRole) =>
    generateConfig({
      role,
      clusterName: mark,
      endpoint: `https://${mark}:6443`,
      talosVersion: lastInMain,
      kubernetesVersion: kubernetes,
      secrets,
      installDisk,
      installImage,
    })
  return {
    yaml: generated('worker'),
    context: {
      controlPlaneBase: generated('control_plane'),
      role: 'worker',
      talosVersion: talos,
      isMoved: 'as_needed',
      installDisk,
      installImage,
      endpoint: `https://${mark}:6443`,
      endpointHost: mark,
      controlPlaneAddresses: [],
    },
  }
}

/** The text with readable placeholders. Line numbers don't change. */
export const withPlaceholders = (yaml: string): string =>
  yaml.replaceAll(encodedMark, whenItJoins).replaceAll(mark, whenItJoins)
