import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { mergePatches } from '../config/merge.ts'
import { compareConfigs } from '../config/compare.ts'
import { validateConfig } from '../config/validate.ts'
import { removedIn } from '../kubernetes-removals.ts'
import { generateSecrets, secretsOfControlPlane } from '../secrets/bundle.ts'
import { inForm, rotatedSecrets } from '../secrets/rotation.ts'
import { config, secrets } from '../testing/generated.ts'
import { readyKeys } from '../testing/keys.ts'
import { factsOf, secretsIn, withFacts, withSecretsOf } from './facts.ts'
import { factsOfImages, imagesOf } from './images.ts'
import { homesOf, patchOf, patchText } from './patch.ts'
import { encryptionProblem } from './unusual-encryption.ts'

const indented = (pem: string, by: number): string =>
  pem.trimEnd().replaceAll('\n', `\n${' '.repeat(by)}`)
const base64 = (pem: string): string => Buffer.from(pem).toString('base64')
const { certs } = secrets

/** As Talos 1.14 generates it (`types/v1alpha1/testdata/stability/v1.14`), shortened. */
const inDocuments = (role: 'controlplane' | 'worker' = 'controlplane'): string => `version: v1alpha1
machine:
    type: ${role}
    token: ${secrets.trustdInfo.token}
    ca:
        crt: ${base64(certs.os.crt)}
        key: ${role === 'worker' ? '""' : base64(certs.os.key)}
    certSANs:
        - 10.0.0.5
cluster:
    token: ${secrets.secrets.bootstrapToken}
${
  role === 'worker'
    ? ''
    : `    etcd:
        ca:
            crt: ${base64(certs.etcd.crt)}
            key: ${base64(certs.etcd.key)}
`
}---
apiVersion: v1alpha1
kind: DiscoveryIdentityConfig
clusterID: ${secrets.cluster.id}
clusterSecret: ${secrets.cluster.secret}
---
apiVersion: v1alpha1
kind: UnattendedInstallConfig
installer:
    image: factory.talos.dev/metal-installer/a:v1.14.1
provisioning:
    diskSelector:
        match: disk.dev_path == "/dev/sda"
    wipe: false
---
apiVersion: v1alpha1
kind: KubeClusterConfig
clusterName: c
endpoint: https://10.0.0.1:6443
---
apiVersion: v1alpha1
kind: KubeletConfig
image: ghcr.io/siderolabs/kubelet:v1.37.0
config:
    featureGates:
        SizeMemoryBackedVolumes: true
extraArgs:
    cloud-config: /etc/cloud
---
apiVersion: v1alpha1
kind: KubeNetworkConfig
dnsDomain: cluster.local
podSubnets:
    - 10.244.0.0/16
serviceSubnets:
    - 10.96.0.0/12
---
apiVersion: v1alpha1
kind: KubeAPIServerCAConfig
${
  role === 'worker'
    ? `acceptedCAs:
    - |
      ${indented(certs.k8s.crt, 6)}
`
    : `issuingCA:
    cert: |
        ${indented(certs.k8s.crt, 8)}
    key: |
        ${indented(certs.k8s.key, 8)}
---
apiVersion: v1alpha1
kind: KubeAggregatorCAConfig
issuingCA:
    cert: |
        ${indented(certs.k8sAggregator.crt, 8)}
    key: |
        ${indented(certs.k8sAggregator.key, 8)}
---
apiVersion: v1alpha1
kind: KubeEtcdEncryptionConfig
config:
    resources:
        - providers:
            - secretbox:
                keys:
                    - name: key2
                      secret: ${secrets.secrets.secretboxEncryptionSecret}
          resources:
            - secrets
---
apiVersion: v1alpha1
kind: KubeServiceAccountConfig
issuer:
    privateKey: |
        ${indented(certs.k8sServiceAccount.key, 8)}
    issuerURL: https://10.0.0.1:6443
