import { expect, test } from 'vitest'
import {
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

/** Each kind of change: what cuts the server off, why, and a harmless counterpart. */
const kinds: readonly {
  readonly kind: string
  readonly cuts: string
  readonly why: string
  readonly harmless: string
  readonly facts?: Partial<NetworkFacts>
}[] = [
  {
    kind: 'a bond over the link (old form)',
    cuts: oldForm(
      `- interface: bond0\n  bond: {mode: active-backup, interfaces: [${link}, enp129s0f1np1]}`,
    ),
    why: 'becomes a part of bond0',
    harmless: oldForm(
      '- interface: bond0\n  bond: {mode: active-backup, interfaces: [enp129s0f1np1, eno1]}',
    ),
  },
  {
    kind: 'a bond over the link (documents)',
    cuts: documents(
      `kind: BondConfig\nname: bond0\nlinks: [${link}, enp129s0f1np1]\nbondMode: active-backup`,
    ),
    why: 'becomes a part of bond0',
    harmless: documents(
      `kind: BondConfig\nname: bond0\nlinks: [${link}, enp129s0f1np1]\nbondMode: active-backup\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    ),
  },
  {
    kind: 'a bond of ports without a cable',
    cuts: documents(
      `kind: BondConfig\nname: bond0\nlinks: [enp129s0f1np1]\nbondMode: active-backup\naddresses: [{address: 10.0.0.45/24}]`,
    ),
    why: 'no member of bond0 has a carrier',
    harmless: documents(
      `kind: BondConfig\nname: bond0\nlinks: [eno1]\nbondMode: active-backup\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    ),
  },
  {
    kind: 'a bridge over the link (old form)',
    cuts: oldForm(`- interface: br0\n  bridge: {interfaces: [${link}]}`),
    why: 'becomes a part of br0',
    harmless: oldForm(
      `- interface: br0\n  bridge: {interfaces: [${link}]}\n  addresses: [10.0.0.45/24]\n  ${gateway}`,
    ),
  },
  {
    kind: 'a bridge over the link (documents)',
    cuts: documents(`kind: BridgeConfig\nname: br0\nlinks: [${link}]`),
    why: 'becomes a part of br0',
    harmless: documents(
      `kind: BridgeConfig\nname: br0\nlinks: [eno1]`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'a VLAN on a bridge that filters VLANs (old form)',
    cuts: oldForm(
      `- interface: br0\n  bridge: {interfaces: [${link}], vlan: {vlanFiltering: true}}\n  vlans: [{vlanId: 100, addresses: [10.0.0.45/24], ${gateway}}]`,
    ),
    why: 'br0 filters VLANs',
    harmless: oldForm(
      `- interface: br0\n  bridge: {interfaces: [${link}], vlan: {vlanFiltering: true}}\n  addresses: [10.0.0.45/24]\n  ${gateway}`,
    ),
  },
  {
    kind: 'a VLAN on a bridge that filters VLANs (documents)',
    cuts: documents(
      `kind: BridgeConfig\nname: br0\nlinks: [${link}]\nvlan: {filtering: true}`,
      `kind: VLANConfig\nname: v100\nparent: br0\nvlanID: 100\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    ),
    why: 'br0 filters VLANs',
    harmless: documents(
      `kind: BridgeConfig\nname: br0\nlinks: [${link}]\nvlan: {filtering: true}\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    ),
  },
  {
    kind: 'a port of a bridge (bridgePort)',
    cuts: oldForm(
      `- interface: br0\n  bridge: {interfaces: []}\n- interface: ${link}\n  bridgePort: {master: br0}`,
    ),
    why: 'becomes a part of br0',
    harmless: oldForm(
      '- interface: br0\n  bridge: {interfaces: []}\n- interface: eno1\n  bridgePort: {master: br0}',
    ),
  },
  {
    kind: 'a VLAN on the link (old form)',
    cuts: oldForm(`- interface: ${link}\n  vlans: [{vlanId: 25}]`),
    why: 'gets no address',
    harmless: oldForm(`- interface: ${link}\n  dhcp: true\n  vlans: [{vlanId: 25}]`),
  },
  {
    kind: 'a VLAN on the link (documents)',
    cuts: documents(`kind: VLANConfig\nname: vlan25\nparent: ${link}\nvlanID: 25`),
    why: `stops DHCP on ${link}`,
    harmless: documents(
      `kind: VLANConfig\nname: vlan25\nparent: ${link}\nvlanID: 25`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'a document about another link',
    cuts: documents('kind: LinkConfig\nname: eno1\nmtu: 9000'),
    why: `stops DHCP on ${link}`,
    harmless: documents(
      'kind: LinkConfig\nname: eno1\nmtu: 9000',
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'DHCP of another link',
    cuts: documents('kind: DHCPv4Config\nname: enp129s0f1np1'),
    why: `stops DHCP on ${link}`,
    harmless: oldForm('- interface: enp129s0f1np1\n  dhcp: true'),
  },
  {
    kind: 'the link in the old form without DHCP',
    cuts: oldForm(`- interface: ${link}\n  mtu: 9000`),
    why: 'gets no address',
    harmless: oldForm(`- interface: ${link}\n  mtu: 9000\n  dhcp: true`),
  },
  {
    kind: 'DHCP without IPv4',
    cuts: oldForm(`- interface: ${link}\n  dhcp: true\n  dhcpOptions: {ipv4: false, ipv6: true}`),
    why: 'no longer has the address',
    harmless: oldForm(`- interface: ${link}\n  dhcp: true\n  dhcpOptions: {ipv6: true}`),
    facts: { dialled: ['10.0.0.0/8'] },
  },
  {
    kind: 'ignore: true',
    cuts: oldForm(`- interface: ${link}\n  ignore: true`),
    why: 'is ignored',
    harmless: oldForm('- interface: eno1\n  ignore: true'),
  },
  {
    kind: 'ignore: true of the link that a selector chooses',
    cuts: oldForm('- deviceSelector: {hardwareAddr: "b8:ce:f6:*:c4"}\n  ignore: true'),
    why: 'is ignored',
    harmless: oldForm('- deviceSelector: {hardwareAddr: "0c:42:*"}\n  ignore: true'),
  },
  {
    kind: 'up: false',
    cuts: documents(
      `kind: LinkConfig\nname: ${link}\nup: false`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
    why: 'is set down',
    harmless: documents(
      `kind: LinkConfig\nname: ${link}\nup: true`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'a static address outside of the dialled networks',
    cuts: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 172.16.0.9/12}]\nroutes: [{gateway: 172.16.0.1}]`,
    ),
    why: '172.16.0.9 is outside of STEELYARD_DIAL_NETWORKS',
    harmless: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 172.16.0.9/12}]`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'the present address without a route',
    cuts: oldForm(`- interface: ${link}\n  addresses: [10.0.0.45/24]`),
    why: 'no route leads from 10.0.0.45 back to Steelyard (192.168.7.9)',
    harmless: oldForm(`- interface: ${link}\n  addresses: [10.0.0.45/24]\n  ${gateway}`),
  },
  {
    kind: 'a gateway in another network',
    cuts: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\nroutes: [{gateway: 10.0.1.1}]`,
    ),
    why: 'the gateway 10.0.1.1 is in no network of',
    harmless: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\nroutes: [{gateway: 10.0.0.1}]`,
    ),
  },
  {
    kind: 'a default route in another table',
    cuts: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\nroutes: [{gateway: 10.0.0.1, table: "123"}]`,
    ),
    why: 'no route leads',
    harmless: documents(
      `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
    ),
  },
  {
    kind: 'a blackhole for Steelyard',
    cuts: documents('kind: BlackholeRouteConfig\nname: 192.168.0.0/16'),
    why: 'a BlackholeRouteConfig drops the answers',
    harmless: documents('kind: BlackholeRouteConfig\nname: 192.168.8.0/24'),
  },
  {
    kind: 'a routing rule that drops the answers',
    cuts: documents(
      'kind: RoutingRuleConfig\nname: "1000"\nsrc: 10.0.0.0/24\ntable: "100"\naction: blackhole',
    ),
    why: 'a RoutingRuleConfig drops the answers',
    harmless: documents(
      'kind: RoutingRuleConfig\nname: "1000"\nsrc: 10.9.0.0/24\ntable: "100"\naction: blackhole',
    ),
  },
  {
    kind: 'a VRF over the link',
    cuts: documents(
      `kind: VRFConfig\nname: vrf0\nlinks: [${link}]\ntable: "100"`,
      `kind: DHCPv4Config\nname: ${link}`,
    ),
    why: 'becomes a part of the VRF vrf0',
    harmless: documents(
      'kind: VRFConfig\nname: vrf0\nlinks: [eno1]\ntable: "100"',
      `kind: DHCPv4Config\nname: ${link}`,
    ),
  },
  {
    kind: 'an alias that means the link',
    cuts: documents(
      'kind: LinkAliasConfig\nname: net0\nselector: {match: \'mac(link.permanent_addr) == "b8:ce:f6:b2:db:c4"\'}',
      'kind: LinkConfig\nname: net0\nup: false',
    ),
    why: 'is set down',
    harmless: documents(
      'kind: LinkAliasConfig\nname: net0\nselector: {match: \'glob("b8:ce:f6:*:c4", mac(link.permanent_addr))\'}',
      'kind: DHCPv4Config\nname: net0',
    ),
  },
  {
    kind: 'a pattern of aliases',
    cuts: documents(
      'kind: LinkAliasConfig\nname: net%d\nselector: {match: \'link.driver == "mlx5_core"\'}',
      'kind: DHCPv4Config\nname: net1',
    ),
    why: `stops DHCP on ${link}`,
    harmless: documents(
      'kind: LinkAliasConfig\nname: net%d\nselector: {match: \'link.driver == "mlx5_core"\'}',
      'kind: DHCPv4Config\nname: net0',
    ),
  },
  {
    kind: 'a bond of selected links',
    cuts: oldForm(
      '- interface: bond0\n  bond: {mode: active-backup, deviceSelectors: [{driver: mlx5_core}]}',
    ),
    why: 'becomes a part of bond0',
    harmless: oldForm(
      '- interface: bond0\n  bond: {mode: active-backup, deviceSelectors: [{driver: ixgbe}]}',
    ),
  },
  {
    kind: 'a firewall without a rule for port 50000',
    cuts: documents(block, rule('10250', '10.0.0.0/8')),
    why: 'no firewall rule lets Steelyard (192.168.7.9) in on port 50000',
    harmless: documents(block, rule('50000', '0.0.0.0/0')),
  },
  {
    kind: 'a firewall that lets in others on port 50000',
    cuts: documents(block, rule('50000', '10.0.0.0/8')),
    why: 'no firewall rule lets Steelyard',
    harmless: documents(block, rule('49000-51000', '192.168.0.0/16')),
  },
  {
    kind: 'a firewall that excepts Steelyard',
    cuts: documents(block, rule('50000', '0.0.0.0/0', ', except: 192.168.7.0/24')),
    why: 'no firewall rule lets Steelyard',
    harmless: documents(block, rule('50000', '0.0.0.0/0', ', except: 192.168.8.0/24')),
  },
  {
    kind: 'a rule that accepts, and names others',
    cuts: documents(
      'kind: NetworkDefaultActionConfig\ningress: accept',
      rule('50000', '10.0.0.0/8'),
    ),
    why: 'no firewall rule lets Steelyard',
    harmless: documents(
      'kind: NetworkDefaultActionConfig\ningress: accept',
      rule('10250', '10.0.0.0/8'),
    ),
  },
]

const pair = `kind: VethConfig\nname: veth0\npeer: {name: veth1}`
test('documents of Talos 1.14 are judged', () => {
  const dhcp = `kind: DHCPv4Config\nname: ${link}`
  // A pair of links is a document about other links, and an end of it can be a port of a bridge.
  expect(said(after(documents(pair)))).toContain(`stops DHCP on ${link}`)
  expect(after(documents(pair, dhcp))).toEqual({ kind: 'keeps' })
  const bridged = documents(
    pair,
    `kind: BridgeConfig\nname: br0\nlinks: [veth1]\naddresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`,
  )
  expect(after(bridged).kind).toBe('loses')
  const bgp = 'kind: BGPInstanceConfig\nname: b\nlocalASN: 65000\nneighbors: [{address: 10.0.0.1}]'
  const effect = after(documents(bgp, dhcp), {}, documents(dhcp))
  expect([effect.kind, said(effect)]).toEqual(['unknown', expect.stringContaining('BGP')])
  expect(after(documents(bgp, dhcp), {}, documents(bgp, dhcp))).toEqual({ kind: 'keeps' })
  for (const other of [
    'kind: HTTPProbeConfig\nname: p\nurl: https://a.example.org',
    'kind: KubeNodeConfig\nnodeIP: {validSubnets: [10.9.0.0/16]}',
    'kind: ResolverConfig\nhostDNS: {enabled: true}',
  ])
    expect(after(documents(other), {}, documents())).toEqual({ kind: 'keeps' })
})

test.each(kinds)('$kind cuts a server off, and the reason is told', ({ cuts, why, facts }) => {
  const effect = after(cuts, facts)
  expect([effect.kind, said(effect)]).toEqual(['loses', expect.stringContaining(why)])
})

test.each(kinds)('the harmless counterpart of $kind is no loss', ({ harmless, facts }) => {
  expect(after(harmless, facts)).toEqual({ kind: 'keeps' })
})
