/**
 * `machine.network.interfaces`: the old form of links (Talos `v1alpha1_validation.go`, the checks
 * of devices).
 */
import { isAddress, isCidr, isCidrOrAddress, isHostPort } from './formats.ts'
import { networkDocuments } from './model/network.ts'
import { type Report, textOf } from './report.ts'
import { at, type TreeNode } from './tree.ts'

export function checkDevices(report: Report, worker: boolean): void {
  const interfaces = ['machine', 'network', 'interfaces']
  const memberOf = new Map<string, string>()
  for (const { path, node } of report.items(...interfaces)) {
    const name = textOf(at(node, 'interface'))
    const bond = at(node, 'bond')
    if (bond?.is === 'map' && at(node, 'bridge')?.is === 'map')
      report.error(path, `The interface ${name} can’t be both a bond and a bridge`)
    if (report.has(...path, 'bond', 'interfaces') && report.has(...path, 'bond', 'deviceSelectors'))
      report.error([...path, 'bond'], 'A bond has either interfaces or deviceSelectors')
    for (const member of [
      ...report.texts(...path, 'bond', 'interfaces'),
      ...report.texts(...path, 'bridge', 'interfaces'),
    ]) {
      const other = memberOf.get(member.text)
      if (other !== undefined && other !== name)
        report.error(member.path, `${member.text} is part of both ${other} and ${name}`)
      memberOf.set(member.text, name)
    }
  }
  for (const { path, node } of report.items(...interfaces)) {
    if (worker) {
      for (const vip of [path, ...report.items(...path, 'vlans').map((v) => v.path)].map((p) =>
        p.concat('vip'),
      )) {
        if (report.has(...vip)) report.error(vip, 'Only control planes can share a virtual address')
      }
    }
    if (report.flag(...path, 'ignore')) continue
    checkDevice(report, path, node, memberOf)
  }
}

function checkDevice(
  report: Report,
  path: string[],
  node: TreeNode,
  memberOf: ReadonlyMap<string, string>,
): void {
  const name = textOf(at(node, 'interface'))
  const selector = at(node, 'deviceSelector')
  if (name === '' && selector?.is !== 'map')
    report.error(path, 'An interface needs a name or a deviceSelector')
  if (name !== '' && selector?.is === 'map')
    report.error(path, 'An interface has either a name or a deviceSelector')
  if (selector?.is === 'map' && selector.entries.size === 0)
    report.error([...path, 'deviceSelector'], 'The deviceSelector is empty')
  if (name !== '' && memberOf.has(name)) {
    const addressed =
      report.flag(...path, 'dhcp') ||
      ['cidr', 'addresses', 'vip'].some((key) => report.has(...path, key))
    if (addressed)
      report.error(path, `${name} is part of ${memberOf.get(name)} and can’t have addresses`)
  }
  checkAddresses(report, path)
  if (report.has(...path, 'cidr')) report.warn(`${name}: cidr is deprecated, use addresses`)
  if (report.has(...path, 'vip') && !isAddress(report.text(...path, 'vip', 'ip')))
    report.error([...path, 'vip'], 'The virtual address is not an address')
  for (const vlan of report.items(...path, 'vlans')) checkAddresses(report, vlan.path)
  report.items(...path, 'routes').forEach((route) => checkRoute(report, route.path))
  if (report.has(...path, 'bond')) checkBond(report, [...path, 'bond'])
  if (report.has(...path, 'wireguard')) checkWireguard(report, [...path, 'wireguard'])
}

function checkAddresses(report: Report, path: string[]): void {
  const cidr = report.text(...path, 'cidr')
  if (cidr !== '' && report.has(...path, 'addresses'))
    report.error([...path, 'cidr'], 'Use addresses alone, not cidr as well')
  if (cidr !== '' && !isCidrOrAddress(cidr))
    report.error([...path, 'cidr'], `${cidr} is not an address`)
  for (const address of report.texts(...path, 'addresses'))
    if (!isCidrOrAddress(address.text))
      report.error(address.path, `${address.text} is not an address`)
}

