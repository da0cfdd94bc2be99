import { describe, expect, test } from 'vitest'
import { hardwareOf } from '../fleet/hardware.ts'
import { lineDiff } from './diff.ts'
import { matchDisk } from './disk-selector.ts'
import { judgeConfig } from './judge.ts'
import { multiError } from './multi-error.ts'
import { loadConfig } from './load.ts'
import { addressWith, admits } from './network.ts'
import { readNodeConfig } from './node-config.ts'
import { rebootReasons } from './reboot.ts'
import { imageTag, kubernetesRange, minorOf } from './versions.ts'

const PEM = (what: string): string =>
  Buffer.from(`-----BEGIN ${what}-----\nMA==\n-----END ${what}-----\n`).toString('base64')
const PAIR = `{crt: ${PEM('CERTIFICATE')}, key: ${PEM('PRIVATE KEY')}}`

/** The minimal configuration that a control plane accepts, written by hand. */
const CONTROL = `version: v1alpha1
machine:
  type: controlplane
  token: abcdef.0123456789abcdef
  ca: ${PAIR}
  kubelet: {image: ghcr.io/siderolabs/kubelet:v1.36.3}
  install: {disk: /dev/sda, image: ghcr.io/siderolabs/installer:v1.13.9}
  features: {diskQuotaSupport: true}
cluster:
  id: aWQ=
  secret: c2VjcmV0
  clusterName: blue
  controlPlane: {endpoint: https://10.0.0.10:6443}
  network: {dnsDomain: cluster.local, podSubnets: [10.244.0.0/16], serviceSubnets: [10.96.0.0/12]}
  token: abcdef.0123456789abcdef
  ca: ${PAIR}
  etcd: {ca: ${PAIR}}
  discovery: {enabled: true, registries: {kubernetes: {disabled: true}, service: {}}}
`
const disks = hardwareOf('seed', 0, 'dell-r650').disks
const judged = (text: string, talosVersion = 'v1.13.9', installed = false): string[] =>
  judgeConfig(loadConfig(text, minorOf(talosVersion)), { talosVersion, installed, disks }).errors
const loaded = (text: string): ReturnType<typeof loadConfig> => loadConfig(text, 13)

test('a valid configuration is parsed without errors', () => {
  expect(judged(CONTROL)).toEqual([])
  expect(readNodeConfig(loaded(CONTROL))).toMatchObject({
    role: 'controlplane',
    kubeletVersion: 'v1.36.3',
    install: { disk: '/dev/sda' },
    cluster: { name: 'blue', discovery: true, apiServerVersion: 'v1.36.3' },
  })
  expect(
    readNodeConfig(loaded('apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n')),
  ).toBeNull()
})

