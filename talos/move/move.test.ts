import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { mergePatches } from '../config/merge.ts'
import { validateConfig } from '../config/validate.ts'
import type { GenerateInput } from '../config/generate.ts'
import { secretsIn, withFacts } from '../facts/facts.ts'
import { secretsOfControlPlane } from '../secrets/bundle.ts'
import { config, secrets } from '../testing/generated.ts'
import { factsThatDiffer, formOf, moveToDocuments } from './move.ts'

const talosVersion = '1.14'
const kubernetesVersion = '1.36.3'
type Plain = Record<string, unknown>
const plain = (yaml: string) => parseAllDocuments(yaml).map((d) => d.toJS() as Plain)
const of = (yaml: string, kind: string) => plain(yaml).filter((d) => d['kind'] === kind)
const errors = (yaml: string) => validateConfig(yaml, { talosVersion }).errors

const roles = ['control_plane', 'worker'] as const
const old = (more: Partial<GenerateInput> = {}) =>
  config({
    kubernetesVersion,
    installImage: 'factory.talos.dev/metal-installer/a:v1.13.9',
    additionalSans: ['api.example.com'],
    ...more,
  })
const patched = (on: string, body: string) =>
  mergePatches(on, [{ name: 'patch', body }], { talosVersion }).yaml

/** What a control plane has, with a patch, after the move. */
const afterMove = (patch: string, more: Partial<GenerateInput> = {}) => {
  const before = patched(old(more), patch)
  const moved = moveToDocuments(before)
  expect(errors(moved.yaml)).toEqual([])
  expect(factsThatDiffer(before, moved.yaml)).toEqual([])
  return moved
}

describe.each(['1.12', '1.13'])('a configuration of Talos %s', (version) => {
  test.each(roles)('of a %s means the same in documents', (role) => {
    const kubernetes = version === '1.12' ? '1.35.4' : kubernetesVersion
    const before = old({ role, talosVersion: version, kubernetesVersion: kubernetes })
    const { yaml, stays, dropped } = moveToDocuments(before)
    expect(stays).toEqual([])
    expect(dropped).toEqual([])
    expect(errors(yaml)).toEqual([])
    expect(factsThatDiffer(before, yaml)).toEqual([])
    // Almost what Talos generates for a new cluster.
    const fresh = old({ role, talosVersion, kubernetesVersion: kubernetes })
    const news = new Set(['VolumeConfig', 'FilesystemTrimConfig', 'SecurityProfileConfig'])
    const kindsOf = (text: string) =>
      new Set(plain(text).map(({ kind }) => kind as string | undefined)).difference(news)
    expect(kindsOf(yaml)).toEqual(kindsOf(fresh))
    expect(plain(yaml)[0]).toMatchObject(plain(fresh)[0]!)
  })

  test('is moved once', () => {
    const before = old({ talosVersion: version, kubernetesVersion: '1.35.4' })
    expect(formOf(before)).toMatchObject({ form: 'old', both: [] })
    const { yaml } = moveToDocuments(before)
    expect(formOf(yaml)).toEqual({ form: 'moved', both: [], left: [], stays: [] })
    expect(moveToDocuments(yaml)).toMatchObject({ yaml, moved: [] })
  })
})

test('a generated configuration of Talos 1.14 has nothing to move', () => {
  for (const role of roles) {
    const fresh = old({ role, talosVersion, kubernetesVersion: '1.37.0' })
    expect(moveToDocuments(fresh)).toMatchObject({ yaml: fresh, moved: [], stays: [], dropped: [] })
    expect(formOf(fresh).form).toBe('moved')
  }
})

test('the API server answers as before: nobody is anonymous, and it has no probes', () => {
  const { yaml } = moveToDocuments(old())
  expect(of(yaml, 'KubeAuthenticationConfig')).toMatchObject([
    { configuration: { anonymous: { enabled: false }, jwt: [] } },
  ])
  expect(of(yaml, 'KubeAPIServerConfig')).toMatchObject([
    { startupProbes: false, certExtraSANs: ['api.example.com'] },
  ])
  expect(of(yaml, 'KubeAuthorizerConfig').map((d) => [d['name'], d['type']])).toEqual([
    ['node', 'Node'],
    ['rbac', 'RBAC'],
  ])
  const open = afterMove('cluster: {apiServer: {extraArgs: {anonymous-auth: "true", v: "2"}}}')
  expect(of(open.yaml, 'KubeAuthenticationConfig')).toMatchObject([
    { configuration: { anonymous: { enabled: true } } },
  ])
  expect(of(open.yaml, 'KubeAPIServerConfig')).toMatchObject([{ extraArgs: { v: '2' } }])
})

