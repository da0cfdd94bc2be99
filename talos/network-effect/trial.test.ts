import { expect, test } from 'vitest'
import { trialOf } from './trial.ts'

const main = `machine:
  type: worker
  network:
    hostname: blue
cluster:
  etcd:
    advertisedSubnets: [10.0.0.0/8]
`
const withDocument = (document: string) => `${main}---\napiVersion: v1alpha1\n${document}\n`
const machine = (lines: string) => main.replace('  type: worker\n', `  type: worker\n${lines}`)
const network = (lines: string) =>
  main.replace('    hostname: blue\n', `    hostname: blue\n${lines}`)

test.each([
  ['an interface', network('    interfaces:\n      - interface: eth0\n        dhcp: true\n')],
  ['KubeSpan', network('    kubespan: {enabled: true}\n')],
  ['a link that is set down', withDocument('kind: LinkConfig\nname: eth0\nup: false')],
  ['an alias', withDocument('kind: LinkAliasConfig\nname: net0\nselector: {match: "true"}')],
  ['a VLAN', withDocument('kind: VLANConfig\nname: eth0.7\nvlanID: 7\nparent: eth0')],
  ['a bond', withDocument('kind: BondConfig\nname: bond0\nlinks: [eth0]')],
  ['a bridge', withDocument('kind: BridgeConfig\nname: br0\nlinks: [eth0]')],
  ['a VRF', withDocument('kind: VRFConfig\nname: vrf0\nlinks: [eth0]\ntable: "9"')],
  ['DHCP', withDocument('kind: DHCPv4Config\nname: eth1')],
  ['a virtual IP', withDocument('kind: Layer2VIPConfig\nname: 10.0.0.9\nlink: eth0')],
  ['BGP', withDocument('kind: BGPInstanceConfig\nname: b\nlocalASN: 65000')],
  ['a pair of links', withDocument('kind: VethConfig\nname: v0\npeer: {name: v1}')],
  ['a route', withDocument('kind: BlackholeRouteConfig\nname: 10.9.0.0/16')],
  ['the firewall', withDocument('kind: NetworkDefaultActionConfig\ningress: block')],
  [
    'a rule of the firewall',
    withDocument('kind: NetworkRuleConfig\nname: api\nportSelector: {ports: [50000]}'),
  ],
])('%s is sent on trial when it comes and when it goes', (_, changed) => {
  for (const [before, after] of [
    [main, changed],
    [changed, main],
  ] as const)
    expect(trialOf(before, after)).toMatchObject({
      isOfNetwork: true,
      restarts: [],
      isOfEtcd: false,
    })
})

test.each([
  ['nothing', main],
  ['the hostname', main.replace('blue', 'red')],
  ['resolvers', network('    nameservers: [10.0.0.1]\n')],
  ['a sysctl', machine('  sysctls: {vm.swappiness: "1"}\n')],
  ['an unset field', network('    kubespan: {enabled: false}\n    interfaces: []\n')],
  ['another document', withDocument('kind: WatchdogTimerConfig\ndevice: /dev/watchdog0')],
])('%s is not sent on trial', (_, after) => {
  expect(trialOf(main, after)).toMatchObject({ isOfNetwork: false, restarts: [], isOfEtcd: false })
})

test('what needs a restart can not be tried', () => {
  const text = `${machine('  files: [{path: /var/a, op: create}]\n  features: {diskQuotaSupport: true, kubePrism: {enabled: true}}\n')}persist: true\n`
  const told = (restarts: string[]) => ({
    isOfNetwork: false,
    restarts,
    isOfEtcd: false,
    atInstallation: [],
  })
  expect(trialOf(main, text, '1.13')).toMatchObject(
    told(['machine.files', 'machine.features.diskQuotaSupport', 'persist']),
  )
  // Talos 1.14 tries everything, and reads these only when it boots.
  expect(trialOf(main, text, '1.14')).toMatchObject(told(['machine.files', 'persist']))
})

test('a trial does not reach the section of etcd', () => {
  const changed = main.replace('10.0.0.0/8', '10.1.0.0/16')
  const onControlPlane = (text: string) => text.replace('type: worker', 'type: controlplane')
  expect(trialOf(onControlPlane(main), onControlPlane(changed)).isOfEtcd).toBe(true)
  expect(trialOf(main, changed)).toMatchObject({ isOfEtcd: false, unread: ['cluster.etcd'] })
})

test('a text that only Talos reads is tried', () => {
  expect(trialOf(main, 'machine: &a {type: worker}\n').isOfNetwork).toBe(true)
})

test('what Talos starts again, and what only an installation reads, is told for the server’s version', () => {
  const text = machine(
    '  install: {disk: /dev/sdb}\n  kubelet: {extraArgs: {v: "4"}}\n  baseRuntimeSpecOverrides: {a: b}\n',
  )
  expect(trialOf(main, text, '1.14')).toMatchObject({
    restarts: [],
    atInstallation: ['machine.install'],
    starts: ['containerd', 'kubelet'],
  })
  expect(trialOf(main, text, '1.13')).toMatchObject({
    restarts: ['machine.baseRuntimeSpecOverrides'],
    atInstallation: ['machine.install'],
    starts: ['kubelet'],
  })
})