function checkRoute(report: Report, path: string[]): void {
  const [network, gateway, source] = ['network', 'gateway', 'source'].map((key) =>
    report.text(...path, key),
  )
  if (network !== '' && !isCidr(network!))
    report.error([...path, 'network'], `${network} is not a network`)
  if (gateway !== '' && !isAddress(gateway!))
    report.error([...path, 'gateway'], `${gateway} is not an address`)
  if (source !== '' && !isAddress(source!))
    report.error([...path, 'source'], `${source} is not an address`)
  if (network === '' && gateway === '') report.error(path, 'A route needs a network or a gateway')
}

function checkBond(report: Report, path: string[]): void {
  const mode = report.text(...path, 'mode')
  for (const key of [
    'mode',
    'xmitHashPolicy',
    'lacpRate',
    'arpValidate',
    'arpAllTargets',
    'primaryReselect',
    'failOverMac',
    'adSelect',
  ]) {
    const allowed = wordsOf(key === 'mode' ? 'bondMode' : key)
    const word = report.text(...path, key)
    if (word !== '' && !allowed.includes(word))
      report.error([...path, key], `${key} must be one of ${allowed.join(', ')}`)
  }
  const miimon = report.number(...path, 'miimon') ?? 0
  for (const key of ['updelay', 'downdelay']) {
    const delay = report.number(...path, key) ?? 0
    if (miimon === 0 ? delay !== 0 : delay % miimon !== 0)
      report.error([...path, key], `${key} must be a multiple of miimon`)
  }
  for (const key of ['arpIPTarget', 'adActorSystem'])
    if (report.has(...path, key)) report.error([...path, key], `${key} is not supported`)
  const positive = (key: string) => (report.number(...path, key) ?? 0) > 0
  const balancing = ['802.3ad', 'balance-alb', 'balance-tlb'].includes(mode)
  const only = (key: string, wrong: boolean) => {
    if (wrong)
      report.error([...path, key], `${key} is not available in the mode ${mode || 'balance-rr'}`)
  }
  only('lacpRate', report.has(...path, 'lacpRate') && mode !== '802.3ad')
  only('arpValidate', report.has(...path, 'arpValidate') && balancing)
  only(
    'primary',
    report.has(...path, 'primary') &&
      !['active-backup', 'balance-alb', 'balance-tlb'].includes(mode),
  )
  only('arpInterval', positive('arpInterval') && balancing)
  only(
    'packetsPerSlave',
    (report.number(...path, 'packetsPerSlave') ?? 0) > 1 && mode !== '' && mode !== 'balance-rr',
  )
  only('tlbDynamicLb', positive('tlbDynamicLb') && !['balance-alb', 'balance-tlb'].includes(mode))
  only('adActorSysPrio', positive('adActorSysPrio') && mode !== '802.3ad')
  only('adUserPortKey', positive('adUserPortKey') && mode !== '802.3ad')
}

function wordsOf(field: string): readonly string[] {
  const shape = networkDocuments['BondConfig']!.fields[field]
  return shape?.is === 'text' ? (shape.values ?? []) : []
}

function checkWireguard(report: Report, path: string[]): void {
  if (!isWireguardKey(report.text(...path, 'privateKey')))
    report.error([...path, 'privateKey'], 'The private key is not 32 bytes in base64')
  for (const peer of report.items(...path, 'peers')) {
    if (!isWireguardKey(textOf(at(peer.node, 'publicKey'))))
      report.error(peer.path, 'A peer’s public key is not 32 bytes in base64')
    const endpoint = textOf(at(peer.node, 'endpoint'))
    if (endpoint !== '' && !isHostPort(endpoint))
      report.error(peer.path, `${endpoint} is not host:port`)
    const allowed = at(peer.node, 'allowedIPs')
    for (const item of allowed?.is === 'list' ? allowed.items : [])
      if (!isCidr(textOf(item))) report.error(peer.path, `${textOf(item)} is not a network`)
  }
}

export function isWireguardKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}