---
apiVersion: v1alpha1
kind: KubeAPIServerConfig
image: registry.k8s.io/kube-apiserver:v1.37.0
certExtraSANs:
    - api.example.com
extraArgs:
    feature-gates:
        - AppArmor=true
---
apiVersion: v1alpha1
kind: KubeControllerManagerConfig
image: registry.k8s.io/kube-controller-manager:v1.37.0
---
apiVersion: v1alpha1
kind: KubeSchedulerConfig
image: registry.k8s.io/kube-scheduler:v1.37.0
config: {}
---
apiVersion: v1alpha1
kind: KubeProxyConfig
image: registry.k8s.io/kube-proxy:v1.37.0
config: {}
`
}`

const inMain = (role: 'control_plane' | 'worker' = 'control_plane'): string =>
  config({ role, installImage: 'factory.talos.dev/metal-installer/a:v1.13.9' })
const patched = (on: string, body: string): string =>
  mergePatches(on, [{ name: 'patch', body }]).yaml
const plain = (yaml: string) => parseAllDocuments(yaml).map((d) => d.toJS() as unknown)

const homes: [string, typeof inMain][] = [
  ['the main document', inMain],
  ['documents', (role) => inDocuments(role === 'worker' ? 'worker' : 'controlplane')],
  [
    'documents that Steelyard generates',
    (role) =>
      config({
        role: role ?? 'control_plane',
        talosVersion: '1.14',
        kubernetesVersion: '1.37.0',
        installImage: 'factory.talos.dev/metal-installer/a:v1.14.1',
      }),
  ],
]

describe.each(homes)('a configuration with its facts in %s', (_, make) => {
  test('tells the same facts', () => {
    const { endpoint, clusterName, podSubnets, serviceSubnets, machineType, isProxyDisabled } =
      factsOf(make())
    expect({ endpoint, clusterName, podSubnets, serviceSubnets, machineType }).toEqual({
      endpoint: 'https://10.0.0.1:6443',
      clusterName: 'c',
      podSubnets: ['10.244.0.0/16'],
      serviceSubnets: ['10.96.0.0/12'],
      machineType: 'controlplane',
    })
    expect(isProxyDisabled).toBe(false)
    expect(Object.keys(imagesOf(make()))).toEqual([
      'install',
      'kubelet',
      'apiServer',
      'controllerManager',
      'scheduler',
      'proxy',
    ])
    expect(Object.keys(imagesOf(make('worker')))).toEqual(['install', 'kubelet'])
  })

  test('has all secrets of its cluster', () => {
    expect(secretsOfControlPlane(make())).toEqual(secrets)
  })

  test('gets other values in the home that it has, and nothing else changes', () => {
    const before = make()
    const values = {
      endpoint: 'https://new.example.com:6443',
      apiServerNames: ['a.example.com', 'b.example.com'],
      proxyImage: 'registry.example.com/kube-proxy:v1.2.3',
      installImage: 'registry.example.com/installer:v1',
      kubeletImage: 'registry.example.com/kubelet:v1',
      isProxyDisabled: true,
    }
    const after = withFacts(before, values)
    expect(factsOf(after)).toEqual({ ...factsOf(before), ...values })
    expect(plain(after)).toHaveLength(plain(before).length)
    expect(homesOf(after)).toEqual(homesOf(before))
    const { virtualAddresses: _links, ...all } = factsOf(before)
    const back = withFacts(after, all)
    expect(factsOf(back)).toEqual(factsOf(before))
  })

  test('takes the secrets of another configuration, and no key on a worker', async () => {
    const to = await rotatedSecrets(secrets, 'kubernetes_ca', new Date())
    const rotation = { what: 'kubernetes_ca', from: secrets, to } as const
    for (const role of ['control_plane', 'worker'] as const) {
      const before = make(role)
      const after = inForm(before, role === 'control_plane', rotation, 'switched')
      expect(secretsIn(after).kubernetesAuthorities).toEqual({
        issuing: role === 'worker' ? { crt: to.certs.k8s.crt, key: '' } : to.certs.k8s,
        accepted: [secrets.certs.k8s.crt],
      })
      const { key } = to.certs.k8s
      const holdsKey = after.includes(key.split('\n')[1]!) || after.includes(base64(key))
      expect(holdsKey).toBe(role === 'control_plane')
      const compared = compareConfigs(before, after)
      expect(compared.hasOtherKubernetes).toBe(true)
      expect(compared.secrets.length).toBeGreaterThan(0)
      expect(compareConfigs(withSecretsOf(before, after), after)).toMatchObject({
        same: true,
        secrets: [],
      })
      const end = inForm(after, role === 'control_plane', rotation, 'old')
      expect(compareConfigs(end, before)).toMatchObject({ same: true, hasOtherKubernetes: false })
    }
  })

  test('images that others changed are no difference', () => {
    const before = make()
    const images = { apiServer: 'r/kube-apiserver:v9', kubelet: 'r/kubelet:v9' }
    const after = withFacts(before, factsOfImages(images))
    expect(compareConfigs(before, after)).toMatchObject({
      same: true,
      images: { ...imagesOf(before), ...images },
    })
  })
})