describe("loading, with the error messages of Talos's loader", () => {
  const MAIN = 'machine: {type: worker}\n'
  const HOSTNAME = 'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n'
  test.each([
    ['no document', '', 'config not found'],
    [
      'two main documents',
      `${MAIN}---\n${MAIN}`,
      'duplicate document /v1alpha1/ is not allowed (line 3)',
    ],
    [
      'a document twice',
      `${MAIN}---\n${HOSTNAME}---\n# again\n${HOSTNAME}`,
      'duplicate document v1alpha1/HostnameConfig/ is not allowed (line 8)',
    ],
    [
      'two kinds for one link',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: a\n---\napiVersion: v1alpha1\nkind: DummyLinkConfig\nname: a\n',
      'conflicting documents: LinkConfig/a and DummyLinkConfig/a',
    ],
    [
      'no document of a kind',
      'version: v1alpha1\n',
      'error decoding document /v1alpha1/ (line 1): missing kind',
    ],
    [
      'a document without a kind',
      'apiVersion: v1alpha1\n',
      'error decoding document v1alpha1/v1alpha1/ (line 1): unknown keys found during decoding:\napiVersion: v1alpha1\n',
    ],
    [
      'a document without a version',
      'kind: LinkConfig\n',
      'error decoding document /LinkConfig/ (line 1): missing apiVersion',
    ],
    [
      'an unknown kind',
      '\napiVersion: v1alpha1\nkind: FooConfig\nname: x\n',
      'error decoding document v1alpha1/FooConfig/x (line 2): "FooConfig" "v1alpha1": not registered',
    ],
    [
      'a kind of a later Talos',
      'apiVersion: v1alpha1\nkind: UnattendedInstallConfig\n',
      'error decoding document v1alpha1/UnattendedInstallConfig/ (line 1): "UnattendedInstallConfig" "v1alpha1": not registered',
    ],
    [
      'unknown keys',
      'version: v1alpha1\nmachine:\n  type: worker\n  foo: bar\n  features: {nope: {a: [1, "x"]}}\n  network:\n    interfaces:\n      - interface: a\n        zip: 1\n      - interface: b\nnonsense: 1\n',
      'error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\nmachine:\n    features:\n        nope: {a: [1, "x"]}\n    foo: bar\n    network:\n        interfaces:\n            - zip: 1\nnonsense: 1\n',
    ],
    [
      'text for a flag',
      'machine: {type: worker, features: {diskQuotaSupport: maybe}}\n',
      'error decoding document /v1alpha1/ (line 1): error decoding  to *v1alpha1.Config: yaml: construct errors:\n  line 1: cannot construct !!str `maybe` into bool',
    ],
    [
      'a map for a text',
      'machine:\n  type: worker\n  features: {diskQuotaSupport: "yes"}\ncluster:\n  clusterName: {a: b}\n',
      'error decoding document /v1alpha1/ (line 1): error decoding  to *v1alpha1.Config: yaml: construct errors:\n  line 5: cannot construct !!map into string',
    ],
    [
      'a key twice',
      'machine:\n  type: worker\n  type: worker\n',
      'error decoding document /v1alpha1/ (line 1): error decoding  to *v1alpha1.Config: yaml: construct errors:\n  line 3: mapping key "type" already defined at line 2',
    ],
    ['no map', '- a\n', 'expected a YAML document at line 1'],
    ['text', 'hello\n', 'expected a YAML document at line 1'],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nmachine: {}\n`,
      'error decoding document /v1alpha1/ (line 1): yaml: document contains excessive aliasing',
    ],
  ])('loading refuses %s', (_, text, reason) => {
    expect(() => loaded(text)).toThrow(
      expect.objectContaining({ name: 'ConfigError', message: reason }),
    )
  })

  test('invalid YAML is refused with a decode error', () => {
    expect(() => loaded('a: [\n')).toThrow(/^decode error: yaml: .* at line \d+$/)
    expect(() => loaded('machine:\n  type: worker\n x: y\n')).toThrow(
      /^decode error: yaml: .* at line \d+$/,
    )
  })

  test('a document kind that Talos 1.13 added is refused for 1.12', () => {
    const text = 'apiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: false\n'
    expect(loadConfig(text, 13).documents).toHaveLength(1)
    expect(() => loadConfig(text, 12)).toThrow('not registered')
  })
})

describe('validation', () => {
  const document = (text: string): string => `${CONTROL}---\napiVersion: v1alpha1\n${text}`
  test.each([
    [
      'no machine',
      CONTROL.replace(/machine:[\s\S]*cluster:/, 'cluster:'),
      'machine instructions are required',
    ],
    [
      'no endpoint',
      CONTROL.replace('{endpoint: https://10.0.0.10:6443}', '{}'),
      'endpoint is required',
    ],
    [
      'a bare host as endpoint',
      CONTROL.replace('https://10.0.0.10:6443', '10.0.0.10'),
      'invalid controlplane endpoint: hostname must not be blank',
    ],
    [
      'an unknown type',
      CONTROL.replace('type: controlplane', 'type: manager'),
      'unknown machine type',
    ],
    [
      'a control plane without its key',
      CONTROL.replace(`ca: ${PAIR}`, `ca: {crt: ${PEM('CERTIFICATE')}}`),
      'key is required for controlplane nodes',
    ],
    [
      'a worker with keys and etcd',
      CONTROL.replace('type: controlplane', 'type: worker'),
      'etcd config is only allowed on control plane machines',
    ],
    [
      'nowhere to install',
      CONTROL.replace('disk: /dev/sda, ', ''),
      'either install disk or diskSelector',
    ],
    [
      'a selector that finds nothing',
      CONTROL.replace('disk: /dev/sda,', 'diskSelector: {model: "Nope*"},'),
      'no disks matched the expression',
    ],
    [
      'kernel arguments beside a UKI',
      CONTROL.replace(
        'disk: /dev/sda,',
        'disk: /dev/sda, extraKernelArgs: [a], grubUseUKICmdline: true,',
      ),
      "can't be used together",
    ],
    [
      'Kubernetes that is too old',
      CONTROL.replace('v1.36.3', 'v1.30.9'),
      'kubelet image is not valid: version of Kubernetes 1.30.9 is too old to be used with Talos 1.13.9',
    ],
    [
      'Kubernetes that is too new',
      CONTROL.replace('v1.36.3', 'v1.37.0'),
      'kubelet image is not valid: version of Kubernetes 1.37.0 is too new to be used with Talos 1.13.9',
    ],
    [
      'an image without a tag',
      CONTROL.replace(':v1.36.3', ''),
      'kubelet image is not valid: failed to parse Kubernetes version from image reference "ghcr.io/siderolabs/kubelet": invalid image reference',
    ],
    [
      'discovery without an id',
      CONTROL.replace('  id: aWQ=\n', ''),
      'cluster discovery service requires .cluster.id',
    ],
    [
      'a wrong CNI',
      CONTROL.replace('dnsDomain: cluster.local', 'cni: {name: nope}'),
      'cni name should be one of',
    ],
    ['an empty host name document', document('kind: HostnameConfig\n'), 'must be set'],
    [
      'a host name that is both',
      document('kind: HostnameConfig\nauto: stable\nhostname: a\n'),
      'at the same time',
    ],
    [
      'a VLAN out of range',
      document('kind: VLANConfig\nname: a.1\nvlanID: 4095\nparent: a\n'),
      'between 1 and 4094',
    ],
    [
      'a nameless document of a kind with names',
      document('kind: LinkConfig\n'),
      'LinkConfig/: name must be specified',
    ],
    [
      'a virtual address without a link',
      document('kind: Layer2VIPConfig\nname: 10.0.0.5\n'),
      'Layer2VIPConfig/10.0.0.5: link must be specified',
    ],
  ])('validation refuses %s', (_, text, reason) => {
    expect(judged(text).join('\n')).toContain(reason)
  })

  test('the errors of the main document are combined into one error; those of every further document are listed one per line', () => {
    const text = document(
      'kind: HostnameConfig\nhostname: a\nauto: stable\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: x\n',
    )
    const worker = text
      .replace('type: controlplane', 'type: worker')
      .replace('dnsDomain: cluster.local', 'dnsDomain: a b')
    const { errors, by } = judgeConfig(loaded(worker), {
      talosVersion: 'v1.13.9',
      installed: false,
      disks,
    })
    expect(by).toBe('validation')
    // The expected text is the output of Talos's own code (pkg/machinery 1.13.9: configloader and
    // Validate).
    expect(multiError(errors)).toBe(
      [
        '3 errors occurred:',
        '\t* v1alpha1.Config: 5 errors occurred:',
        '\t* "a b" is not a valid DNS name',
        '\t* etcd config is only allowed on control plane machines',
        '\t* cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)',
        '\t* issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)',
        '\t* issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)',
        '\n',
        "\t* HostnameConfig: 'auto' and 'hostname' cannot be set at the same time",
        '\t* VLANConfig/x: vlanID must be specified and between 1 and 4094',
        'parent must be specified\n\n',
      ].join('\n'),
    )
  })

  test('invalid subnets are accepted, as Talos does', () => {
    expect(judged(CONTROL.replace('10.244.0.0/16', '10.244.0.0/33'))).toEqual([])
  })

  test('a configuration without an install disk is accepted if Talos is installed', () => {
    expect(judged(CONTROL.replace('disk: /dev/sda, ', ''), 'v1.13.9', true)).toEqual([])
    expect(
      judged(document('kind: HostnameConfig\nauto: off\nhostname: amber-falcon-204\n')),
    ).toEqual([])
  })

  test('Talos 1.12 refuses Kubernetes 1.36, which Talos 1.13 accepts, and accepts 1.35', () => {
    expect(judged(CONTROL, 'v1.12.11').join()).toContain('too new')
    expect(judged(CONTROL.replace('v1.36.3', 'v1.35.4'), 'v1.12.11')).toEqual([])
    expect(kubernetesRange(13)).toEqual({ min: 31, max: 36 })
  })
})

describe('the address of a server', () => {
  const link = { name: 'enp1s0f0', mac: '94:6d:ae:00:00:01' }
  const addressOf = (text: string): string | null =>
    addressWith(
      loaded(`${CONTROL}${text === '' ? '' : `---\napiVersion: v1alpha1\n${text}`}`),
      link,
      '10.0.0.5',
    )
  test.each([
    ['without a word about links', '', '10.0.0.5'],
    [
      'with a VLAN on it alone',
      'kind: VLANConfig\nname: enp1s0f0.7\nvlanID: 7\nparent: enp1s0f0\n',
      null,
    ],
    ['with DHCP on it', 'kind: DHCPv4Config\nname: enp1s0f0\n', '10.0.0.5'],
    ['with DHCP on another', 'kind: DHCPv4Config\nname: enp1s0f1\n', null],
    [
      'with the address written down',
      'kind: LinkConfig\nname: enp1s0f0\naddresses: [{address: 10.0.0.5/24}]\n',
      '10.0.0.5',
    ],
    [
      'with another address',
      'kind: LinkConfig\nname: enp1s0f0\naddresses: [{address: 10.0.0.6/24}]\n',
      null,
    ],
    [
      'with another address of the simulated network',
      'kind: LinkConfig\nname: enp1s0f0\naddresses: [{address: 127.20.250.6/8}]\n',
      '127.20.250.6',
    ],
    [
      'with DHCP beside such an address',
      'kind: LinkConfig\nname: enp1s0f0\naddresses: [{address: 127.20.250.6/8}]\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: enp1s0f0\n',
      '10.0.0.5',
    ],
    [
      'with the link set down',
      'kind: LinkConfig\nname: enp1s0f0\nup: false\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: enp1s0f0\n',
      null,
    ],
    [
      'in a VRF',
      'kind: VRFConfig\nname: vrf0\nlinks: [enp1s0f0]\ntable: "10"\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: enp1s0f0\n',
      null,
    ],
    [
      'with DHCP on the bond over it',
      'kind: BondConfig\nname: bond0\nlinks: [enp1s0f0]\nbondMode: active-backup\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: bond0\n',
      '10.0.0.5',
    ],
    [
      'with DHCP on it below a bond',
      'kind: BondConfig\nname: bond0\nlinks: [enp1s0f0]\nbondMode: active-backup\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: enp1s0f0\n',
      null,
    ],
    [
      'by an alias',
      'kind: LinkAliasConfig\nname: net0\nselector: {match: mac(link.permanent_addr) == "94:6d:ae:00:00:01"}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: net0\n',
      '10.0.0.5',
    ],
  ])('%s', (_, text, address) => {
    expect(addressOf(text)).toBe(address)
  })
})

test('the changed fields that need a reboot are listed', () => {
  const reasons = (text: string): string[] => rebootReasons(loaded(CONTROL), loaded(text))
  expect(reasons(CONTROL)).toEqual([])
  expect(reasons(CONTROL.replace('clusterName: blue', 'clusterName: red'))).toEqual([])
  expect(reasons(CONTROL.replace('  type:', '  sysctls: {a: b}\n  type:'))).toEqual([])
  expect(reasons(CONTROL.replace('  type:', '  env: {a: b}\n  type:'))).toEqual(['.machine.env'])
  expect(reasons(CONTROL.replace('diskQuotaSupport: true', 'diskQuotaSupport: false'))).toEqual([
    '.machine.features.diskQuotaSupport',
  ])
  expect(
    reasons(`${CONTROL}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: b\n`),
  ).toEqual([])
})

test('a disk matches a selector only if it matches every field', () => {
  const [sata] = disks
  expect(matchDisk({ size: '<= 1TB', type: 'ssd' }, sata!)).toBe(true)
  expect(matchDisk({ size: '> 1TB' }, sata!)).toBe(false)
  expect(matchDisk({ model: 'INTEL*' }, sata!)).toBe(true)
  expect(matchDisk({ model: 'INTEL*', serial: 'other' }, sata!)).toBe(false)
  expect(matchDisk({ wwid: sata!.wwid }, sata!)).toBe(true)
})

test('the tag of an image reference is read', () => {
  expect(imageTag('ghcr.io/siderolabs/kubelet:v1.36.3')).toBe('v1.36.3')
  expect(imageTag(`registry:5000/a/b:v1@sha256:${'0'.repeat(64)}`)).toBe('v1')
  expect(imageTag('registry:5000/a/b')).toBeNull()
})

test('a diff shows changes with their context', () => {
  expect(lineDiff('a\nb\nc', 'a\nb\nc')).toBe('')
  // The expected text is the output of Talos's own code (pkg/machinery 1.13.9: textdiff).
  expect(lineDiff('a\nb\nc\n', 'a\nx\nc\n')).toBe('--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n')
  expect(lineDiff('', 'a\nx\n')).toBe('--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+x\n')
  const numbers = Array.from({ length: 20 }, (_, index) => `${index}\n`)
  expect(
    lineDiff(numbers.join(''), numbers.with(4, 'four\n').with(19, 'last\n').join(''))
      .split('\n')
      .filter((line) => line.startsWith('@@')),
  ).toEqual(['@@ -2,7 +2,7 @@', '@@ -17,4 +17,4 @@'])
})

describe('the ingress firewall', () => {
  const block = 'kind: NetworkDefaultActionConfig\ningress: block\n'
  const rule =
    'kind: NetworkRuleConfig\nname: api\nportSelector: {ports: [50000-50001], protocol: tcp}\ningress: [{subnet: 10.0.0.0/8, except: 10.9.0.0/16}]\n'
  const lets = (texts: string[], port: number, from: string): boolean =>
    admits(
      loaded([CONTROL, ...texts.map((text) => `apiVersion: v1alpha1\n${text}`)].join('---\n')),
      port,
      from,
    )
  test.each([
    ['lets all in without rules', [], 50_000, '192.168.0.1', true],
    ['keeps all out by its default', [block], 50_000, '10.0.0.1', false],
    ['lets a subnet in by a rule', [block, rule], 50_000, '10.0.0.1', true],
    ['keeps its exception out', [block, rule], 50_000, '10.9.0.1', false],
    ['lets nobody in on other ports', [block, rule], 6443, '10.0.0.1', false],
    ['drops others on the ports of a rule', [rule], 50_001, '192.168.0.1', false],
    ['accepts on other ports', [rule], 6443, '192.168.0.1', true],
  ] as const)('%s', (_, texts, port, from, is) => {
    expect(lets([...texts], port, from)).toBe(is)
  })
})
