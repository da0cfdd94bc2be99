import { describe, expect, test } from 'vitest'
import { mergePatches } from '../config/merge.ts'
import { documentShapes } from '../config/model/documents.ts'
import { moveToDocuments } from '../move/move.ts'
import { config } from '../testing/generated.ts'
import { changeEffects } from './effects.ts'
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
  expect(effects(document(kind, fields))).toEqual({
    restarts: [],
    atInstallation: [],
    isOfEtcd: false,
    starts,
  })
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

test('the move to documents needs no reboot, and starts the control plane and the kubelet again', () => {
  const { restarts, starts } = changeEffects(old, fresh, '1.14')
  expect(restarts).toEqual([])
  expect(new Set(starts)).toEqual(
    new Set(['kubelet', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']),
  )
})

test('the table names documents that there are', () => {
  expect(Object.keys(documents).filter((kind) => !documentShapes.has(kind))).toEqual([])
})
