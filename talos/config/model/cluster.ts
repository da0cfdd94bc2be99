/** `cluster` of the v1alpha1 document (Talos `pkg/machinery/config/types/v1alpha1/v1alpha1_types.go`). */
import { acceptedAuthorities, environment, keyPair } from './machine.ts'
import {
  about,
  always,
  argumentsOf,
  duration,
  flag,
  free,
  inPlace,
  integer,
  key,
  list,
  map,
  object,
  plainChoice,
  secret,
  sensitive,
  addedIn,
  text,
  texts,
} from './shape.ts'

const volumes = list(object({ hostPath: always(text()), mountPath: always(text()), readonly: flag() }), 'Paths of the server that it sees')
const resources = object({ requests: free(), limits: free() }, 'CPU and memory')

const apiServer = object(
  {
    image: text('Image; its tag is the Kubernetes version'),
    extraArgs: argumentsOf('Further arguments'),
    extraVolumes: volumes,
    env: environment(),
    certSANs: texts('Further names and addresses of the Kubernetes API'),
    disablePodSecurityPolicy: flag('Without effect since Talos 1.12'),
    admissionControl: { ...list(object({ name: always(text()), configuration: always(free()) }), 'Admission plugins'), merge: { by: ['name'] } },
    auditPolicy: { ...free('What the audit log keeps; a patch replaces it as a whole'), replace: true },
    resources,
    authorizationConfig: list(object({ type: always(text()), name: always(text()), webhook: free() })),
  },
  'Kubernetes API server',
)

const network = object(
  {
    cni: object(
      {
        name: plainChoice(['flannel', 'custom', 'none'], 'flannel is Talos’s own; none leaves the choice to you'),
        urls: texts('Manifests, where it is custom'),
        flannel: object({ extraArgs: texts(), kubeNetworkPoliciesEnabled: addedIn('1.13', flag()) }),
      },
      'Network of the pods',
    ),
    dnsDomain: always(text('Domain of services: cluster.local')),
    podSubnets: always({ ...texts('Network of the pods; a patch replaces it'), merge: 'replace' as const }),
    serviceSubnets: always({ ...texts('Network of the services; a patch replaces it'), merge: 'replace' as const }),
  },
  'Networks inside the cluster',
)

const discovery = object(
  {
    enabled: flag(),
    registries: always(
      inPlace(
        object({
          kubernetes: always(inPlace(object({ disabled: flag() }))),
          service: always(inPlace(object({ disabled: flag(), endpoint: text() }))),
        }),
      ),
    ),
  },
  'How servers of the cluster find each other',
)

export const cluster = object(
  {
    id: text('Names the cluster to the discovery service; never changes'),
    secret: secret('Seals what the discovery service is told'),
    controlPlane: always(object({ endpoint: always(text('URL of the Kubernetes API')), localAPIServerPort: integer() }, 'Where the Kubernetes API is')),
    clusterName: text(),
    network,
    token: secret('Lets a server join Kubernetes'),
    aescbcEncryptionSecret: secret(),
    secretboxEncryptionSecret: secret('Seals Kubernetes Secrets in etcd'),
    ca: about(keyPair, 'Authority of Kubernetes; its key is on control planes only'),
    acceptedCAs: acceptedAuthorities,
    aggregatorCA: keyPair,
    serviceAccount: object({ key: always(key('Signs the tokens of service accounts')) }),
    apiServer,
    controllerManager: object({ image: text(), extraArgs: argumentsOf(), extraVolumes: volumes, env: environment(), resources }),
    proxy: object({ disabled: flag('For networks that do without kube-proxy'), image: text(), mode: text(), extraArgs: argumentsOf() }),
    scheduler: object({ image: text(), extraArgs: argumentsOf(), extraVolumes: volumes, env: environment(), resources, config: free() }),
    discovery,
    etcd: object(
      {
        image: text(),
        ca: always(keyPair),
        extraArgs: argumentsOf(),
        subnet: text(),
        advertisedSubnets: texts('Networks that etcd’s address is chosen from'),
        listenSubnets: texts(),
      },
      'etcd; control planes only',
    ),
    coreDNS: object({ disabled: flag(), image: text() }),
    externalCloudProvider: object({ enabled: flag(), manifests: texts() }),
    extraManifests: { ...texts('URLs of manifests that are applied when the cluster is made'), keepEmpty: true },
    extraManifestHeaders: sensitive(map(text())),
    inlineManifests: {
      ...list(
        object({ name: always(text()), contents: always(sensitive({ ...text(), trimmed: true }, 'manifest')) }),
        'Manifests that are applied when the cluster is made',
      ),
      keepEmpty: true,
    },
    adminKubeconfig: object({ certLifetime: duration() }),
    allowSchedulingOnMasters: flag(),
    allowSchedulingOnControlPlanes: flag('Let ordinary pods run on control planes'),
  },
  'What concerns the whole cluster',
)
