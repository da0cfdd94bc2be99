/** Configurations of Talos 1.14, in which Kubernetes has documents of its own. */
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { config, messages, secrets } from '../testing/generated.ts'
import { hiddenIn, masked, withHidden } from './mask.ts'
import { mergePatches } from './merge.ts'
import { linkKinds, networkDocuments } from './model/network.ts'
import { checkPatch } from './patch-check.ts'
import { patchSchema } from './schema.ts'
import { validateConfig } from './validate.ts'

const talosVersion = '1.14'
const newer = { talosVersion }
const document = (kind: string, fields = '') => `apiVersion: v1alpha1\nkind: ${kind}\n${fields}`

describe('a generated configuration', () => {
  test.each(['control_plane', 'worker'] as const)(
    'of a %s is valid on 1.14, and not on 1.13',
    (role) => {
      const yaml = config({ ...newer, role })
      expect(validateConfig(yaml, newer).errors).toEqual([])
      expect(validateConfig(yaml, { talosVersion: '1.13' }).errors.length).toBeGreaterThan(5)
    },
  )

  test('of an older cluster can read objects that were encrypted by AES-CBC or not at all', () => {
    const key = 'aW4gYW4gb2xkZXIgY2x1c3RlciwgMzIgYnl0ZXMu'
    const older = { ...secrets, secrets: { ...secrets.secrets, aescbcEncryptionSecret: key } }
    const providersOf = (yaml: string) =>
      parseAllDocuments(yaml)
        .map((one) => one.toJS() as { kind?: string; config: { resources: unknown[] } })
        .find(({ kind }) => kind === 'KubeEtcdEncryptionConfig')!.config.resources
    const secretbox = {
      secretbox: { keys: [{ name: 'key2', secret: secrets.secrets.secretboxEncryptionSecret }] },
    }
    expect(providersOf(config(newer))).toEqual([{ providers: [secretbox], resources: ['secrets'] }])
    expect(providersOf(config({ ...newer, secrets: older }))).toEqual([
      {
        providers: [
          secretbox,
          { aescbc: { keys: [{ name: 'key1', secret: key }] } },
          { identity: {} },
        ],
        resources: ['secrets'],
      },
    ])
  })
})

test.each([
  [
    'cluster: {clusterName: a}',
    'KubeClusterConfig: cluster.clusterName says it already; in documents it is KubeClusterConfig.clusterName',
  ],
  [
    'machine: {kubelet: {extraArgs: {v: "2"}}}',
    'KubeletConfig: machine.kubelet says it already; in documents it is KubeletConfig.extraArgs',
  ],
  [
    'machine: {install: {disk: /dev/sda}}',
    'UnattendedInstallConfig: machine.install says it already; in documents it is UnattendedInstallConfig.provisioning.diskSelector',
  ],
  [
    document('KubeAPIServerConfig', 'extraArgs: {oidc-issuer-url: "https://a"}\n'),
    'The argument oidc-issuer-url can’t be used here: use KubeAuthenticationConfig',
  ],
  [
    document('KubeNetworkConfig', 'podSubnets: [10.12.0.0/25]\n'),
    '10.12.0.0/25 is smaller than each node’s part, /24',
  ],
  [
    document('KubeEtcdEncryptionConfig', '$patch: delete\n'),
    'A control plane needs KubeEtcdEncryptionConfig, or the key in cluster',
  ],
  [
    document('ContainerConfig', 'name: a\nimage: a/b\ndependsOn: {containers: [b]}\n'),
    'The container a waits for b, which is not there',
  ],
  [
    document('KubeServiceAccountConfig', 'issuer: {privateKey: x}\n'),
    'The key is not a readable private key in PEM',
  ],
])('a control plane is refused with %s', (patch, message) => {
  expect(messages(patch, newer)).toEqual([message])
})

test('a worker is refused with a document of control planes', () => {
  expect(messages(document('KubeCoreDNSConfig'), { ...newer, role: 'worker' })).toEqual([
    'Only a control plane may have KubeCoreDNSConfig',
  ])
})

test('search domains are replaced by a patch on 1.14 and appended on 1.13', () => {
  const layer = (domain: string) => ({
    name: domain,
    body: document('ResolverConfig', `searchDomains: {domains: [${domain}]}\n`),
  })
  const domainsOf = (version: string) =>
    mergePatches(config({ talosVersion: version }), [layer('a.example'), layer('b.example')], {
      talosVersion: version,
    }).yaml.match(/\w\.example/g)
  expect(domainsOf('1.13')).toEqual(['a.example', 'b.example'])
  expect(domainsOf('1.14')).toEqual(['b.example'])
})

