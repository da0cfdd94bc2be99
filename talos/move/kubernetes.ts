/**
 * Kubernetes' parts of the main document (Talos `config/types/v1alpha1/v1alpha1_k8s_bridge.go` says
 * what Talos reads there, the getters of `config/types/k8s` what it reads in a document).
 */
import { auditPolicy } from '../config/generate-documents.ts'
import { at, type MapNode, textAt, type TreeNode } from '../config/tree.ts'
import type { Home } from '../facts/home.ts'
import { secretFacts } from '../facts/table.ts'
import {
  documentOf,
  field,
  type Part,
  type Source,
  stays,
  type Value,
  valuesOf,
  withoutHome,
} from './part.ts'

const controlPlane = 'node-role.kubernetes.io/control-plane'
const controlPlaneOnly = true

/** A fact that has the same value in both homes. */
const ofFact = <V>(
  fact: { readonly main: Home<V>; readonly document: Home<V> },
  only = true,
): Part => ({
  kinds: [fact.document.kind],
  paths: fact.main.paths,
  ...(only && { controlPlaneOnly }),
  move: (from) => ({
    documents: [fact.document.write(documentOf(fact.document.kind, {}), fact.main.read(from.main))],
  }),
})

const cluster: Part = {
  kinds: ['KubeClusterConfig'],
  paths: ['cluster.clusterName', 'cluster.controlPlane'],
  move(from) {
    // Both need the endpoint beside them (`v1alpha1_validation.go`, ClusterConfig.Validate).
    if (from.stayed.has('cluster.serviceAccount'))
      return stays('cluster.serviceAccount stays, and needs it', 'cluster.controlPlane')
    if (from.stayed.has('cluster.apiServer') && from.has('cluster.controlPlane.localAPIServerPort'))
      return stays('cluster.apiServer stays, with the port that is here', 'cluster.controlPlane')
    return {
      documents: [
        documentOf('KubeClusterConfig', {
          clusterName: from.node('cluster.clusterName'),
          endpoint: from.node('cluster.controlPlane.endpoint'),
        }),
      ],
    }
  },
}

const kubelet = 'machine.kubelet'
const nodeFields = ['skipNodeRegistration', 'registerWithFQDN', 'nodeIP']

const node: Part = {
  kinds: ['KubeNodeConfig'],
  paths: [
    'machine.nodeLabels',
    'machine.nodeAnnotations',
    'machine.nodeTaints',
    ...nodeFields.map((name) => `${kubelet}.${name}`),
    'cluster.allowSchedulingOnControlPlanes',
    'cluster.allowSchedulingOnMasters',
  ],
  isAlways: () => true,
  move(from) {
    const isSchedulable = from.has('cluster.allowSchedulingOnControlPlanes')
      ? from.flag('cluster.allowSchedulingOnControlPlanes')
      : from.flag('cluster.allowSchedulingOnMasters')
    // Talos adds these to what the main document says, and takes a document as it is.
    const labels = from.isControlPlane ? { [controlPlane]: '' } : {}
    const taints = from.isControlPlane && !isSchedulable ? { [controlPlane]: 'NoSchedule' } : {}
    const filled = (values: { [key: string]: Value }) =>
      Object.keys(values).length === 0 ? undefined : values
    return {
      documents: [
        documentOf('KubeNodeConfig', {
          skipNodeRegistration: from.node(`${kubelet}.skipNodeRegistration`),
          registerWithFQDN: from.node(`${kubelet}.registerWithFQDN`),
          nodeIP: from.node(`${kubelet}.nodeIP`) ?? {},
          labels: filled({ ...from.entries('machine.nodeLabels'), ...labels }),
          annotations: from.node('machine.nodeAnnotations'),
          taints: filled({ ...from.entries('machine.nodeTaints'), ...taints }),
        }),
      ],
    }
  },
}

const imageless = (path: string) =>
  stays('it has no image, so that Talos chooses one; a document needs it', path)