test('each component has its own home', () => {
  // The kubelet has moved, the API server hasn't.
  const [main] = inMain().split('---\n')
  const mixed = `${main!.replace(/^ {4}kubelet:\n(?: {8}.*\n)+/m, '')}---
apiVersion: v1alpha1
kind: KubeletConfig
image: r/kubelet:v1
config: {}
`
  expect(imagesOf(mixed)).toMatchObject({
    kubelet: 'r/kubelet:v1',
    apiServer: imagesOf(inMain()).apiServer,
  })
  const documents = plain(
    withFacts(mixed, { kubeletImage: 'r/kubelet:v2', apiServerImage: 'r/api:v2' }),
  )
  expect(documents).toHaveLength(2)
  expect(documents[0]).toMatchObject({ cluster: { apiServer: { image: 'r/api:v2' } } })
  expect(documents[0]).not.toHaveProperty('machine.kubelet')
  expect(documents[1]).toMatchObject({ image: 'r/kubelet:v2' })
  expect(homesOf(mixed)).toEqual(['KubeletConfig'])
})

test('a fact that is told nowhere yet gets the home of the other components', () => {
  const names = { apiServerNames: ['a.example.com'] }
  const without = inDocuments().replace(
    /---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig[^]*?(?=---)/,
    '',
  )
  expect(imagesOf(without).apiServer).toBeUndefined()
  const after = withFacts(without, names)
  expect(plain(after).at(-1)).toMatchObject({
    apiVersion: 'v1alpha1',
    kind: 'KubeAPIServerConfig',
    certExtraSANs: ['a.example.com'],
  })
  const bare = 'version: v1alpha1\nmachine:\n    type: controlplane\n'
  expect(plain(withFacts(bare, names))).toMatchObject([
    { cluster: { apiServer: { certSANs: ['a.example.com'] } } },
  ])
})

test('the keys of Secrets stay readable if a configuration gets those of the other form', async () => {
  const old = await generateSecrets({ now: new Date(), keys: await readyKeys() })
  old.secrets.aescbcEncryptionSecret = Buffer.alloc(32, 7).toString('base64')
  const before = withSecretsOf(inDocuments(), inMain())
  expect(compareConfigs(before, inDocuments()).secrets).toEqual([])
  const after = withSecretsOf(inDocuments(), config({ secrets: old }))
  expect(secretsOfControlPlane(after)).toEqual(old)
  const encryption = plain(after).find(
    (d) => (d as { kind?: string }).kind === 'KubeEtcdEncryptionConfig',
  )
  expect(encryption).toMatchObject({
    config: {
      resources: [
        {
          resources: ['secrets'],
          providers: [
            { secretbox: { keys: [{ name: 'key2' }] } },
            { aescbc: { keys: [{ name: 'key1' }] } },
            { identity: {} },
          ],
        },
      ],
    },
  })
  expect(secretsOfControlPlane(withSecretsOf(inMain(), after))).toEqual(old)
})