test('all secrets of the documents are masked for every reader', () => {
  const yaml = config(newer)
  const shown = withHidden(yaml, hiddenIn(yaml, 'may_read_secrets'))
  const { certs } = secrets
  const lineOf = (pem: string) => pem.split('\n')[1]!
  for (const secret of [
    ...[certs.k8s.key, certs.k8sAggregator.key, certs.k8sServiceAccount.key].map(lineOf),
    secrets.cluster.secret,
    secrets.secrets.secretboxEncryptionSecret!,
    secrets.secrets.bootstrapToken,
  ]) {
    expect(yaml).toContain(secret)
    expect(shown).not.toContain(secret)
  }
  expect(shown).toContain(lineOf(certs.k8s.crt))
  expect(shown).toMatch(new RegExp(`name: key2\\n +secret: ${masked}\\n`))
})

test.each([
  'DiscoveryIdentityConfig',
  'KubeClusterConfig',
  'KubeAPIServerCAConfig',
  'KubeAggregatorCAConfig',
  'KubeEtcdEncryptionConfig',
])('a patch can neither have nor delete %s', (kind) => {
  for (const body of [document(kind), document(kind, '$patch: delete\n')])
    expect(checkPatch(body, newer).errors.map((e) => e.message)).toEqual([
      expect.stringContaining(`A patch can’t have ${kind}: `),
    ])
})

test.each([
  ['UnattendedInstallConfig', 'installer.image', 'installer: {image: a}'],
  [
    'UnattendedInstallConfig',
    'provisioning.diskSelector',
    'provisioning: {diskSelector: {match: a}}',
  ],
  ['KubeNetworkConfig', 'podSubnets', 'podSubnets: [10.1.0.0/16]'],
  ['KubeNetworkConfig', 'serviceSubnets', 'serviceSubnets: [10.1.0.0/16]'],
  ['KubeAPIServerConfig', 'apiPort', 'apiPort: 6444'],
  ['KubeServiceAccountConfig', 'issuer', 'issuer: {issuerURL: "https://a"}'],
  ['KubeServiceAccountConfig', 'accepted.publicKeys', 'accepted: {publicKeys: [a]}'],
])('a patch can’t set or delete the cluster’s own fields: %s %s', (kind, path, fields) => {
  const errors = (body: string) => checkPatch(body, newer).errors.map((e) => e.message)
  expect(errors(document(kind, fields))).toEqual([
    expect.stringContaining(`A patch can’t set ${kind} ${path}: `),
  ])
  const nested = path
    .split('.')
    .reduceRight((inner, key) => `{${key}: ${inner}}`, '{$patch: delete}')
  expect(errors(document(kind, nested.slice(1, -1)))).toEqual([
    expect.stringContaining(`A patch can’t delete ${kind} ${path}: `),
  ])
  expect(errors(document(kind, '$patch: delete\n'))).toEqual([
    expect.stringContaining(`A patch can’t delete ${kind}: `),
  ])
})

test('the schema has the documents and their fields that a patch may set', () => {
  const { KubeNetworkConfig, KubeletConfig, KubeClusterConfig } = patchSchema(talosVersion).$defs!
  expect(KubeletConfig).toHaveProperty('properties.extraArgs')
  expect(KubeNetworkConfig).toHaveProperty('properties.dnsDomain')
  expect(KubeNetworkConfig).not.toHaveProperty('properties.podSubnets')
  expect(KubeClusterConfig).toBeUndefined()
})

test('the schema says where a field of the main document is in new configurations', () => {
  const about = (version: string) =>
    JSON.stringify(patchSchema(version).$defs!['MachineConfig']!.properties!['machine'])
  expect(about(talosVersion)).toContain('New configurations have it in KubeletConfig.extraArgs')
  expect(about('1.13')).not.toContain('New configurations')
})

test('every document with the fields of a link is one of the kinds of links', () => {
  const withFields = Object.entries(networkDocuments).flatMap(([kind, { fields }]) =>
    'addresses' in fields && 'routes' in fields ? [kind] : [],
  )
  expect(withFields.toSorted()).toEqual(linkKinds.toSorted())
})
