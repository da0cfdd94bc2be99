/**
 * `cluster` of the v1alpha1 document (Talos
 * `pkg/machinery/config/types/v1alpha1/v1alpha1_types.go`).
 */
import { acceptedAuthorities, environment, keyPair } from './machine.ts'
import * as t from './shape.ts'

const volumes = t.list(
  t.object({ hostPath: t.always(t.text()), mountPath: t.always(t.text()), readonly: t.flag() }),
  'Paths of the server that it sees',
)
export const resources = t.object({ requests: t.free(), limits: t.free() }, 'CPU and memory')

const apiServer = t.object(
  {
    image: t.text('Image; its tag is the Kubernetes version'),
    extraArgs: t.argumentsOf('Further arguments'),
    extraVolumes: volumes,
    env: environment(),
    certSANs: t.texts('Further names and addresses of the Kubernetes API'),
    disablePodSecurityPolicy: t.flag('Without effect since Talos 1.12'),
    admissionControl: {
      ...t.list(
        t.object({ name: t.always(t.text()), configuration: t.always(t.free()) }),
        'Admission plugins',
      ),
      merge: { by: ['name'] },
    },
    auditPolicy: {
      ...t.free('What the audit log keeps; a patch replaces it as a whole'),
      replace: true,
    },
    resources,
    authorizationConfig: t.list(
      t.object({ type: t.always(t.text()), name: t.always(t.text()), webhook: t.free() }),
    ),
  },
  'Kubernetes API server',
)

const network = t.object(
  {
    cni: t.object(
      {
        name: t.plainChoice(
          ['flannel', 'custom', 'none'],
          'flannel is Talos’s own; none leaves the choice to you',
        ),
        urls: t.texts('Manifests, where it is custom'),
        flannel: t.object({
          extraArgs: t.texts(),
          kubeNetworkPoliciesEnabled: t.addedIn('1.13', t.flag()),
        }),
      },
      'Network of the pods',
    ),
    dnsDomain: t.always(t.text('Domain of services: cluster.local')),
    podSubnets: t.always({
      ...t.texts('Network of the pods; a patch replaces it'),
      merge: 'replace' as const,
    }),
    serviceSubnets: t.always({
      ...t.texts('Network of the services; a patch replaces it'),
      merge: 'replace' as const,
    }),
  },
  'Networks inside the cluster',
)

const discovery = t.object(
  {
    enabled: t.flag(),
    registries: t.always(
      t.inPlace(
        t.object({
          kubernetes: t.always(t.inPlace(t.object({ disabled: t.flag() }))),
          service: t.always(t.inPlace(t.object({ disabled: t.flag(), endpoint: t.text() }))),
        }),
      ),
    ),
  },
  'How servers of the cluster find each other',
)

export const cluster = t.object(
  {
    id: t.text('Names the cluster to the discovery service; never changes'),
    secret: t.secret('Seals what the discovery service is told'),
    controlPlane: t.object(
      {
        endpoint: t.always(t.text('URL of the Kubernetes API')),
        localAPIServerPort: t.integer(),
      },
      'Where the Kubernetes API is',
    ),
    clusterName: t.text(),
    network,
    token: t.secret('Lets a server join Kubernetes'),
    aescbcEncryptionSecret: t.secret(),
    secretboxEncryptionSecret: t.secret('Seals Kubernetes Secrets in etcd'),
    ca: t.about(keyPair, 'Authority of Kubernetes; its key is on control planes only'),
    acceptedCAs: acceptedAuthorities,
    aggregatorCA: keyPair,
    serviceAccount: t.object({ key: t.always(t.key('Signs the tokens of service accounts')) }),
    apiServer,
    controllerManager: t.object({
      image: t.text(),
      extraArgs: t.argumentsOf(),
      extraVolumes: volumes,
      env: environment(),
      resources,
    }),
    proxy: t.object({
      disabled: t.flag('For networks that do without kube-proxy'),
      image: t.text(),
      mode: t.text(),
      extraArgs: t.argumentsOf(),
    }),
    scheduler: t.object({
      image: t.text(),
      extraArgs: t.argumentsOf(),
      extraVolumes: volumes,
      env: environment(),
      resources,
      config: t.free(),
    }),
    discovery,
    etcd: t.object(
      {
        image: t.text(),
        ca: t.always(keyPair),
        extraArgs: t.argumentsOf(),
        subnet: t.text(),
        advertisedSubnets: t.texts('Networks that etcd’s address is chosen from'),
        listenSubnets: t.texts(),
      },
      'etcd; control planes only',
    ),
    coreDNS: t.object({ disabled: t.flag(), image: t.text() }),
    externalCloudProvider: t.object({ enabled: t.flag(), manifests: t.texts() }),
    extraManifests: {
      ...t.texts('URLs of manifests that are applied when the cluster is made'),
      keepEmpty: true,
    },
    extraManifestHeaders: t.sensitive(t.map(t.text())),
    inlineManifests: {
      ...t.list(
        t.object({
          name: t.always(t.text()),
          contents: t.always(t.sensitive({ ...t.text(), trimmed: true }, 'manifest')),
        }),
        'Manifests that are applied when the cluster is made',
      ),
      keepEmpty: true,
    },
    adminKubeconfig: t.object({ certLifetime: t.duration() }),
    allowSchedulingOnMasters: t.flag(),
    allowSchedulingOnControlPlanes: t.flag('Let ordinary pods run on control planes'),
  },
  'What concerns the whole cluster',
)
