/** Good files of each kind that Talos passes on to Kubernetes's programs, and mutations of them. */

type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }
type File = { readonly [key: string]: Value }

export interface Kind {
  readonly name: string
  readonly good: readonly File[]
  /** The documents of Talos 1.14 that have the file. */
  readonly documents: (file: object) => readonly object[]
  /** What Talos gives the program. */
  readonly asTalosWrites: (file: object) => object
}

const document = (kind: string, more: object): object => ({ apiVersion: 'v1alpha1', kind, ...more })
/** What Talos writes where the user wrote nothing. */
const withHeader =
  (apiVersion: string, kind: string) =>
  (file: object): object => {
    const given = file as Readonly<Record<string, unknown>>
    return {
      ...given,
      apiVersion: given['apiVersion'] || apiVersion,
      kind: given['kind'] || kind,
    }
  }

/** What Talos adds to the kubelet's configuration (`kubelet_spec.go`), as far as rules read it. */
function kubeletOfTalos(file: object): object {
  const given = file as Readonly<Record<string, unknown>>
  const isEmpty = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return {
    address: '0.0.0.0',
    failSwapOn: false,
    failCgroupV1: false,
    serializeImagePulls: false,
    ...(!('shutdownGracePeriod' in given) && { shutdownGracePeriod: '30s' }),
    ...(!('shutdownGracePeriodCriticalPods' in given) && {
      shutdownGracePeriodCriticalPods: '10s',
    }),
    ...given,
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    cgroupRoot: '/',
    systemCgroups: '/system',
    kubeletCgroups: '/podruntime/kubelet',
    ...(isEmpty(given['systemReserved']) && { systemReserved: { cpu: '50m', memory: '512Mi' } }),
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  }
}

const provider = {
  name: 'ecr',
  matchImages: ['*.ecr.example.org', 'registry.io:8080/path'],
  defaultCacheDuration: '12h',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
}