test('a copied encryption configuration keeps what the keys don’t tell', () => {
  const third = inDocuments().replace(
    '            - secretbox:',
    '            - kms:\n                name: vault\n            - secretbox:',
  )
  const after = withSecretsOf(inDocuments(), third)
  expect(after).toContain('name: vault')
  expect(compareConfigs(after, third).secrets).toEqual([])
  expect(compareConfigs(inDocuments(), third).secrets).toEqual(['KubeEtcdEncryptionConfig.config'])
})

test('an encryption that the secrets of a cluster don’t tell is known', () => {
  expect(encryptionProblem(inMain())).toBeNull()
  expect(encryptionProblem(inDocuments())).toBeNull()
  const key = (name: string) => `{keys: [{name: ${name}, secret: YQ==}]}`
  const of = (providers: string, resources = '[secrets]') =>
    encryptionProblem(
      `apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\nconfig: {resources: [{resources: ${resources}, providers: [${providers}]}]}`,
    )
  const [secretbox, aescbc] = [`{secretbox: ${key('key2')}}`, `{aescbc: ${key('key1')}}`]
  for (const good of [
    secretbox,
    `${secretbox}, ${aescbc}, {identity: {}}`,
    `${aescbc}, {identity: {}}`,
  ])
    expect(of(good)).toBeNull()
  // As Talos 1.14 generates it from a bundle with an AES-CBC key.
  expect(of(`{secretbox: ${key('key1')}}`)).toMatch(/another name than key2/)
  expect(of(`${secretbox}, ${secretbox}`)).toMatch(/twice/)
  expect(of(`${aescbc}, ${secretbox}`)).toMatch(/usual order/)
  expect(of('{kms: {name: vault}}')).toMatch(/provider kms/)
  expect(of('{secretbox: {keys: [{name: key2}, {name: key3}]}}')).toMatch(/several keys/)
  expect(of(secretbox, '[secrets, configmaps]')).toMatch(/configmaps/)
  expect(of('')).toMatch(/no providers/)
})

test('tokens of service accounts stay valid when the endpoint changes', () => {
  const account = (yaml: string) =>
    plain(yaml).find((d) => (d as { kind?: string }).kind === 'KubeServiceAccountConfig')
  const [first, second] = ['https://10.0.0.1:6443', 'https://b.example.com:6443']
  const once = withFacts(inDocuments(), { endpoint: second })
  expect(account(once)).toMatchObject({
    issuer: { issuerURL: second },
    accepted: { issuers: [first], audiences: [second, first] },
  })
  const twice = withFacts(once, { endpoint: 'https://c.example.com:6443' })
  expect(account(twice)).toMatchObject({
    accepted: {
      issuers: [second, first],
      audiences: ['https://c.example.com:6443', second, first],
    },
  })
  // An issuer that isn't the endpoint is chosen by somebody.
  const chosen = inDocuments().replace(`issuerURL: ${first}`, 'issuerURL: https://id.example.com')
  expect(account(withFacts(chosen, { endpoint: second }))).toEqual(account(chosen))
})

test('authorities of an aggregation that others accept stay accepted in a rotation', async () => {
  const to = await rotatedSecrets(secrets, 'aggregator_ca', new Date())
  const theirs = inDocuments().replace(
    'kind: KubeAggregatorCAConfig\n',
    `kind: KubeAggregatorCAConfig\nacceptedCAs:\n    - |\n      ${indented(certs.k8s.crt, 6)}\n`,
  )
  const rotation = { what: 'aggregator_ca', from: secrets, to } as const
  expect(secretsIn(inForm(theirs, true, rotation, 'new')).aggregatorAuthorities).toEqual({
    issuing: to.certs.k8sAggregator,
    accepted: [certs.k8s.crt],
  })
})