const kubeletPart: Part = {
  kinds: ['KubeletConfig', 'KubeCredentialProviderConfig'],
  paths: [kubelet],
  move(from) {
    const homeless = withoutHome({ [`${kubelet}.extraMounts`]: (p) => from.isFilled(p) })
    if (homeless) return homeless
    if (
      from.stayed.has('machine.nodeLabels') &&
      nodeFields.some((f) => from.has(`${kubelet}.${f}`))
    )
      return stays('the node’s settings in it stay')
    if (!from.flag(`${kubelet}.disableManifestsDirectory`))
      return stays(
        'disableManifestsDirectory isn’t true here, and always is with KubeletConfig: static pods in a folder of the server would end',
      )
    if (!from.has(`${kubelet}.image`)) return imageless(`${kubelet}.image`)
    const provider = from.node(`${kubelet}.credentialProviderConfig`)
    const of = (name: string) => from.node(`${kubelet}.${name}`)
    return {
      documents: [
        documentOf('KubeletConfig', {
          image: of('image'),
          config: of('extraConfig') ?? {},
          extraArgs: of('extraArgs'),
          clusterDNS: of('clusterDNS'),
          defaultRuntimeSeccompProfileEnabled: of('defaultRuntimeSeccompProfileEnabled'),
        }),
        ...(provider && Object.keys(valuesOf(provider)).length > 0
          ? [documentOf('KubeCredentialProviderConfig', { configuration: provider })]
          : []),
      ],
    }
  },
}

/** @param base of the documents' names if there are several */
const external = (
  from: Source,
  urls: readonly TreeNode[],
  nameOf: (url: string, i: number) => string,
): MapNode[] =>
  urls.map((url, i) =>
    documentOf('KubeExternalManifestConfig', {
      name: nameOf(url.is === 'scalar' ? String(url.value) : '', i),
      url,
      headers: from.node('cluster.extraManifestHeaders'),
    }),
  )

const networkPath = 'cluster.network'
const network: Part = {
  kinds: ['KubeNetworkConfig', 'KubeFlannelCNIConfig'],
  paths: [networkPath],
  move(from) {
    const subnets = (name: string, usual: string): Value =>
      from.isFilled(`${networkPath}.${name}`) ? from.node(`${networkPath}.${name}`) : [usual]
    const cni = from.text(`${networkPath}.cni.name`) || 'flannel'
    const isFlannel = !from.has(`${networkPath}.cni`) || cni === 'flannel'
    const flannel = (name: string) => from.node(`${networkPath}.cni.flannel.${name}`)
    const urls = from.items(`${networkPath}.cni.urls`)
    return {
      documents: [
        documentOf('KubeNetworkConfig', {
          dnsDomain: from.text(`${networkPath}.dnsDomain`) || 'cluster.local',
          podSubnets: subnets('podSubnets', '10.244.0.0/16'),
          serviceSubnets: subnets('serviceSubnets', '10.96.0.0/12'),
        }),
        ...(from.isControlPlane && isFlannel
          ? [
              documentOf('KubeFlannelCNIConfig', {
                // As `FlannelCNIConfig` of the main document has it (`v1alpha1_cniconfig.go`).
                backendType: 'vxlan',
                backendPort: 4789,
                extraArgs: flannel('extraArgs'),
                kubeNetworkPoliciesEnabled: flannel('kubeNetworkPoliciesEnabled'),
              }),
            ]
          : []),
        ...(from.isControlPlane
          ? external(from, urls, (_, i) => (i === 0 ? 'custom-cni' : `custom-cni-${i + 1}`))
          : []),
      ],
    }
  },
}

const kubePrismPath = 'machine.features.kubePrism'
const kubePrism: Part = {
  kinds: ['KubePrismConfig'],
  paths: [kubePrismPath],
  move: (from) => ({
    documents: from.flag(`${kubePrismPath}.enabled`)
      ? [
          documentOf('KubePrismConfig', {
            port: Number(from.text(`${kubePrismPath}.port`)) || 7445,
          }),
        ]
      : [],
  }),
}

const api = 'cluster.apiServer'

/** Arguments that documents of their own replace, besides `anonymous-auth`. */
const replaced =
  /^(oidc-|authentication-config|authorization-(config|mode|webhook-)|anonymous-auth.)/

/** In the order and with the defaults of Talos (`controllers/k8s/control_plane.go`). */
function authorizers(from: Source): MapNode[] {
  const all = from.items(`${api}.authorizationConfig`).map((one) =>
    documentOf('KubeAuthorizerConfig', {
      name: field(one, 'name'),
      type: field(one, 'type'),
      webhook: field(one, 'webhook'),
    }),
  )
  const hasNo = (type: string) => !all.some((one) => textAt(one, 'type') === type)
  const added = (name: string, type: string) => documentOf('KubeAuthorizerConfig', { name, type })
  if (hasNo('Node')) all.unshift(added('node', 'Node'))
  if (hasNo('RBAC')) all.splice(1, 0, added('rbac', 'RBAC'))
  return all
}

