/**
 * Machine configurations as `talosctl gen config` makes them for the minors of `versions.ts`: the
 * same input gives the same bytes (Talos `pkg/machinery/config/generate`). Comments and examples
 * are left out, as with `--with-docs=false --with-examples=false`.
 */
import { encodePair, encodePem, type KeyPair } from '../pki/keys.ts'
import type { SecretsBundle } from '../secrets/bundle.ts'
import { has, images, modelledMinor } from '../versions.ts'
import { emit } from './emit.ts'
import { auditPolicy, documentsBesideMain, podSecurity } from './generate-documents.ts'
import { type MapNode, treeOf } from './tree.ts'

export interface GenerateInput {
  role: 'control_plane' | 'worker'
  clusterName: string
  /** URL with port: `https://10.0.0.10:6443`. */
  endpoint: string
  talosVersion: string
  /** With or without the `v`. */
  kubernetesVersion: string
  secrets: SecretsBundle
  podCidr?: string | undefined
  serviceCidr?: string | undefined
  dnsDomain?: string | undefined
  /** Device path; omitted if a patch sets it. */
  installDisk?: string | undefined
  installImage?: string | undefined
  /** Additional names in the certificates of the machine's own API and of the Kubernetes API. */
  additionalSans?: readonly string[] | undefined
  allowSchedulingOnControlPlanes?: boolean | undefined
}

/** Name of the generated layer in a merge's sources. */
export const generatedLayer = 'generated'

/** The whole configuration, as YAML. Throws an Error for a Talos version that isn't modelled. */
export function generateConfig(input: GenerateInput): string {
  return emit(documentsOf(input), input.talosVersion).yaml
}

function documentsOf(input: GenerateInput): MapNode[] {
  if (modelledMinor(input.talosVersion) === undefined)
    throw new Error(`No configuration is generated for Talos ${input.talosVersion}`)
  const isApart = has(input.talosVersion, 'kubernetesDocuments')
  const config = {
    version: 'v1alpha1',
    debug: false,
    persist: true,
    machine: isApart ? machineAlone(input) : machineSection(input),
    cluster: isApart ? clusterAlone(input) : clusterSection(input),
  }
  const besides = isApart
    ? documentsBesideMain(input)
    : [{ apiVersion: 'v1alpha1', kind: 'HostnameConfig', auto: 'stable' }]
  return [config, ...besides].map((d) => treeOf(d, generatedLayer) as MapNode)
}

/** Role, token, authority and names of the machine's own API. */
function identityOf({ role, secrets, additionalSans }: GenerateInput) {
  const isControlPlane = role === 'control_plane'
  return {
    type: isControlPlane ? 'controlplane' : 'worker',
    token: secrets.trustdInfo.token,
    ca: isControlPlane ? encodePair(secrets.certs.os) : publicPart(secrets.certs.os),
    certSANs: [...(additionalSans ?? [])],
  }
}

/** What is left of `machine` when Kubernetes has documents of its own. */
function machineAlone(input: GenerateInput) {
  return { ...identityOf(input), features: { diskQuotaSupport: true } }
}

/** What is left of `cluster` when Kubernetes has documents of its own. */
function clusterAlone({ role, secrets }: GenerateInput) {
  const token = secrets.secrets.bootstrapToken
  return role === 'worker' ? { token } : { token, etcd: { ca: encodePair(secrets.certs.etcd) } }
}

function machineSection(input: GenerateInput) {
  const controlPlane = input.role === 'control_plane'
  return {
    ...identityOf(input),
    kubelet: {
      image: images.kubelet(input.kubernetesVersion),
      defaultRuntimeSeccompProfileEnabled: true,
      disableManifestsDirectory: true,
    },
    network: has(input.talosVersion, 'noEmptyNetwork') ? undefined : {},
    install: {
      disk: input.installDisk || undefined,
      image: input.installImage || undefined,
      wipe: false,
      grubUseUKICmdline: true,
    },
    features: {
      diskQuotaSupport: true,
      kubePrism: { enabled: true, port: 7445 },
      hostDNS: { enabled: true, forwardKubeDNSToHost: true },
    },
    nodeLabels: controlPlane
      ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
      : undefined,
  }
}

function clusterSection(input: GenerateInput) {
  const { secrets, kubernetesVersion } = input
  const { certs } = secrets
  const discovery = { enabled: true, registries: { kubernetes: { disabled: true }, service: {} } }
  const head = {
    id: secrets.cluster.id,
    secret: secrets.cluster.secret,
    controlPlane: { endpoint: input.endpoint },
    clusterName: input.clusterName,
  }
  const network = {
    dnsDomain: input.dnsDomain ?? 'cluster.local',
    podSubnets: [input.podCidr ?? '10.244.0.0/16'],
    serviceSubnets: [input.serviceCidr ?? '10.96.0.0/12'],
  }
  const token = secrets.secrets.bootstrapToken
  // A worker gets only the keys to join: a stolen worker must not give control of the cluster.
  if (input.role === 'worker')
    return { ...head, network, token, ca: publicPart(certs.k8s), discovery }
  return {
    ...head,
    network,
    token,
    aescbcEncryptionSecret: secrets.secrets.aescbcEncryptionSecret,
    secretboxEncryptionSecret: secrets.secrets.secretboxEncryptionSecret,
    ca: encodePair(certs.k8s),
    aggregatorCA: encodePair(certs.k8sAggregator),
    serviceAccount: { key: encodePem(certs.k8sServiceAccount.key) },
    apiServer: {
      image: images.apiServer(kubernetesVersion),
      certSANs:
        input.additionalSans === undefined || input.additionalSans.length === 0
          ? undefined
          : [...input.additionalSans],
      admissionControl: [podSecurity],
      auditPolicy,
    },
    controllerManager: { image: images.controllerManager(kubernetesVersion) },
    proxy: { image: images.proxy(kubernetesVersion) },
    scheduler: { image: images.scheduler(kubernetesVersion) },
    discovery,
    etcd: { ca: encodePair(certs.etcd) },
    allowSchedulingOnControlPlanes:
      input.allowSchedulingOnControlPlanes === true ? true : undefined,
  }
}

function publicPart({ crt }: KeyPair) {
  return { crt: encodePem(crt), key: '' }
}
