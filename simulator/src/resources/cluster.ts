import { createHash } from 'node:crypto'
import {
  IdentitySpecSchema,
  InfoSpecSchema,
  MemberSpecSchema,
} from '#talos/proto/gen/definitions/cluster_pb.ts'
import {
  MemberSpecSchema as EtcdMemberSpecSchema,
  SpecSpecSchema as EtcdSpecSpecSchema,
} from '#talos/proto/gen/definitions/etcd_pb.ts'
import {
  APIServerConfigSpecSchema,
  BootstrapManifestsConfigSpecSchema,
  ConfigStatusSpecSchema,
  ControllerManagerConfigSpecSchema,
  KubeletSpecSpecSchema,
  ManifestSpecSchema,
  ManifestStatusSpecSchema,
  NodeStatusSpecSchema,
  NodenameSpecSchema,
  SchedulerConfigSpecSchema,
  SecretsStatusSpecSchema,
  StaticPodStatusSpecSchema,
} from '#talos/proto/gen/definitions/k8s_pb.ts'
import type { JsonObject } from '@bufbuild/protobuf'
import { MachineType } from '#talos/proto/gen/definitions/enums_pb.ts'
import { discoveredBy } from '../cluster/endpoints.ts'
import type { Pair, StaticPodName } from '../config/node-config.ts'
import { hasFeature } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import { etcdImageOf } from '../machine/images.ts'
import { waitingOf } from '../machine/kubelet/pod-status.ts'
import { wantedBy } from '../machine/kubelet/static-pods.ts'
import { bootstrapSettings, manifestsOf } from '../kubernetes/manifests.ts'
import { kubernetesOf } from '../kubernetes/joining.ts'
import { isCordoned, nodeLabels } from '../kubernetes/nodes.ts'
import { ipBytes, item, kind, type Item, type Kind } from './resource.ts'
import {
  KubernetesRootSpecSchema,
  OSRootSpecSchema,
} from '#talos/proto/gen/definitions/secrets_pb.ts'

const nodeId = (machine: Machine): string =>
  createHash('sha256').update(`node/${machine.disk.identity.uuid}`).digest('base64url')

/** Members from discovery. */
const members = (machine: Machine): Item[] =>
  discoveredBy(machine).map((other) => {
    const isControlPlane = other.config?.node?.role === 'controlplane'
    const operatingSystem = `Talos (${other.talosVersion})`
    return item(
      other.hostname,
      MemberSpecSchema,
      {
        nodeId: nodeId(other),
        addresses: [{ ip: ipBytes(other.plan.address) }],
        hostname: other.hostname,
        machineType: isControlPlane ? MachineType.TYPE_CONTROL_PLANE : MachineType.TYPE_WORKER,
        operatingSystem,
        ...(isControlPlane && { controlPlane: { apiServerPort: 6443n } }),
      },
      {
        machineType: isControlPlane ? 'controlplane' : 'worker',
        ...(isControlPlane && { controlPlane: { port: 6443 } }),
      },
    )
  })

const staticPods = (machine: Machine): Item[] =>
  [...machine.staticPods.values()].map((pod) => {
    const { name, image, ready } = pod
    const phase = pod.isPullFailing ? 'Pending' : 'Running'
    const state = ready
      ? { running: { startedAt: new Date(pod.startedAt).toISOString() } }
      : { waiting: waitingOf(pod) }
    const podStatus = {
      phase,
      hostIP: machine.plan.address,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      containerStatuses: [{ name, image, ready, state }],
    }
    return item(`kube-system/${name}-${machine.hostname}`, StaticPodStatusSpecSchema, { podStatus })
  })

const isControlPlane = ({ config }: Machine): boolean => config?.node?.role === 'controlplane'

/**
 * Manifests that Talos installs into a new cluster. `talosctl health` reads their settings to find
 * out whether the cluster uses its own network plugin.
 */
const bootstrapManifests = (machine: Machine): Item[] =>
  isControlPlane(machine)
    ? [item('manifests', BootstrapManifestsConfigSpecSchema, bootstrapSettings(machine))]
    : []

const manifests = (machine: Machine): Item[] =>
  isControlPlane(machine)
    ? manifestsOf(machine).map(({ name, objects }) =>
        item(
          name,
          ManifestSpecSchema,
          { items: objects.map((body) => ({ object: body as JsonObject })) },
          () => objects,
        ),
      )
    : []

const manifestStatus = (machine: Machine): Item[] =>
  isControlPlane(machine) && machine.apiServerUp
    ? [
        item('manifests', ManifestStatusSpecSchema, {
          manifestsApplied: manifestsOf(machine).map(({ name }) => name),
        }),
      ]
    : []

/** The settings of one static pod, and since Talos 1.14 also its final arguments. */
const staticPodConfig =
  (
    name: StaticPodName,
    schema:
      | typeof APIServerConfigSpecSchema
      | typeof ControllerManagerConfigSpecSchema
      | typeof SchedulerConfigSpecSchema,
  ) =>
  (machine: Machine): Item[] => {
    const { config } = machine
    if (config?.node?.role !== 'controlplane') return []
    const { image } = config.node.cluster.staticPods[name]
    const settings = name === 'kube-apiserver' ? { image } : { enabled: true, image }
    const { version } = wantedBy(machine, name).config
    const ids = hasFeature(machine.talosMinor, 'finalPodConfigs') ? [name, `final-${name}`] : [name]
    return ids.map((id) => ({ ...item(id, schema, settings), version }))
  }

