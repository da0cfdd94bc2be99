import { expect, test } from 'vitest'
import { config } from '#talos/testing/generated.ts'
import { compose, composeChange, cautionsOf, refusedOf } from './render.ts'

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

test('an upgrade brings what the new version of Talos refuses, and another change does not', () => {
  const body = 'cluster: {apiServer: {extraArgs: {tls-min-version: VersionTLS12}}}'
  const change = (talosVersion: string, before?: string) =>
    composeChange(
      {
        base: compose(config(), mine(body), { talosVersion: 'v1.13.9' }).yaml,
        layers: [],
        ...(before !== undefined && { versions: { talosVersion: before } }),
      },
      { base: config(), layers: mine(body) },
      { talosVersion },
      null,
    )
  expect(refusedOf(change('v1.14.1', 'v1.13.9').findings, '')).toEqual([
    {
      message:
        'mine: The argument tls-min-version of the API server belongs to Talos since 1.14, which does not start the API server with another one: take it out',
      path: 'cluster.apiServer.extraArgs.tls-min-version',
      line: null,
      column: null,
    },
  ])
  expect(change('v1.14.1').findings).toEqual([])
  expect(change('v1.13.9', 'v1.13.8').findings).toEqual([])
})

test('a rule that the version of Kubernetes before has as well is not brought by an upgrade', () => {
  const body = 'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.31.0"}}'
  const worker = config({ role: 'worker' })
  const change = (before: string) =>
    composeChange(
      {
        base: worker,
        layers: mine(body),
        versions: { talosVersion: 'v1.13.9', kubernetesVersion: before },
      },
      { base: worker, layers: mine(body) },
      { talosVersion: 'v1.13.9', kubernetesVersion: '1.35.8' },
      null,
    ).findings.map(({ rule }) => rule)
  expect(change('1.34.9')).toEqual(['version-skew'])
  expect(change('1.35.4')).toEqual([])
})

test('another domain or issuer on a member is warned of, and possible before', () => {
  const body =
    'cluster:\n  network: {dnsDomain: corp.internal}\n  apiServer: {extraArgs: {service-account-issuer: "https://a.example.org"}}\n'
  const change = (isMember: boolean) =>
    composeChange(
      { base: config(), layers: [] },
      { base: config(), layers: mine(body) },
      { talosVersion: 'v1.13.9' },
      {
        server: 'gull',
        links: null,
        disks: null,
        systemDisk: null,
        isMember,
        addresses: null,
        taken: [],
      },
    )
  expect(cautionsOf(change(true), 'mine').map(({ line }) => line)).toEqual([2, 3])
  expect(change(false).findings).toEqual([])
})
