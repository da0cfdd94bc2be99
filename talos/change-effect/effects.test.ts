import { describe, expect, test } from 'vitest'
import { mergePatches } from '../config/merge.ts'
import { documentShapes } from '../config/model/documents.ts'
import { moveToDocuments } from '../move/move.ts'
import { config } from '../testing/generated.ts'
import { changeEffects, noEffects } from './effects.ts'
import { documents } from './table.ts'

const old = config()
const fresh = moveToDocuments(old).yaml
const effects = (body: string, talosVersion = '1.14', on = talosVersion === '1.14' ? fresh : old) =>
  changeEffects(on, mergePatches(on, [{ name: 'p', body }]).yaml, talosVersion)
const document = (kind: string, fields: string) =>
  `apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`

test.each([
  ['the kubelet', 'KubeletConfig', 'clusterDNS: [10.96.0.10]', ['kubelet']],
  ['the API server', 'KubeAPIServerConfig', 'extraArgs: {v: "2"}', ['kube-apiserver']],
  ['an admission plugin', 'KubeAdmissionControlConfig', 'name: a', ['kube-apiserver']],
  ['the scheduler', 'KubeSchedulerConfig', 'extraArgs: {v: "2"}', ['kube-scheduler']],
  [
    'the controller manager',
    'KubeControllerManagerConfig',
    'extraArgs: {v: "2"}',
    ['kube-controller-manager'],
  ],
  [
    'a part of the container runtime',
    'CRICustomizationConfig',
    'name: a\ncontent: a = 1',
    ['containerd'],
  ],
  ['a kernel parameter', 'SysctlConfig', 'params: {a.b: "1"}', []],
  ['a file', 'EtcFileConfig', 'name: a\nmode: 420\ncontents: a', []],
  ['a link', 'LinkConfig', 'name: eth0\nup: true', []],
])('a change of %s applies at once', (_, kind, fields, starts) => {
  expect(effects(document(kind, fields))).toEqual({ ...noEffects, starts })
})

test('what Talos 1.14 reads only when it boots is known, although it accepts it', () => {
  expect(effects('machine: {files: [{path: /var/a, op: create, content: a}]}').restarts).toEqual([
    'machine.files',
  ])
  expect(
    effects(document('VolumeConfig', 'name: EPHEMERAL\nmount: {secure: true}')).restarts,
  ).toEqual(['VolumeConfig EPHEMERAL'])
  expect(effects(document('SecurityProfileConfig', 'workloadIsolation: true')).restarts).toEqual([
    'SecurityProfileConfig',
  ])
  expect(effects('machine: {token: other}').restarts).toEqual(['machine.token'])
})

test('a change of a part of a document does what the part does', () => {
  const volume = (fields: string) => document('VolumeConfig', `name: EPHEMERAL\n${fields}`)
  expect(effects(volume('provisioning: {maxSize: 40GiB}'))).toMatchObject({
    restarts: [],
    atInstallation: ['VolumeConfig EPHEMERAL'],
  })
  expect(effects(volume('encryption: {provider: luks2}'), '1.13').restarts).toEqual([])
  expect(effects(document('KubeNodeConfig', 'labels: {a: b}')).starts).toEqual([])
  expect(effects(document('KubeNodeConfig', 'registerWithFQDN: true')).starts).toEqual(['kubelet'])
})

test('only an installation reads how Talos is installed', () => {
  const change = document('UnattendedInstallConfig', 'provisioning: {wipe: true}')
  expect(effects(change)).toMatchObject({
    restarts: [],
    atInstallation: ['UnattendedInstallConfig'],
  })
  expect(effects('machine: {install: {wipe: true}}', '1.13')).toMatchObject({
    restarts: [],
    atInstallation: ['machine.install'],
  })
})

describe('what controllers follow since 1.14', () => {
  test.each([
    ['machine.env', 'machine: {env: {a: b}}', []],
    ['machine.udev', 'machine: {udev: {rules: [a]}}', []],
    [
      'machine.baseRuntimeSpecOverrides',
      'machine: {baseRuntimeSpecOverrides: {a: b}}',
      ['containerd'],
    ],
    [
      'machine.features.diskQuotaSupport',
      'machine: {features: {diskQuotaSupport: false}}',
      ['kubelet'],
    ],
  ])('%s needs a reboot before', (path, body, starts) => {
    expect(effects(body, '1.14', old)).toMatchObject({ restarts: [], starts })
    expect(effects(body, '1.13')).toMatchObject({ restarts: [path], starts: [] })
  })
})

test('a section of the older form starts its component again', () => {
  expect(effects('cluster: {apiServer: {extraArgs: {v: "2"}}}', '1.13')).toMatchObject({
    restarts: [],
    starts: ['kube-apiserver'],
  })
  expect(effects('machine: {nodeLabels: {a: b}}', '1.13').starts).toEqual([])
  expect(effects('cluster: {etcd: {advertisedSubnets: [10.0.0.0/8]}}').isOfEtcd).toBe(true)
})

