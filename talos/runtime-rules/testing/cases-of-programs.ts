/** Like `cases.ts`, for the values of configurations that Talos passes on to Kubernetes's programs. */
import type { Cases } from './case.ts'

const providers = (config: string): string =>
  `machine: {kubelet: {credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: [${config}]}}}`
const provider = (more: string, name = 'own'): string =>
  `{name: ${name}, matchImages: ["*.example.org"], defaultCacheDuration: 12h, apiVersion: credentialprovider.kubelet.k8s.io/v1, ${more}}`
const tokens = (more: string): string =>
  provider(
    `tokenAttributes: {serviceAccountTokenAudience: a, requireServiceAccount: true, cacheType: Token, ${more}}`,
  )
const kubelet = (config: string): string => `machine: {kubelet: {extraConfig: {${config}}}}`
const scheduler = (config: string): string => `cluster: {scheduler: {config: {${config}}}}`
const plugin = (name: string, args: string): string =>
  scheduler(`profiles: [{pluginConfig: [{name: ${name}, args: {${args}}}]}]`)
const proxy = (config: string): string =>
  `apiVersion: v1alpha1\nkind: KubeProxyConfig\nconfig: {${config}}\n`
const exempt = (exemptions: string): string =>
  `cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, exemptions: {${exemptions}}}}]}}`
const constraint = (more: string): string =>
  plugin('PodTopologySpread', `defaultingType: List, defaultConstraints: [{${more}}]`)

export const casesOfPrograms: Cases = {
  'proxy-config-value': {
    bad: [
      'iptables: {masqueradeBit: 32}',
      'mode: nftables, nftables: {syncPeriod: 1s, minSyncPeriod: 5s}',
      'bindAddress: eth0',
      'metricsBindAddress: "0.0.0.0:70000"',
      'healthzBindAddress: "localhost:10256"',
      'nodePortAddresses: [primary, primary]',
      'nodePortAddresses: [10.0.0.1]',
      'conntrack: {min: -1}',
      'conntrack: {tcpEstablishedTimeout: -1s}',
      'mode: ipvs, ipvs: {excludeCIDRs: [10.0.0.0/33]}',
      'detectLocalMode: Bridge',
      'detectLocalMode: InterfaceNamePrefix',
      'detectLocalMode: ClusterCIDR, clusterCIDR: "10.0.0.0/8,10.1.0.0/16"',
      'oomScoreAdj: 2000',
      'configSyncPeriod: -15m',
      'logging: {format: xml}',
    ].map(proxy),
    good: [
      'mode: nftables, nftables: {masqueradeBit: 14, syncPeriod: 30s, minSyncPeriod: 1s}',
      'bindAddress: "::", metricsBindAddress: 0.0.0.0, healthzBindAddress: "[::]:10256"',
      'nodePortAddresses: [primary, 10.0.0.0/8, "fd00::/8"], conntrack: {maxPerCore: 0, min: 0}',
      'mode: ipvs, ipvs: {strictARP: true, excludeCIDRs: [10.1.0.0/16], tcpTimeout: 5m}',
      'detectLocalMode: BridgeInterface, detectLocal: {bridgeInterface: cni0}',
      'detectLocalMode: ClusterCIDR, clusterCIDR: "10.244.0.0/16,fd00:10::/56", clientConnection: {qps: 7.5}',
    ].map(proxy),
  },
  'credential-provider-value': {
    bad: [
      providers(''),
      providers(provider('', '"a/b"')),
      providers(`${provider('')}, ${provider('')}`),
      providers('{name: own, matchImages: [a], defaultCacheDuration: 1h}'),
      providers(provider('').replace('/v1,', '/v2,')),
      providers(provider('').replace('["*.example.org"]', '[]')),
      providers(provider('').replace('12h', '-1h')),
      providers(provider('tokenAttributes: {serviceAccountTokenAudience: a}')),
      providers(tokens('requiredServiceAccountAnnotationKeys: ["a b"]')),
    ],
    good: [
      providers(`${provider('args: [get]')}, ${provider('', 'other')}`),
      providers(tokens('optionalServiceAccountAnnotationKeys: [example.org/A]')),
      providers(provider('').replace('"*.example.org"', '"*.registry.io:8080/path", gcr.io')),
    ],
  },
  'scheduler-config-value': {
    bad: [
      scheduler('leaderElection: {leaseDuration: 5s}'),
      scheduler('leaderElection: {resourceLock: endpoints}'),
      scheduler('podInitialBackoffSeconds: 20'),
      scheduler('profiles: [{percentageOfNodesToScore: 101}]'),
      scheduler('profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]'),
      plugin('InterPodAffinity', 'hardPodAffinityWeight: 101'),
      plugin('DefaultPreemption', 'minCandidateNodesPercentage: -1'),
      constraint('maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway'),
      constraint('maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never'),
      scheduler('extenders: [{urlPrefix: "http://a", prioritizeVerb: b}]'),
      scheduler('extenders: [{urlPrefix: "http://a", managedResources: [{name: cpu}]}]'),
    ],
    good: [
      scheduler('leaderElection: {leaderElect: false}, podMaxBackoffSeconds: 30'),
      scheduler('leaderElection: {leaseDuration: 60s, renewDeadline: 40s, resourceLock: leases}'),
      plugin('InterPodAffinity', 'hardPodAffinityWeight: 100'),
      constraint(
        'maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway',
      ),
      scheduler(
        'extenders: [{urlPrefix: "http://a", prioritizeVerb: b, weight: 1, bindVerb: c, managedResources: [{name: example.org/fpga}]}]',
      ),
    ],
  },
  'kubelet-config-value': {
    bad: [
      'cpuCFSQuotaPeriod: 2s',
      'crashLoopBackOff: {maxContainerRestartPeriod: 10m}',
      'userNamespaces: {idsPerPod: 1000}',
      'imagePullCredentialsVerificationPolicy: Never',
      'memorySwap: {swapBehavior: Unlimited}',
      'imageMinimumGCAge: -1m',
    ].map(kubelet),
    good: [
      'cpuCFSQuotaPeriod: 10ms, crashLoopBackOff: {maxContainerRestartPeriod: 60s}',
      'userNamespaces: {idsPerPod: 131072}, memorySwap: {swapBehavior: LimitedSwap}',
      'imagePullCredentialsVerificationPolicy: AlwaysVerify, imageMinimumGCAge: 5m',
    ].map(kubelet),
  },
  'pod-security-exemption': {
    bad: ['namespaces: [a.b]', 'runtimeClasses: [Kata]', 'usernames: [""]'].map(exempt),
    good: [
      exempt(
        'namespaces: [rook-ceph], runtimeClasses: [kata.v2], usernames: ["system:serviceaccount:a:b"]',
      ),
    ],
  },
}