const apiServer: Part = {
  kinds: [
    'KubeAPIServerConfig',
    'KubeAdmissionControlConfig',
    'KubeAuditPolicyConfig',
    'KubeAuthenticationConfig',
    'KubeAuthorizerConfig',
  ],
  paths: [api, 'cluster.controlPlane.localAPIServerPort'],
  controlPlaneOnly,
  move(from) {
    const homeless = withoutHome({ [`${api}.extraVolumes`]: (p) => from.isFilled(p) })
    if (homeless) return homeless
    if (!from.has(`${api}.image`)) return imageless(`${api}.image`)
    const { 'anonymous-auth': anonymous, ...extraArgs } = from.entries(`${api}.extraArgs`)
    const argument = Object.keys(extraArgs).find((name) => replaced.test(name))
    if (argument !== undefined)
      return stays(
        `the argument ${argument} needs KubeAuthenticationConfig or KubeAuthorizerConfig, which are yours to write`,
        `${api}.extraArgs`,
      )
    const isAnonymous = anonymous?.is === 'scalar' && String(anonymous.value) === 'true'
    const policy = from.node(`${api}.auditPolicy`)
    const port = from.text('cluster.controlPlane.localAPIServerPort')
    return {
      documents: [
        ...from.items(`${api}.admissionControl`).map((one) =>
          documentOf('KubeAdmissionControlConfig', {
            name: field(one, 'name'),
            configuration: field(one, 'configuration'),
          }),
        ),
        documentOf('KubeAuditPolicyConfig', {
          configuration: Object.keys(valuesOf(policy)).length > 0 ? policy : auditPolicy,
        }),
        // Without this document Talos writes an empty file, with which the API server doesn't
        // start (`render_config_static_pods.go`).
        documentOf('KubeAuthenticationConfig', {
          configuration: { anonymous: { enabled: isAnonymous }, jwt: [] },
        }),
        ...authorizers(from),
        documentOf('KubeAPIServerConfig', {
          image: from.node(`${api}.image`),
          extraArgs: Object.keys(extraArgs).length > 0 ? extraArgs : undefined,
          env: from.node(`${api}.env`),
          resources: from.node(`${api}.resources`),
          apiPort: port === '' || port === '0' ? undefined : Number(port),
          certExtraSANs: from.node(`${api}.certSANs`),
          // They ask without credentials, so that they fail unless anonymous access is on
          // (`k8stemplates/apiserver.go`); the older form has none.
          startupProbes: false,
        }),
      ],
    }
  },
}

/** The controller manager, and the scheduler. */
const component = (name: string, kind: string, more: readonly string[] = []): Part => {
  const [path, off] = [`cluster.${name}`, `machine.controlPlane.${name}.disabled`]
  return {
    kinds: [kind],
    paths: [path, `machine.controlPlane.${name}`],
    controlPlaneOnly,
    move(from) {
      const homeless = withoutHome({ [`${path}.extraVolumes`]: (p) => from.isFilled(p) })
      if (homeless) return homeless
      if (!from.has(`${path}.image`) && !from.flag(off)) return imageless(`${path}.image`)
      return {
        documents: [
          documentOf(kind, {
            enabled: from.flag(off) ? false : undefined,
            image: from.node(`${path}.image`),
            extraArgs: from.node(`${path}.extraArgs`),
            env: from.node(`${path}.env`),
            resources: from.node(`${path}.resources`),
            ...Object.fromEntries(more.map((one) => [one, from.node(`${path}.${one}`) ?? {}])),
          }),
        ],
      }
    },
  }
}

const proxyPath = 'cluster.proxy'
const proxy: Part = {
  kinds: ['KubeProxyConfig'],
  paths: [proxyPath],
  controlPlaneOnly,
  move(from) {
    const isOff = from.flag(`${proxyPath}.disabled`)
    // With a document kube-proxy reads a file, beside which it ignores most arguments.
    if (from.isFilled(`${proxyPath}.extraArgs`) && !isOff)
      return stays(
        'kube-proxy ignores most arguments beside KubeProxyConfig; write them as fields of its config',
        `${proxyPath}.extraArgs`,
      )
    if (!from.has(`${proxyPath}.image`) && !isOff) return imageless(`${proxyPath}.image`)
    return {
      documents: [
        documentOf('KubeProxyConfig', {
          enabled: isOff ? false : undefined,
          image: from.node(`${proxyPath}.image`),
          mode: from.node(`${proxyPath}.mode`),
          config: {},
        }),
      ],
    }
  },
}