export const kinds: readonly Kind[] = [
  {
    name: 'KubeProxyConfiguration',
    good: [
      {
        mode: 'nftables',
        bindAddress: '0.0.0.0',
        metricsBindAddress: '0.0.0.0:10249',
        healthzBindAddress: '[::]:10256',
        nftables: { masqueradeBit: 14, syncPeriod: '30s', minSyncPeriod: '1s' },
        nodePortAddresses: ['primary', '10.0.0.0/8'],
        conntrack: { maxPerCore: 0, min: 131072, tcpEstablishedTimeout: '24h', udpTimeout: '30s' },
        configSyncPeriod: '15m',
        oomScoreAdj: -999,
        clientConnection: { qps: 5, burst: 10 },
      },
      {
        mode: 'ipvs',
        ipvs: {
          excludeCIDRs: ['10.1.0.0/16'],
          syncPeriod: '30s',
          tcpTimeout: '5m',
          strictARP: true,
        },
        detectLocalMode: 'ClusterCIDR',
        clusterCIDR: '10.244.0.0/16,fd00:10::/56',
        logging: { format: 'json', verbosity: 2 },
      },
      {
        mode: 'iptables',
        iptables: {
          masqueradeBit: 14,
          masqueradeAll: false,
          syncPeriod: '30s',
          minSyncPeriod: '1s',
        },
        detectLocalMode: 'BridgeInterface',
        detectLocal: { bridgeInterface: 'cni0' },
        portRange: '',
      },
    ],
    documents: (file) => [document('KubeProxyConfig', { config: file })],
    asTalosWrites: withHeader('kubeproxy.config.k8s.io/v1alpha1', 'KubeProxyConfiguration'),
  },
  {
    name: 'KubeSchedulerConfiguration',
    good: [
      {
        parallelism: 16,
        percentageOfNodesToScore: 50,
        podInitialBackoffSeconds: 1,
        podMaxBackoffSeconds: 10,
        leaderElection: {
          leaderElect: true,
          leaseDuration: '15s',
          renewDeadline: '10s',
          retryPeriod: '2s',
          resourceLock: 'leases',
        },
        profiles: [
          {
            schedulerName: 'default-scheduler',
            percentageOfNodesToScore: 30,
            plugins: {
              score: {
                enabled: [{ name: 'NodeResourcesFit', weight: 2 }],
                disabled: [{ name: '*' }],
              },
            },
            pluginConfig: [
              { name: 'InterPodAffinity', args: { hardPodAffinityWeight: 1 } },
              {
                name: 'PodTopologySpread',
                args: {
                  defaultingType: 'List',
                  defaultConstraints: [
                    {
                      maxSkew: 1,
                      topologyKey: 'topology.kubernetes.io/zone',
                      whenUnsatisfiable: 'ScheduleAnyway',
                    },
                  ],
                },
              },
              {
                name: 'DefaultPreemption',
                args: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
              },
            ],
          },
          {
            schedulerName: 'other',
            pluginConfig: [
              {
                name: 'NodeResourcesFit',
                args: {
                  scoringStrategy: {
                    type: 'MostAllocated',
                    resources: [{ name: 'cpu', weight: 1 }],
                  },
                },
              },
            ],
          },
        ],
        extenders: [
          {
            urlPrefix: 'http://127.0.0.1:8888/',
            filterVerb: 'filter',
            prioritizeVerb: 'prioritize',
            weight: 5,
            httpTimeout: '5s',
            managedResources: [{ name: 'example.org/fpga', ignoredByScheduler: true }],
          },
          { urlPrefix: 'http://127.0.0.1:8889/', bindVerb: 'bind' },
        ],
      },
    ],
    documents: (file) => [document('KubeSchedulerConfig', { config: file })],
    asTalosWrites: withHeader('kubescheduler.config.k8s.io/v1', 'KubeSchedulerConfiguration'),
  },
  {
    name: 'CredentialProviderConfig',
    good: [
      {
        apiVersion: 'kubelet.config.k8s.io/v1',
        kind: 'CredentialProviderConfig',
        providers: [
          { ...provider, args: ['get'], env: [{ name: 'A', value: 'b' }] },
          {
            ...provider,
            name: 'own',
            tokenAttributes: {
              serviceAccountTokenAudience: 'a',
              cacheType: 'Token',
              requireServiceAccount: true,
              requiredServiceAccountAnnotationKeys: ['example.org/a'],
              optionalServiceAccountAnnotationKeys: ['example.org/b'],
            },
          },
        ],
      },
    ],
    documents: (file) => [document('KubeCredentialProviderConfig', { configuration: file })],
    asTalosWrites: (file) => file,
  },
  {
    name: 'PodSecurityConfiguration',
    good: [
      {
        apiVersion: 'pod-security.admission.config.k8s.io/v1',
        kind: 'PodSecurityConfiguration',
        defaults: {
          enforce: 'baseline',
          'enforce-version': 'latest',
          audit: 'restricted',
          'audit-version': 'v1.36',
          warn: 'privileged',
        },
        exemptions: {
          namespaces: ['rook', 'monitoring'],
          runtimeClasses: ['kata'],
          usernames: ['system:serviceaccount:a:b'],
        },
      },
    ],
    documents: (file) => [
      // Talos generates one, and lists of a patch are appended to its lists.
      document('KubeAdmissionControlConfig', { name: 'PodSecurity', $patch: 'delete' }),
      document('KubeAdmissionControlConfig', { name: 'PodSecurity', configuration: file }),
    ],
    asTalosWrites: (file) => file,
  },
  {
    name: 'Policy',
    good: [
      {
        apiVersion: 'audit.k8s.io/v1',
        kind: 'Policy',
        omitStages: ['RequestReceived'],
        rules: [
          {
            level: 'None',
            users: ['system:kube-proxy'],
            verbs: ['watch'],
            resources: [{ group: '', resources: ['endpoints', 'services/status'] }],
          },
          { level: 'None', nonResourceURLs: ['/healthz*', '/version'] },
          {
            level: 'Request',
            resources: [{ group: 'apps', resources: ['deployments'], resourceNames: ['a'] }],
            namespaces: ['kube-system'],
            omitManagedFields: true,
          },
          { level: 'Metadata', omitStages: ['ResponseStarted'] },
        ],
      },
    ],
    documents: (file) => [
      document('KubeAuditPolicyConfig', { $patch: 'delete' }),
      document('KubeAuditPolicyConfig', { configuration: file }),
    ],
    asTalosWrites: (file) => file,
  },
  {
    name: 'AuthenticationConfiguration',
    good: [
      {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: {
              url: 'https://id.example.org',
              discoveryURL: 'https://id.example.org/.well-known/openid-configuration',
              audiences: ['k8s', 'other'],
              audienceMatchPolicy: 'MatchAny',
            },
            claimValidationRules: [
              { claim: 'hd', requiredValue: 'example.org' },
              { expression: 'claims.exp - claims.nbf <= 86400', message: 'too long' },
            ],
            claimMappings: {
              username: { claim: 'email', prefix: '' },
              groups: { claim: 'groups', prefix: 'oidc:' },
              uid: { claim: 'sub' },
              extra: [{ key: 'example.org/tenant', valueExpression: 'claims.tenant' }],
            },
            userValidationRules: [
              { expression: "!user.username.startsWith('system:')", message: 'reserved' },
            ],
          },
          {
            issuer: { url: 'https://other.example.org', audiences: ['k8s'] },
            claimMappings: { username: { expression: 'claims.username + ":external"' } },
          },
        ],
        anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
      },
    ],
    documents: (file) => [document('KubeAuthenticationConfig', { configuration: file })],
    asTalosWrites: withHeader('apiserver.config.k8s.io/v1', 'AuthenticationConfiguration'),
  },
  {
    name: 'KubeletConfiguration',
    good: [
      {
        maxPods: 200,
        evictionHard: { 'memory.available': '5%', 'nodefs.available': '10%' },
        evictionSoft: { 'memory.available': '10%' },
        evictionSoftGracePeriod: { 'memory.available': '1m30s' },
        kubeReserved: { cpu: '200m', memory: '512Mi' },
        imageGCHighThresholdPercent: 85,
        imageGCLowThresholdPercent: 80,
        imageMinimumGCAge: '2m',
        imageMaximumGCAge: '168h',
        topologyManagerPolicy: 'best-effort',
        topologyManagerScope: 'pod',
        cpuCFSQuotaPeriod: '100ms',
        nodeStatusUpdateFrequency: '10s',
        containerLogMaxSize: '20Mi',
        containerLogMaxFiles: 4,
        memorySwap: { swapBehavior: 'LimitedSwap' },
        hairpinMode: 'promiscuous-bridge',
        registryPullQPS: 5,
        registryBurst: 10,
        tlsMinVersion: 'VersionTLS12',
        crashLoopBackOff: { maxContainerRestartPeriod: '60s' },
        imagePullCredentialsVerificationPolicy: 'NeverVerify',
        userNamespaces: { idsPerPod: 65536 },
        logging: { format: 'json', verbosity: 2 },
        enforceNodeAllocatable: ['pods'],
        podsPerCore: 0,
      },
    ],
    documents: (file) => [document('KubeletConfig', { config: file })],
    asTalosWrites: kubeletOfTalos,
  },
]

