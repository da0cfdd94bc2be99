import { expect, test } from 'vitest'
import { config } from '#talos/testing/generated.ts'
import { compose, composeChange, cautionsOf } from './render.ts'

const mine = (body: string) => [{ id: 'id', name: 'mine', weight: 500, body }]
const errorsOf = (base: string, body: string) =>
  compose(base, mine(body), { talosVersion: 'v1.14.1' }).errors

test('an old path typed for a server with documents has its line, and the field that it is', () => {
  const base = config({
    talosVersion: '1.14',
    kubernetesVersion: '1.37.0',
    installImage: 'factory.talos.dev/metal-installer/a:v1.14.1',
  })
  const body = 'machine:\n  certSANs: [a]\n  kubelet:\n    extraArgs: {v: "2"}\n'
  expect(errorsOf(base, body)).toEqual([
    {
      message:
        'KubeletConfig: machine.kubelet says it already; in documents it is KubeletConfig.extraArgs',
      path: 'machine.kubelet',
      layer: 'mine',
      line: 3,
      column: 3,
    },
  ])
})

test('a document typed for a server without documents has its line', () => {
  const body =
    'machine: {certSANs: [a]}\n---\napiVersion: v1alpha1\nkind: KubeProxyConfig\nimage: registry.k8s.io/kube-proxy:v1.36.3\n'
  expect(errorsOf(config(), body)).toMatchObject([
    { path: 'cluster.proxy', layer: 'mine', line: 3 },
  ])
})

test('lines of a patch keep their layer and their place through a move to documents', () => {
  const body = `machine:
  sysctls:
    vm.swappiness: "1"
  kubelet:
    extraArgs:
      v: "2"
---
apiVersion: v1alpha1
kind: KubePrismConfig
port: 7446
`
  const { yaml, sources, errors } = compose(config(), mine(body), {
    talosVersion: 'v1.14.1',
    isMoved: true,
  })
  expect(errors).toEqual([])
  const lines = yaml.split('\n')
  const own = sources.flatMap(({ line, layer }) =>
    layer === 'mine' ? lines[line - 1]!.trim() : [],
  )
  expect(own).toEqual(
    expect.arrayContaining(['vm.swappiness: "1"', 'extraArgs:', 'v: "2"', 'port: 7446']),
  )
  // What the patch doesn't say is generated.
  expect(own.filter((line) => /image:|clusterName|kind: KubeletConfig/.test(line))).toEqual([])
})

test('a finding of a moved server names the line of the patch', () => {
  const body = 'machine:\n  kubelet:\n    extraArgs:\n      container-runtime: docker\n'
  const { findings } = compose(config(), mine(body), { talosVersion: 'v1.14.1', isMoved: true })
  expect(findings.map(({ layer, line, path }) => ({ layer, line, path }))).toEqual([
    { layer: 'mine', line: 4, path: 'extraArgs.container-runtime' },
  ])
})

const member = {
  server: 'gull',
  links: null,
  disks: null,
  systemDisk: '/dev/sda',
  isMember: true,
  addresses: null,
  taken: [],
}

test('taking the encryption of a member’s volume away is told without a layer', () => {
  const body =
    'apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}\n'
  const change = (isMember: boolean) =>
    composeChange(
      { base: config(), layers: mine(body) },
      { base: config(), layers: [] },
      { talosVersion: 'v1.13.9' },
      { ...member, isMember },
    )
  expect(cautionsOf(change(true), 'mine')).toEqual([
    {
      check: null,
      message: expect.stringMatching(/^EPHEMERAL of gull is encrypted/) as string,
      link: null,
      line: null,
    },
  ])
  expect(change(false).findings).toEqual([])
})

test('another policy of memory of a member’s kubelet is told with its line', () => {
  const body =
    'machine:\n  kubelet:\n    extraArgs:\n      memory-manager-policy: Static\n      reserved-memory: 0:memory=612Mi\n'
  const change = (isMember: boolean) =>
    composeChange(
      { base: config(), layers: [] },
      { base: config(), layers: mine(body) },
      { talosVersion: 'v1.13.9' },
      { ...member, isMember },
    )
  expect(change(true).findings.map(({ rule, line }) => ({ rule, line }))).toEqual([
    { rule: 'kubelet-change', line: 4 },
  ])
  expect(change(false).findings).toEqual([])
})