describe('a worker', () => {
  const old = config({ role: 'worker' })

  test('does not read what only control planes run', () => {
    const body =
      'cluster: {apiServer: {extraArgs: {v: "2"}}, proxy: {mode: ipvs}, etcd: {extraArgs: {a: b}}, inlineManifests: [{name: a, contents: "a: b"}]}'
    expect(effects(body, '1.13', old)).toEqual({
      ...noEffects,
      unread: ['cluster.apiServer', 'cluster.proxy', 'cluster.etcd', 'cluster.inlineManifests'],
    })
  })

  test('starts again only what it runs', () => {
    const body = 'cluster: {externalCloudProvider: {enabled: true}}'
    expect(effects(body, '1.13', old)).toEqual({ ...noEffects, starts: ['kubelet'] })
    expect(effects(body, '1.13').starts).toContain('kube-apiserver')
  })
})

describe('objects in Kubernetes', () => {
  const url = (name: string) => `cluster: {extraManifests: ["https://a.example.org/${name}"]}`
  const inline = (contents: string, name = 'a') =>
    `cluster: {inlineManifests: [{name: ${name}, contents: "${contents}"}]}`
  const merged = (base: string, body: string) =>
    body === '' ? base : mergePatches(base, [{ name: 'p', body }]).yaml
  const between = (before: string, after: string, base = old, version = '1.13') => {
    const { atKubernetesUpgrade, left } = changeEffects(
      merged(base, before),
      merged(base, after),
      version,
    )
    return { changed: atKubernetesUpgrade, left }
  }

  test.each([
    ['the mode of kube-proxy', '', 'cluster: {proxy: {mode: ipvs}}', ['kube-proxy']],
    ['the image of CoreDNS', '', 'cluster: {coreDNS: {image: "a/b:v1"}}', ['CoreDNS']],
    [
      'arguments of Flannel',
      '',
      'cluster: {network: {cni: {name: flannel, flannel: {extraArgs: [--iface=eth0]}}}}',
      ['Flannel'],
    ],
    ['the contents of a manifest', inline('a: 1'), inline('a: 2'), ['the manifest a']],
    [
      'the URL of a manifest, whose objects may be the same',
      url('v1.yaml'),
      url('v2.yaml'),
      ['the manifest https://a.example.org/v2.yaml'],
    ],
  ])('that exist change with an upgrade of Kubernetes: %s', (_, before, after, changed) => {
    expect(between(before, after).changed).toEqual(changed)
  })

  test.each([
    ['kube-proxy', '', 'cluster: {proxy: {disabled: true}}'],
    ['CoreDNS', '', 'cluster: {coreDNS: {disabled: true}}'],
    ['Flannel', '', 'cluster: {network: {cni: {name: none}}}'],
    ['the manifest a', inline('a: 1'), ''],
  ])('stay when the configuration no longer has them: %s', (name, before, after) => {
    expect(between(before, after)).toEqual({ changed: [], left: [name] })
  })

  test.each([
    ['a new manifest', '', inline('a: 1')],
    [
      'a second manifest',
      url('a.yaml'),
      `${url('a.yaml').slice(0, -1)}, inlineManifests: [{name: b, contents: c}]}`,
    ],
    ['kube-proxy that was off', 'cluster: {proxy: {disabled: true}}', ''],
    ['an argument of the API server', '', 'cluster: {apiServer: {extraArgs: {v: "2"}}}'],
  ])('are made at once where there are none: %s', (_, before, after) => {
    expect(between(before, after)).toEqual({ changed: [], left: [] })
  })

  test('of documents are the same ones', () => {
    const off = document('KubeProxyConfig', 'enabled: false')
    const ipvs = document('KubeProxyConfig', 'mode: ipvs')
    expect(between('', ipvs, fresh, '1.14')).toEqual({ changed: ['kube-proxy'], left: [] })
    expect(between('', off, fresh, '1.14')).toEqual({ changed: [], left: ['kube-proxy'] })
    expect(between('', document('KubeFlannelCNIConfig', '$patch: delete'), fresh, '1.14')).toEqual({
      changed: [],
      left: ['Flannel'],
    })
    const manifest = (text: string) =>
      document('KubeInlineManifestConfig', `name: a\nmanifest: "${text}"`)
    expect(between(manifest('a: 1'), manifest('a: 2'), fresh, '1.14')).toEqual({
      changed: ['the manifest a'],
      left: [],
    })
  })

  test('start nothing again', () => {
    expect(effects('cluster: {network: {cni: {name: none}}}', '1.13').starts).toEqual([])
    expect(effects('cluster: {network: {dnsDomain: a.example.org}}', '1.13').starts).toContain(
      'kubelet',
    )
  })
})

test('the move to documents changes no object and needs no reboot, and starts the control plane and the kubelet again', () => {
  const { restarts, starts, ...effects } = changeEffects(old, fresh, '1.14')
  expect(restarts).toEqual([])
  expect(effects).toMatchObject({ atKubernetesUpgrade: [], left: [], unread: [] })
  expect(new Set(starts)).toEqual(
    new Set(['kubelet', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']),
  )
})

test('the table names documents that there are', () => {
  expect(Object.keys(documents).filter((kind) => !documentShapes.has(kind))).toEqual([])
})