const coreDns: Part = {
  kinds: ['KubeCoreDNSConfig'],
  paths: ['cluster.coreDNS'],
  controlPlaneOnly,
  isAlways: (from) => from.isControlPlane,
  move: (from) => ({
    documents: [
      documentOf('KubeCoreDNSConfig', {
        enabled: !from.flag('cluster.coreDNS.disabled'),
        image: from.node('cluster.coreDNS.image'),
      }),
    ],
  }),
}

/** Nothing authenticates tokens of the older form without the endpoint, which issues them. */
const serviceAccount: Part = {
  kinds: ['KubeServiceAccountConfig'],
  paths: ['cluster.serviceAccount'],
  controlPlaneOnly,
  move: (from) => ({
    documents: [
      documentOf('KubeServiceAccountConfig', {
        issuer: {
          privateKey: secretFacts.serviceAccountKey.main.read(from.main) ?? '',
          issuerURL: from.node('cluster.controlPlane.endpoint'),
        },
      }),
    ],
  }),
}

const accessPath = 'machine.features.kubernetesTalosAPIAccess'
const talosAccess: Part = {
  kinds: ['KubeTalosAPIAccessConfig'],
  paths: [accessPath],
  controlPlaneOnly,
  move: (from) => ({
    documents: from.flag(`${accessPath}.enabled`)
      ? [
          documentOf('KubeTalosAPIAccessConfig', {
            allowedRoles: from.node(`${accessPath}.allowedRoles`),
            allowedKubernetesNamespaces: from.node(`${accessPath}.allowedKubernetesNamespaces`),
          }),
        ]
      : [],
  }),
}

const staticPods: Part = {
  kinds: ['KubeStaticPodConfig'],
  paths: ['machine.pods'],
  isMerged: true,
  move: (from) => ({
    documents: from.items('machine.pods').map((pod) =>
      documentOf('KubeStaticPodConfig', {
        // The name that Talos gives it, so that the pod stays the same one.
        name: ['namespace', 'name']
          .map((key) => textAt(pod, 'metadata', key) ?? 'default')
          .join('-'),
        pod,
      }),
    ),
  }),
}

/** A name for the manifest at a URL. */
const nameOfUrl = (url: string): string =>
  url
    .toLowerCase()
    .replace(/^[a-z]+:\/\//, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 200)

const manifests: Part = {
  kinds: ['KubeExternalManifestConfig'],
  paths: ['cluster.extraManifests', 'cluster.extraManifestHeaders'],
  controlPlaneOnly,
  isMerged: true,
  move: (from) =>
    from.stayed.has(networkPath) && from.isFilled(`${networkPath}.cni.urls`)
      ? stays('cluster.network stays, whose manifests need the headers')
      : { documents: external(from, from.items('cluster.extraManifests'), nameOfUrl) },
}

const inlineManifests: Part = {
  kinds: ['KubeInlineManifestConfig'],
  paths: ['cluster.inlineManifests'],
  controlPlaneOnly,
  isMerged: true,
  move: (from) => ({
    documents: from.items('cluster.inlineManifests').map((one) =>
      documentOf('KubeInlineManifestConfig', {
        name: at(one, 'name'),
        manifest: at(one, 'contents'),
      }),
    ),
  }),
}

/** In the order in which Talos generates the documents, except where a part needs another. */
export const kubernetesParts: readonly Part[] = [
  node,
  kubeletPart,
  network,
  ofFact(secretFacts.kubernetesAuthorities, false),
  kubePrism,
  ofFact(secretFacts.aggregatorAuthorities),
  ofFact(secretFacts.encryptionKeys as Parameters<typeof ofFact>[0]),
  serviceAccount,
  apiServer,
  component('controllerManager', 'KubeControllerManagerConfig'),
  component('scheduler', 'KubeSchedulerConfig', ['config']),
  proxy,
  coreDns,
  cluster,
  talosAccess,
  staticPods,
  manifests,
  inlineManifests,
]