/** The secrets or the files of all static pods. Their version has the type of a text. */
const staticPodStatus =
  (
    what: 'secrets' | 'config-file',
    schema: typeof SecretsStatusSpecSchema | typeof ConfigStatusSpecSchema,
  ) =>
  (machine: Machine): Item[] => {
    if (!isControlPlane(machine)) return []
    const version = String(wantedBy(machine, 'kube-apiserver')[what].version)
    return [item('static-pods', schema, { ready: true, version })]
  }

const nodeStatus = (machine: Machine): Item[] => {
  const cluster = kubernetesOf(machine)
  if (!cluster || !machine.nodeReady) return []
  return [
    item(machine.hostname, NodeStatusSpecSchema, {
      nodename: machine.hostname,
      nodeReady: machine.nodeReady,
      unschedulable: isCordoned(cluster, machine),
      labels: nodeLabels(machine),
    }),
  ]
}

export const CLUSTER: Kind[] = [
  kind('Members.cluster.talos.dev', members),
  kind('Identities.cluster.talos.dev', (machine) => [
    item('local', IdentitySpecSchema, { nodeId: nodeId(machine) }),
  ]),
  kind('Infos.cluster.talos.dev', (machine) => {
    const cluster = machine.config?.node?.cluster
    return cluster
      ? [item('current', InfoSpecSchema, { clusterId: cluster.id, clusterName: cluster.name })]
      : []
  }),
  kind('NodeStatuses.kubernetes.talos.dev', nodeStatus),
  kind('Nodenames.kubernetes.talos.dev', (machine) =>
    machine.config?.node
      ? [
          item('nodename', NodenameSpecSchema, {
            nodename: machine.hostname,
            hostnameVersion: '1',
            skipNodeRegistration: false,
          }),
        ]
      : [],
  ),
  kind('KubeletSpecs.kubernetes.talos.dev', ({ config, hostname }) =>
    config?.node
      ? [
          item('kubelet', KubeletSpecSpecSchema, {
            image: config.node.kubeletImage,
            expectedNodename: hostname,
          }),
        ]
      : [],
  ),
  kind(
    'APIServerConfigs.kubernetes.talos.dev',
    staticPodConfig('kube-apiserver', APIServerConfigSpecSchema),
  ),
  kind(
    'ControllerManagerConfigs.kubernetes.talos.dev',
    staticPodConfig('kube-controller-manager', ControllerManagerConfigSpecSchema),
  ),
  kind(
    'SchedulerConfigs.kubernetes.talos.dev',
    staticPodConfig('kube-scheduler', SchedulerConfigSpecSchema),
  ),
  kind('SecretStatuses.kubernetes.talos.dev', staticPodStatus('secrets', SecretsStatusSpecSchema)),
  kind(
    'ConfigStatuses.kubernetes.talos.dev',
    staticPodStatus('config-file', ConfigStatusSpecSchema),
  ),
  kind('BootstrapManifestsConfigs.kubernetes.talos.dev', bootstrapManifests),
  kind('Manifests.kubernetes.talos.dev', manifests),
  kind('ManifestStatuses.kubernetes.talos.dev', manifestStatus),
  kind('StaticPodStatuses.kubernetes.talos.dev', staticPods),
  kind('EtcdSpecs.etcd.talos.dev', (machine) =>
    isControlPlane(machine)
      ? [item('etcd', EtcdSpecSpecSchema, { name: machine.hostname, image: etcdImageOf(machine) })]
      : [],
  ),
  kind('EtcdMembers.etcd.talos.dev', (machine) => {
    const memberId = machine.disk.state.etcd?.member
    return memberId && machine.services.isRunning('etcd')
      ? [item('local', EtcdMemberSpecSchema, { memberId })]
      : []
  }),
]

const bytes = (pem: string | null): Uint8Array => Buffer.from(pem ?? '')
const pair = (from: Pair | null) => ({
  crt: bytes(from?.crt ?? null),
  key: bytes(from?.key ?? null),
})
const accepted = (pems: readonly string[]) => pems.map((pem) => ({ crt: bytes(pem) }))

/**
 * Talos's authority from the machine's configuration. Only control planes have the authority's key
 * (Talos: controllers/secrets/root.go).
 */
const talosRoot = ({ config, plan, hostname }: Machine): Item[] => {
  const node = config?.node
  if (!node) return []
  const names = [hostname, ...node.certSans]
  return [
    item('os', OSRootSpecSchema, {
      issuingCa: pair(node.talosCa),
      certSaniPs: [{ ip: ipBytes(plan.address) }],
      certSandnsNames: names,
      token: node.token,
      acceptedCAs: accepted(node.acceptedCas),
    }),
  ]
}

const kubernetesRoot = ({ config }: Machine): Item[] => {
  const node = config?.node
  if (node?.role !== 'controlplane') return []
  const {
    name,
    endpoint,
    apiServerPort,
    apiServerSans,
    ca,
    acceptedCas,
    aggregatorCa,
    serviceAccountKey,
    token,
  } = node.cluster
  const localEndpoint = `https://localhost:${apiServerPort}`
  const [tokenId = '', tokenSecret = ''] = token.split('.')
  return [
    item('k8s', KubernetesRootSpecSchema, {
      name,
      endpoint: { fullPath: endpoint },
      localEndpoint: { fullPath: localEndpoint },
      certSaNs: apiServerSans,
      dnsDomain: 'cluster.local',
      issuingCa: pair(ca),
      serviceAccount: { key: bytes(serviceAccountKey) },
      aggregatorCa: pair(aggregatorCa),
      bootstrapTokenId: tokenId,
      bootstrapTokenSecret: tokenSecret,
      acceptedCAs: accepted(acceptedCas),
    }),
  ]
}

export const SECRETS: Kind[] = [
  kind('OSRootSecrets.secrets.talos.dev', talosRoot),
  kind('KubernetesRootSecrets.secrets.talos.dev', kubernetesRoot),
]
