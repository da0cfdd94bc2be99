/**
 * The configuration on which patches of a server without a cluster are shown: a worker of the newest supported pair, with placeholders for what a cluster
 * would fill in. It is never sent anywhere.
 */
import { defaultInstallDisk } from '#contract/servers/disks.ts'
import { generateConfig } from '#talos/config/generate.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import { images, supportedPairs } from '#talos/versions.ts'
import type { ServerFacts } from '../servers/present.ts'
import type { RenderContext } from './layers.ts'

const whenItJoins = '<set when it joins>'

/** Long enough to be in no patch by chance; exchanged for the placeholder before anything is shown. */
const mark = 'set-when-it-joins.steelyard.invalid'
const encodedMark = Buffer.from(mark).toString('base64')

const pair = { crt: mark, key: mark }
const secrets: SecretsBundle = {
  cluster: { id: mark, secret: mark },
  secrets: { bootstrapToken: mark, secretboxEncryptionSecret: mark },
  trustdInfo: { token: mark },
  certs: { os: pair, etcd: pair, k8s: pair, k8sAggregator: pair, k8sServiceAccount: { key: mark } },
}

/** The default install disk. */
const defaultDisk = (server: ServerFacts): string => server.system_disk ?? defaultInstallDisk(server.disks)?.device ?? '/dev/sda'

/** @param imageFactory host of the image factory, as in a cluster's install images */
export function freeBase(server: ServerFacts, imageFactory: string): { yaml: string; context: RenderContext } {
  const { talos, kubernetes } = supportedPairs[0]!
  const installDisk = defaultDisk(server)
  const installImage = images.factoryInstaller(server.schematic ?? emptySchematicId, talos, { secureBoot: server.secure_boot, factory: imageFactory })
  const yaml = generateConfig({
    role: 'worker',
    clusterName: mark,
    endpoint: `https://${mark}:6443`,
    talosVersion: talos,
    kubernetesVersion: kubernetes,
    secrets,
    installDisk,
    installImage,
  })
  return { yaml, context: { role: 'worker', talosVersion: talos, installDisk, installImage, endpointHost: mark, controlPlaneAddresses: [] } }
}

/** The text with placeholders for people. Lines stay where they are. */
export const withPlaceholders = (yaml: string): string => yaml.replaceAll(encodedMark, whenItJoins).replaceAll(mark, whenItJoins)