test('Secrets stay readable: the providers keep their kinds and order, and identity is last', () => {
  const aescbc = Buffer.alloc(32, 7).toString('base64')
  const secretbox = secrets.secrets.secretboxEncryptionSecret!
  for (const keys of [
    { secretbox, aescbc },
    { secretbox, aescbc: null },
    { secretbox: null, aescbc },
  ]) {
    const before = withFacts(old(), { encryptionKeys: keys })
    const { yaml } = moveToDocuments(before)
    const [document] = of(yaml, 'KubeEtcdEncryptionConfig')
    const key = (kind: string, name: string, secret: string | null) =>
      secret === null ? [] : [{ [kind]: { keys: [{ name, secret }] } }]
    expect(document).toMatchObject({
      config: {
        resources: [
          {
            resources: ['secrets'],
            providers: [
              ...key('secretbox', 'key2', keys.secretbox),
              ...key('aescbc', 'key1', keys.aescbc),
              { identity: {} },
            ],
          },
        ],
      },
    })
    expect(secretsIn(yaml).encryptionKeys).toEqual(keys)
    expect(errors(yaml)).toEqual([])
  }
})

test('the secrets of a cluster can be taken from moved configurations', () => {
  expect(secretsOfControlPlane(moveToDocuments(old()).yaml)).toEqual(secrets)
})

test('a worker gets no key of an authority, and keeps those that it accepts', () => {
  const other = Buffer.from(secrets.certs.etcd.crt).toString('base64')
  const before = patched(old({ role: 'worker' }), `cluster: {acceptedCAs: [{crt: ${other}}]}`)
  const { yaml } = moveToDocuments(before)
  expect(of(yaml, 'KubeAPIServerCAConfig')).toEqual([
    {
      apiVersion: 'v1alpha1',
      kind: 'KubeAPIServerCAConfig',
      acceptedCAs: [secrets.certs.k8s.crt, secrets.certs.etcd.crt],
    },
  ])
  expect(factsThatDiffer(before, yaml)).toEqual([])
})

test('labels and taints that Talos adds to the older form are written', () => {
  const { yaml } = afterMove(
    'machine: {nodeLabels: {rack: r1}, nodeTaints: {a: "b:NoSchedule"}, nodeAnnotations: {c: d}}',
  )
  const label = 'node-role.kubernetes.io/control-plane'
  expect(of(yaml, 'KubeNodeConfig')).toMatchObject([
    {
      labels: { rack: 'r1', [label]: '' },
      taints: { a: 'b:NoSchedule', [label]: 'NoSchedule' },
      annotations: { c: 'd' },
    },
  ])
  const schedulable = afterMove('cluster: {allowSchedulingOnControlPlanes: true}')
  expect(of(schedulable.yaml, 'KubeNodeConfig')[0]).not.toHaveProperty('taints')
})

test('settings of the kubelet and of the node are in a document each', () => {
  const { yaml } = afterMove(`machine:
  kubelet:
    nodeIP: {validSubnets: [10.0.0.0/8]}
    registerWithFQDN: true
    extraArgs: {rotate-server-certificates: "true"}
    extraConfig: {maxPods: 200}
    clusterDNS: [10.96.0.10]
    credentialProviderConfig: {apiVersion: a/v1, kind: CredentialProviderConfig}
`)
  expect(of(yaml, 'KubeNodeConfig')).toMatchObject([
    { nodeIP: { validSubnets: ['10.0.0.0/8'] }, registerWithFQDN: true },
  ])
  expect(of(yaml, 'KubeletConfig')).toMatchObject([
    {
      config: { maxPods: 200 },
      extraArgs: { 'rotate-server-certificates': 'true' },
      clusterDNS: ['10.96.0.10'],
      defaultRuntimeSeccompProfileEnabled: true,
    },
  ])
  expect(of(yaml, 'KubeCredentialProviderConfig')).toHaveLength(1)
})

test('authorizers keep their order, and the admission plugins and the audit policy their content', () => {
  const { yaml } = afterMove(`cluster:
  apiServer:
    auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}
    admissionControl: [{name: EventRateLimit, configuration: {limits: []}}]
    authorizationConfig:
      - {type: Webhook, name: hook, webhook: {timeout: 3s}}
      - {type: RBAC, name: roles}
`)
  expect(of(yaml, 'KubeAuthorizerConfig').map((d) => d['name'])).toEqual(['node', 'hook', 'roles'])
  expect(of(yaml, 'KubeAdmissionControlConfig').map((d) => d['name'])).toEqual([
    'PodSecurity',
    'EventRateLimit',
  ])
  expect(of(yaml, 'KubeAuditPolicyConfig')).toMatchObject([
    { configuration: { rules: [{ level: 'None' }] } },
  ])
})

