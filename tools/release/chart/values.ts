/** Values of the chart: of every kind that it has templates for, and wrong ones. */

const base = { publicUrl: 'https://steelyard.example.com' }
const replicated = {
  ...base,
  replicas: 3,
  tls: { secretName: 'steelyard-tls' },
  key: { secretName: 'steelyard-key' },
}

/** Right values by what they show. */
export const variants: Readonly<Record<string, object>> = {
  'one replica behind an ingress': {
    ...base,
    trustedProxies: ['10.42.0.0/16'],
    dialNetworks: ['10.0.4.0/22', 'fd00:4::/64'],
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'steelyard.example.com',
      tlsSecretName: 'steelyard-tls',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
    },
    admin: { email: 'admin@example.com', passwordSecret: { name: 'first-user', key: 'password' } },
  },
  'one replica with TLS of its own on a load balancer': {
    ...base,
    tls: { secretName: 'steelyard-tls' },
    key: { secretName: 'steelyard-key' },
    service: { type: 'LoadBalancer', port: 443, loadBalancerIP: '192.0.2.10' },
    persistence: { size: '50Gi', storageClass: 'fast' },
    image: {
      repository: 'registry.example.com/ops/steelyard',
      digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
    },
    imagePullSecrets: [{ name: 'registry' }],
  },
  'one replica without anything': { ...base, insecure: true, networkPolicy: { enabled: false } },
  'several replicas with CloudNativePG': {
    ...replicated,
    dialNetworks: ['10.0.4.0/22'],
    database: {
      cloudnativepg: {
        enabled: true,
        imageName: 'registry.example.com/postgresql:18.1',
        storage: { size: '100Gi', storageClass: 'fast' },
        resources: { requests: { memory: '2Gi' } },
      },
    },
  },
  'several replicas with one asynchronous PostgreSQL of CloudNativePG': {
    ...replicated,
    database: { cloudnativepg: { enabled: true, instances: 1, synchronous: false } },
  },
  'several replicas with a PostgreSQL elsewhere': {
    ...replicated,
    database: { urlSecret: { name: 'database', key: 'url' } },
    settings: { LOG_LEVEL: 'warn', STEELYARD_METRICS_NETWORKS: '10.42.0.0/16' },
    secretSettings: [
      { name: 'STEELYARD_OIDC_CLIENT_SECRET', secret: 'provider', key: 'client-secret' },
    ],
    networkPolicy: {
      from: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      httpsTo: [],
      extraEgress: [{ ports: [{ port: 5432 }], to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }],
    },
    resources: { requests: { cpu: 1, memory: '1Gi' } },
    podAnnotations: { 'example.com/team': 'metal' },
    podLabels: { team: 'metal' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'infra', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'system-cluster-critical',
  },
}

const one = { ...base, insecure: true }

/** Wrong values, each with the place that the message of its refusal names. */
export const wrong: Readonly<Record<string, readonly [object, string]>> = {
  'no public URL': [{ insecure: true }, '/publicUrl'],
  'a public URL with a path': [
    { ...one, publicUrl: 'https://example.com/steelyard' },
    '/publicUrl',
  ],
  'neither TLS nor a proxy': [base, '/insecure'],
  'an unknown value': [{ ...one, replica: 2 }, 'replica'],
  'an unknown value below another': [{ ...one, image: { name: 'x' } }, '/image'],
  'no replica': [{ ...one, replicas: 0 }, '/replicas'],
  'a number in words': [{ ...one, replicas: 'two' }, '/replicas'],
  'several replicas with the embedded database': [
    { ...one, replicas: 2, key: { secretName: 'key' } },
    '/database',
  ],
  'several replicas without a common key': [
    { ...one, replicas: 2, database: { cloudnativepg: { enabled: true } } },
    '/key/secretName',
  ],
  'two databases': [
    { ...one, database: { cloudnativepg: { enabled: true }, urlSecret: { name: 'x' } } },
    '/database',
  ],
  'synchronous replication without a standby': [
    { ...one, database: { cloudnativepg: { enabled: true, instances: 1 } } },
    '/database/cloudnativepg/instances',
  ],
  'a network without a length': [{ ...one, dialNetworks: ['10.0.4.0'] }, '/dialNetworks/0'],
  'a proxy by name': [{ ...base, trustedProxies: ['proxy'] }, '/trustedProxies/0'],
  'a size without a number': [{ ...one, persistence: { size: 'big' } }, '/persistence/size'],
  'a setting that the chart makes': [{ ...one, settings: { DATABASE_URL: 'x' } }, 'DATABASE_URL'],
  'a setting of no program': [{ ...one, settings: { PATH: 'x' } }, 'PATH'],
  'a setting that is no text': [{ ...one, settings: { LOG_LEVEL: 1 } }, '/settings/LOG_LEVEL'],
  'a first user without a password': [
    { ...one, admin: { email: 'admin@example.com' } },
    '/admin/passwordSecret/name',
  ],
  'a password without a first user': [
    { ...one, admin: { passwordSecret: { name: 'first-user' } } },
    '/admin/passwordSecret/name',
  ],
  'an ingress without a host': [{ ...one, ingress: { enabled: true } }, '/ingress/host'],
  'a tag with a plus sign': [{ ...one, image: { tag: '1.2.3+test' } }, '/image/tag'],
  'a digest that is none': [{ ...one, image: { digest: 'sha256:12' } }, '/image/digest'],
  'a port past the last': [{ ...one, service: { port: 65_536 } }, '/service/port'],
  'a type of service that is none': [{ ...one, service: { type: 'Load' } }, '/service/type'],
}