test('removed flags and feature gates are found in documents too', () => {
  expect(removedIn(inDocuments(), 33)).toEqual(['kube-apiserver: feature gate AppArmor'])
  expect(removedIn(inDocuments(), 34)).toEqual(['kubelet: flag cloud-config'])
  expect(removedIn(inDocuments(), 35)).toEqual(['kubelet: feature gate SizeMemoryBackedVolumes'])
})

test('virtual addresses are found in both forms', () => {
  const own = patched(
    inMain(),
    'machine:\n  network:\n    interfaces:\n      - interface: eth0\n        vip:\n          ip: 10.0.0.8\n',
  )
  const document = 'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.9\nlink: eth0\n'
  expect(factsOf(`${own}---\n${document}`).virtualAddresses).toEqual(['10.0.0.9', '10.0.0.8'])
})

describe('a patch', () => {
  const values = {
    installDisk: { device: '/dev/sda', wwid: 'naa.5' },
    installImage: 'factory.talos.dev/metal-installer/a:v2',
    talosNames: ['10.0.0.5'],
    apiServerNames: ['10.0.0.1'],
    kubeletImage: 'ghcr.io/siderolabs/kubelet:v1.36.9',
  }

  test('of a configuration in the main document is one document', () => {
    const [patch, ...others] = patchOf(homesOf(inMain()), values)
    expect(others).toEqual([])
    expect(patch).toEqual({
      machine: {
        install: {
          disk: '/dev/sda',
          diskSelector: { wwid: 'naa.5' },
          image: 'factory.talos.dev/metal-installer/a:v2',
        },
        certSANs: ['10.0.0.5'],
        kubelet: { image: values.kubeletImage },
      },
      cluster: { apiServer: { certSANs: ['10.0.0.1'] } },
    })
    const after = patched(inMain(), patchText([patch!]))
    expect(factsOf(after)).toMatchObject({ kubeletImage: values.kubeletImage })
  })

  test('of a generated configuration for Talos 1.14 is valid', () => {
    for (const role of ['control_plane', 'worker'] as const) {
      const base = config({ role, talosVersion: '1.14', kubernetesVersion: '1.37.0' })
      const { apiServerNames: names, ...others } = values
      const wanted = role === 'worker' ? others : { ...others, apiServerNames: names }
      const after = patched(base, patchText(patchOf(homesOf(base), wanted)))
      expect(validateConfig(after, { talosVersion: '1.14' }).errors).toEqual([])
      const { installDisk: _disk, ...set } = wanted
      expect(factsOf(after)).toMatchObject(set)
    }
  })

  test('of a configuration in documents sets their fields, and never wipes a disk', () => {
    const patch = patchOf(homesOf(inDocuments()), values)
    const kind = (name: string) => ({ apiVersion: 'v1alpha1', kind: name })
    expect(patch).toEqual([
      { machine: { certSANs: ['10.0.0.5'] } },
      {
        ...kind('UnattendedInstallConfig'),
        provisioning: { diskSelector: { match: 'disk.wwid == "naa.5"' }, wipe: false },
        installer: { image: 'factory.talos.dev/metal-installer/a:v2' },
      },
      { ...kind('KubeAPIServerConfig'), certExtraSANs: ['10.0.0.1'] },
      { ...kind('KubeletConfig'), image: values.kubeletImage },
    ])
    const byName = patchOf(homesOf(inDocuments()), {
      installDisk: { device: '/dev/sda', wwid: null },
    })
    expect(byName).toMatchObject([
      { provisioning: { diskSelector: { match: 'disk.dev_path == "/dev/sda"' } } },
    ])
  })
})