test('parts that are off stay off', () => {
  const { yaml } = afterMove(`machine:
  controlPlane: {scheduler: {disabled: true}}
  features: {kubePrism: {enabled: false}, hostDNS: {enabled: false, forwardKubeDNSToHost: false}}
cluster:
  proxy: {disabled: true}
  coreDNS: {disabled: true}
  discovery: {enabled: false}
  network: {cni: {name: none}}
`)
  expect(of(yaml, 'KubeSchedulerConfig')).toMatchObject([{ enabled: false }])
  expect(of(yaml, 'KubeProxyConfig')).toMatchObject([{ enabled: false }])
  expect(of(yaml, 'KubeCoreDNSConfig')).toMatchObject([{ enabled: false }])
  for (const kind of ['KubePrismConfig', 'DiscoveryServiceConfig', 'KubeFlannelCNIConfig'])
    expect(of(yaml, kind)).toEqual([])
  expect(plain(yaml)[0]).not.toHaveProperty('machine.controlPlane')
})

test('manifests and pods move with their names', () => {
  const { yaml } = afterMove(`machine:
  pods: [{apiVersion: v1, kind: Pod, metadata: {name: nginx}}]
cluster:
  extraManifests: ["https://example.com/a/b.yaml"]
  extraManifestHeaders: {Authorization: x}
  network: {cni: {name: custom, urls: ["https://example.com/cni.yaml"]}}
  inlineManifests: [{name: first, contents: "kind: Namespace"}]
`)
  expect(of(yaml, 'KubeStaticPodConfig').map((d) => d['name'])).toEqual(['default-nginx'])
  expect(of(yaml, 'KubeInlineManifestConfig')).toMatchObject([
    { name: 'first', manifest: 'kind: Namespace' },
  ])
  expect(of(yaml, 'KubeExternalManifestConfig')).toMatchObject([
    { name: 'custom-cni', url: 'https://example.com/cni.yaml', headers: { Authorization: 'x' } },
    { name: 'example-com-a-b-yaml', headers: { Authorization: 'x' } },
  ])
})

test('the installation keeps its disk, and never wipes by itself', () => {
  const matchOf = (installPatch: string) => {
    const { yaml } = afterMove(`machine: {install: ${installPatch}}`)
    const [document] = of(yaml, 'UnattendedInstallConfig')
    return (document as { provisioning: object }).provisioning
  }
  expect(matchOf('{disk: /dev/nvme0n1}')).toEqual({
    diskSelector: { match: 'disk.dev_path == "/dev/nvme0n1"' },
    wipe: false,
  })
  expect(matchOf('{disk: /dev/disk/by-id/nvme-a, wipe: true}')).toEqual({
    diskSelector: { match: '"/dev/disk/by-id/nvme-a" in disk.symlinks' },
    wipe: true,
  })
  expect(matchOf('{diskSelector: {wwid: naa.5*, size: ">= 100GB", type: ssd}}')).toEqual({
    diskSelector: {
      match:
        'disk.size >= 100000000000u && glob("naa.5*", disk.wwid) && disk.transport != "" && !disk.rotational && !disk.readonly && !disk.cdrom',
    },
    wipe: false,
  })
})

test('settings of the kernel are merged as Talos merges them', () => {
  const before = `${patched(
    old(),
    'machine: {sysctls: {a.b: "1", c.d: "2"}, sysfs: {x: "1"}, kernel: {modules: [{name: nvme, parameters: [p=1]}, {name: zfs}]}, udev: {rules: [r1]}}',
  )}---
apiVersion: v1alpha1
kind: SysctlConfig
params: {a.b: "9"}
---
apiVersion: v1alpha1
kind: KernelModuleConfig
name: zfs
parameters: [p=2]
---
apiVersion: v1alpha1
kind: UdevRulesConfig
rules: [r2]
`
  expect(formOf(before)).toMatchObject({ form: 'partly', both: [] })
  const { yaml, dropped } = moveToDocuments(before)
  expect(errors(yaml)).toEqual([])
  expect(of(yaml, 'SysctlConfig')).toMatchObject([{ params: { 'a.b': '9', 'c.d': '2' } }])
  expect(of(yaml, 'SysfsConfig')).toMatchObject([{ params: { x: '1' } }])
  expect(of(yaml, 'KernelModuleConfig')).toMatchObject([
    { name: 'zfs', parameters: ['p=2'] },
    { name: 'nvme', parameters: ['p=1'] },
  ])
  expect(of(yaml, 'UdevRulesConfig')).toMatchObject([{ rules: ['r2'] }])
  expect(dropped.map(({ path }) => path)).toEqual(['machine.udev.rules'])
})