/** mulberry32 */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const texts = [
  '',
  'x',
  'Other',
  '-1',
  '0',
  'http://a.example.org',
  '10.0.0.0/33',
  '1.2.3',
  'a b',
  'A/B',
  '*',
  '/a*b',
  '-5s',
  '5s',
  '0s',
  '1000h',
  'kube-system',
  'v1.99',
  '110%',
  'true',
  '1 +',
  'claims.x ==',
]
const numbers = [-1, 0, 1, 101, 1001, 32, 70000, -1001, 2 ** 31]

interface Place {
  readonly path: readonly (string | number)[]
  readonly value: Value
}
function* placesOf(value: Value, path: readonly (string | number)[] = []): Generator<Place> {
  if (path.length > 0) yield { path, value }
  if (Array.isArray(value))
    for (const [i, one] of value.entries()) yield* placesOf(one as Value, [...path, i])
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) yield* placesOf(one, [...path, key])
}

type Mutable = Record<string, unknown> & unknown[]

/** Files of a kind: the good ones first, then each with one or two changes. */
export function mutated({ name, good }: Kind, count: number): object[] {
  const next = random(name.length * 7919)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  const files: object[] = [...good]
  while (files.length < count) {
    const file = structuredClone(pick(good)) as unknown as Value
    for (let changes = next() < 0.8 ? 1 : 2; changes > 0; changes--) {
      const { path, value } = pick([...placesOf(file)])
      let holder = file as unknown as Mutable
      for (const key of path.slice(0, -1)) holder = holder[key as number] as Mutable
      const key = path.at(-1) as number
      const kind = next()
      if (Array.isArray(holder) && kind < 0.3) holder.push(structuredClone(value))
      else if (kind < 0.45) {
        if (Array.isArray(holder)) holder.splice(key, 1)
        else delete holder[key]
      } else if (typeof value === 'string') holder[key] = pick(texts)
      else if (typeof value === 'number') holder[key] = pick(numbers)
      else if (typeof value === 'boolean') holder[key] = !value
      else if (Array.isArray(value)) holder[key] = []
      else holder[key] = {}
    }
    files.push(file as unknown as object)
  }
  return files
}
