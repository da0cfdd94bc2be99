import { describe, expect, test } from 'vitest'
import {
  facts,
  main,
  oldForm,
  documents,
  after,
  said,
  link,
  gateway,
  gatewayDocument,
  block,
  rule,
} from './testing/server.ts'
import type { NetworkFacts } from './facts.ts'

describe('a change that can work', () => {
  test.each([
    [
      'a new static address on the link moves the server there',
      documents(
        `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.99/24}]\n${gatewayDocument}`,
      ),
      { kind: 'moves', address: '10.0.0.99', link },
    ],
    [
      'a static address on another port moves the server there',
      oldForm(
        `- interface: eno1\n  addresses: [10.4.0.9/24]\n  routes: [{network: 0.0.0.0/0, gateway: 10.4.0.1}]\n- interface: ${link}\n  ignore: true`,
      ),
      { kind: 'moves', address: '10.4.0.9', link: 'eno1' },
    ],
    [
      'case 04: a bond with a VLAN and an address (old form)',
      oldForm(
        `- interface: bond0\n  bond: {mode: 802.3ad, lacpRate: fast, interfaces: [${link}, enp129s0f1np1]}\n  vlans:\n    - vlanId: 2500\n      addresses: [10.25.0.11/24]\n      routes: [{network: 0.0.0.0/0, gateway: 10.25.0.1}]`,
      ),
      { kind: 'moves', address: '10.25.0.11', link: 'bond0.2500' },
    ],
    [
      'DHCP on a bond of the link gives an address that is not known',
      oldForm(
        `- interface: bond0\n  dhcp: true\n  bond: {mode: active-backup, interfaces: [${link}]}`,
      ),
      { kind: 'unknown' },
    ],
    [
      'DHCP on a VLAN of the link gives an address that is not known',
      oldForm(`- interface: ${link}\n  vlans: [{vlanId: 25, dhcp: true}]`),
      { kind: 'unknown' },
    ],
    [
      'the present address on a bond that the switch has to know',
      oldForm(
        `- interface: bond0\n  addresses: [10.0.0.45/24]\n  ${gateway}\n  bond: {mode: 802.3ad, interfaces: [${link}]}`,
      ),
      { kind: 'unknown' },
    ],
    [
      'the present address on a VLAN that the switch has to carry',
      documents(
        `kind: LinkConfig\nname: ${link}`,
        `kind: VLANConfig\nname: vlan7\nparent: ${link}\nvlanID: 7\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
      ),
      { kind: 'unknown' },
    ],
    [
      'another client identifier may get another lease',
      documents(
        `kind: DHCPv4Config\nname: ${link}\nclientIdentifier: duid\nduidRaw: "00:01:00:01"`,
      ),
      { kind: 'unknown' },
    ],
    [
      'a selector of a bus that Steelyard does not read',
      oldForm('- deviceSelector: {busPath: "0000:81:*"}\n  ignore: true'),
      { kind: 'unknown' },
    ],
    [
      'an alias of a bus that Steelyard does not read',
      documents(
        'kind: LinkAliasConfig\nname: net0\nselector: {match: \'link.bus_path == "0000:81:00.0"\'}',
        'kind: DHCPv4Config\nname: net0',
      ),
      { kind: 'unknown' },
    ],
    [
      'a routing rule for a table of its own',
      documents('kind: RoutingRuleConfig\nname: "1000"\nsrc: 10.0.0.0/24\ntable: "100"'),
      { kind: 'unknown' },
    ],
    [
      'case 11: a selector in capitals matches nothing, so Talos leaves the entry out',
      oldForm('- deviceSelector: {hardwareAddr: "B8:CE:F6:B2:DB:C4"}\n  ignore: true'),
      { kind: 'keeps' },
    ],
    [
      'case 12: a bond whose selectors match nothing is left out',
      oldForm(
        '- interface: bond0\n  dhcp: true\n  bond: {interfaces: [], mode: active-backup, deviceSelectors: [{driver: nope}, {permanentAddr: "de:ad:be:ef:*"}]}',
      ),
      { kind: 'keeps' },
    ],
    [
      'case 31: host names leave the network as it is',
      documents('kind: HostnameConfig\nhostname: edge01'),
      { kind: 'keeps' },
    ],
    ['a configuration without a network', main, { kind: 'keeps' }],
  ])('%s', (_, config, expected) => {
    expect(after(config)).toMatchObject(expected)
  })

  test('case 05: a bond with a VLAN and an address but no route is a loss', () => {
    const config = documents(
      `kind: BondConfig\nname: bond0\nlinks: [${link}, enp129s0f1np1]\nbondMode: 802.3ad\nlacpRate: fast`,
      'kind: VLANConfig\nname: bond0.2500\nparent: bond0\nvlanID: 2500\naddresses: [{address: 10.25.0.11/24}]',
    )
    expect(said(after(config))).toBe(
      `${link}, the link that Steelyard reaches it on, becomes a part of bond0; no route leads from 10.25.0.11 back to Steelyard (192.168.7.9)`,
    )
    expect(after(config, { from: '10.25.0.200' })).toMatchObject({
      kind: 'moves',
      address: '10.25.0.11',
    })
  })

  test('case 07: a firewall with only a rule for the kubelet is a loss', () => {
    const config = documents(block, rule('10250', '10.0.0.0/8'))
    expect(said(after(config))).toBe(
      "no firewall rule lets Steelyard (192.168.7.9) in on port 50000 (Talos's API)",
    )
  })
})

describe('the firewall between servers', () => {
  const peers = [
    { address: '10.0.0.46', isControlPlane: true },
    { address: '10.0.0.47', isControlPlane: false },
  ]
  const open = [rule('50000', '0.0.0.0/0'), rule('6443', '0.0.0.0/0')]
  const inside = (ports: string) => rule(ports, '10.0.0.0/24')
  const whole = [...open, inside('10250'), inside('50001'), inside('2379-2380')]
  test.each([
    ['the Kubernetes API', [open[0]!, ...whole.slice(2)], 'port 6443'],
    ['the kubelet', [...open, inside('50001'), inside('2379-2380')], 'port 10250 (kubelet)'],
    ['trustd', [...open, inside('10250'), inside('2379-2380')], 'port 50001 (trustd)'],
    ['etcd', [...open, inside('10250'), inside('50001')], 'port 2379 (etcd)'],
    [
      "etcd's peers",
      [...open, inside('10250'), inside('50001'), inside('2379')],
      'port 2380 (etcd)',
    ],
  ])('of a control plane must let in %s', (_, rules, why) => {
    const effect = after(documents(block, ...rules), { isControlPlane: true, peers })
    expect([effect.kind, said(effect)]).toEqual(['loses', expect.stringContaining(why)])
  })

  test('of a control plane that lets all of them in is no loss', () => {
    expect(after(documents(block, ...whole), { isControlPlane: true, peers })).toEqual({
      kind: 'keeps',
    })
  })

  test('of a worker needs Talos and the kubelet only', () => {
    const config = documents(block, open[0]!, inside('10250'))
    expect(after(config, { isControlPlane: false, peers })).toEqual({ kind: 'keeps' })
  })

  test('lets in what KubeSpan carries', () => {
    const config = documents(
      block,
      ...open,
      'kind: KubeSpanConfig\nenabled: true',
      'kind: NetworkRuleConfig\nname: span\nportSelector: {ports: [51820], protocol: udp}\ningress: [{subnet: 0.0.0.0/0}]',
    )
    expect(after(config, { isControlPlane: true, peers })).toEqual({ kind: 'keeps' })
  })

  test("can't be told while Steelyard's own address is unknown", () => {
    expect(after(documents(block, rule('50000', '10.0.0.0/8')), { from: null })).toMatchObject({
      kind: 'unknown',
    })
    expect(after(documents(block, rule('50000', '0.0.0.0/0')), { from: null })).toEqual({
      kind: 'keeps',
    })
  })
})

describe('a change of a machine that runs', () => {
  const bonded = documents(
    `kind: BondConfig\nname: bond0\nlinks: [${link}, enp129s0f1np1]\nbondMode: 802.3ad\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
  )
  const onBond: Partial<NetworkFacts> = {
    links: [
      ...facts.links.map((one) => ({ ...one, addresses: [] })),
      {
        name: 'bond0',
        up: true,
        physical: false,
        hardware_addr: null,
        addresses: ['10.0.0.45/24'],
      },
    ],
    routes: [{ destination: '', gateway: '10.0.0.1', link: 'bond0', metric: 1024 }],
  }

  test('of other settings keeps the address, however it has it', () => {
    const other = bonded.replace('{type: worker}', '{type: worker, sysctls: {a.b: "1"}}')
    expect(after(other, onBond, bonded)).toEqual({ kind: 'keeps' })
    expect(after(other, { ...onBond, links: [] }, bonded)).toEqual({ kind: 'keeps' })
  })

  test('of the MTU of a bond that works keeps the address', () => {
    const faster = bonded.replace('bondMode', 'mtu: 9000\nbondMode')
    expect(after(faster, onBond, bonded)).toEqual({ kind: 'keeps' })
  })

  test('that removes the address is a loss', () => {
    const empty = bonded.replace(/addresses.*\n/, '')
    expect(after(empty, onBond, bonded).kind).toBe('loses')
  })

  test('back to DHCP may give another address', () => {
    const today = documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    )
    expect(after(main, {}, today).kind).toBe('unknown')
  })

  test('says that it is not known where the present configuration does not explain the address', () => {
    const before = documents('kind: LinkConfig\nname: eno1')
    const next = documents('kind: LinkConfig\nname: eno1', 'kind: DummyLinkConfig\nname: d0')
    expect(after(next).kind).toBe('loses')
    expect(after(next, {}, before).kind).toBe('unknown')
    // The path of today says nothing about a new firewall.
    expect(after(`${next}---\napiVersion: v1alpha1\n${block}\n`, {}, before).kind).toBe('loses')
  })
})

test('an address in IPv6 that routers advertise stays while the link is up', () => {
  const more: Partial<NetworkFacts> = {
    address: '2001:db8::45',
    from: '2001:db8:1::9',
    dialled: ['2001:db8::/32'],
    routes: [],
    links: facts.links.map((one) => ({
      ...one,
      addresses: one.name === link ? ['10.0.0.45/24', '2001:db8::45/64', 'fe80::1/64'] : [],
    })),
  }
  expect(after(documents(`kind: LinkConfig\nname: ${link}`), more)).toEqual({ kind: 'keeps' })
  expect(after(oldForm(`- interface: ${link}\n  dhcp: true`), more)).toEqual({ kind: 'keeps' })
  expect(after(documents(`kind: LinkConfig\nname: ${link}\nup: false`), more).kind).toBe('loses')
})