test.each([
  [
    'machine.kubelet.extraMounts',
    'machine: {kubelet: {extraMounts: [{destination: /a, type: bind, source: /a}]}}',
    'KubeletConfig',
  ],
  ['machine.kubelet', 'machine: {kubelet: {disableManifestsDirectory: false}}', 'KubeletConfig'],
  [
    'cluster.apiServer.extraVolumes',
    'cluster: {apiServer: {extraVolumes: [{hostPath: /a, mountPath: /a}]}}',
    'KubeAPIServerConfig',
  ],
  [
    'cluster.apiServer.extraArgs',
    'cluster: {apiServer: {extraArgs: {oidc-issuer-url: https://a}}}',
    'KubeAPIServerConfig',
  ],
  ['cluster.proxy.extraArgs', 'cluster: {proxy: {extraArgs: {v: "2"}}}', 'KubeProxyConfig'],
  [
    'cluster.scheduler.extraVolumes',
    'cluster: {scheduler: {extraVolumes: [{hostPath: /a, mountPath: /a}]}}',
    'KubeSchedulerConfig',
  ],
  [
    'cluster.discovery.registries.kubernetes',
    'cluster: {discovery: {registries: {kubernetes: {disabled: false}}}}',
    'DiscoveryServiceConfig',
  ],
  [
    'machine.install.extensions',
    'machine: {install: {extensions: [{image: a}]}}',
    'UnattendedInstallConfig',
  ],
  ['machine.features.hostDNS', 'machine: {network: {nameservers: [10.0.0.1]}}', 'ResolverConfig'],
  ['cluster.network', 'cluster: {network: {podSubnets: [10.244.0.0/25]}}', 'KubeNetworkConfig'],
])('%s stays with its component, and the others move', (path, patch, kind) => {
  const before = patched(old(), patch)
  const { yaml, stays, moved } = moveToDocuments(before)
  expect(stays.map((told) => told.path)).toEqual(
    path.startsWith('cluster.discovery') ? [path, 'cluster.id'] : [path],
  )
  expect(stays[0]!.why).not.toBe('')
  expect(of(yaml, kind)).toEqual([])
  expect(errors(yaml)).toEqual([])
  expect(factsThatDiffer(before, yaml)).toEqual([])
  expect(moved.length).toBeGreaterThan(10)
  expect(formOf(yaml)).toMatchObject({ form: 'moved', both: [], stays })
})

test('a section that another one needs stays with it', () => {
  const { yaml, stays } = afterMove(
    'cluster: {controlPlane: {localAPIServerPort: 7443}, apiServer: {extraVolumes: [{hostPath: /a, mountPath: /a}]}}',
  )
  expect(stays.map(({ path }) => path)).toEqual([
    'cluster.apiServer.extraVolumes',
    'cluster.controlPlane',
  ])
  expect(plain(yaml)[0]).toMatchObject({
    cluster: { clusterName: 'c', controlPlane: { localAPIServerPort: 7443 } },
  })
  const { yaml: whole } = afterMove('cluster: {controlPlane: {localAPIServerPort: 7443}}')
  expect(of(whole, 'KubeAPIServerConfig')).toMatchObject([{ apiPort: 7443 }])
  expect(plain(whole)[0]).not.toHaveProperty('cluster.controlPlane')
})

test('a configuration of both forms tells which component is in both', () => {
  const both = `${old()}---
apiVersion: v1alpha1
kind: KubeletConfig
image: ghcr.io/siderolabs/kubelet:v1.36.3
config: {}
`
  expect(formOf(both)).toMatchObject({
    form: 'partly',
    both: [{ path: 'machine.kubelet', kind: 'KubeletConfig' }],
  })
  const { yaml, stays } = moveToDocuments(both)
  expect(stays).toEqual([{ path: 'machine.kubelet', why: 'KubeletConfig is there already' }])
  expect(errors(yaml)).toHaveLength(1)
})

test('a configuration that was left half way through the move is finished', () => {
  const whole = moveToDocuments(old()).yaml
  // The kubelet is back in the main document, as if only the others had been moved.
  const half = patched(
    whole.replace(/---\napiVersion: v1alpha1\nkind: KubeletConfig\n[^]*?(?=---)/, ''),
    'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.36.3", defaultRuntimeSeccompProfileEnabled: true, disableManifestsDirectory: true}}',
  )
  expect(formOf(half)).toMatchObject({ form: 'partly', both: [], left: ['machine.kubelet'] })
  const { yaml } = moveToDocuments(half)
  expect(of(yaml, 'KubeletConfig')).toEqual(of(whole, 'KubeletConfig'))
  expect(formOf(yaml).form).toBe('moved')
})

test('a difference of a fact is found', () => {
  const before = old()
  const { yaml } = moveToDocuments(before)
  expect(factsThatDiffer(before, withFacts(yaml, { endpoint: 'https://b:6443' }))).toEqual([
    'endpoint',
  ])
})
