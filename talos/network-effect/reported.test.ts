/** Inputs of public reports and guides, beside the cases, each with the answer that Talos gives. */
import { describe, expect, test } from 'vitest'
import type { NetworkFacts } from './facts.ts'
import {
  after,
  block,
  dhcp,
  documents,
  facts,
  link,
  main,
  oldForm,
  rule,
  said,
  still,
  stillDocument,
} from './testing/server.ts'

/** The server with what newer inventories know. */
const known: Partial<NetworkFacts> = {
  links: facts.links.map((one, i) => ({
    ...one,
    bus_path: ['0000:81:00.0', '0000:81:00.1', '0000:02:00.0'][i],
    pci_id: ['15B3:101D', '15B3:101D', '8086:1563'][i],
    alt_names: [`slot${i}`],
  })),
}

type Row = readonly [
  input: string,
  config: string,
  kind: string,
  why?: string,
  more?: Partial<NetworkFacts>,
]

describe('a free server', () => {
  const rows: readonly Row[] = [
    // Selectors and other names of links.
    [
      'talos#12227: busPath "0*" with the present address',
      oldForm(`- deviceSelector: {busPath: "0*"}\n  ${still}`),
      'keeps',
      '',
      known,
    ],
    [
      'a bus path that names the other port',
      oldForm('- deviceSelector: {busPath: "0000:81:00.1"}\n  ignore: true'),
      'keeps',
      '',
      known,
    ],
    [
      'a bus path that names the link, ignored',
      oldForm('- deviceSelector: {busPath: "0000:81:00.0"}\n  ignore: true'),
      'loses',
      'is ignored',
      known,
    ],
    [
      'talm#27: two ports with one bus path, both without DHCP',
      oldForm('- deviceSelector: {busPath: "0000:81:00.0"}\n  mtu: 9000'),
      'loses',
      'gets no address',
      { links: known.links!.map((one) => ({ ...one, bus_path: '0000:81:00.0' })) },
    ],
    [
      'a PCI id that both ports have',
      oldForm('- deviceSelector: {pciID: "15B3:*"}\n  dhcp: false'),
      'loses',
      'gets no address',
      known,
    ],
    [
      'talos#9853: the driver virtio of the documentation matches nothing',
      oldForm('- deviceSelector: {driver: virtio}\n  ignore: true'),
      'keeps',
    ],
    [
      'physical: true, ignored',
      oldForm('- deviceSelector: {physical: true}\n  ignore: true'),
      'loses',
      'is ignored',
    ],
    [
      'DHCP on an alternative name of the link',
      documents('kind: DHCPv4Config\nname: slot0'),
      'keeps',
      '',
      known,
    ],
    [
      'a bond of alternative names',
      oldForm('- interface: bond0\n  bond: {mode: active-backup, interfaces: [slot0, slot1]}'),
      'loses',
      'becomes a part of bond0',
      known,
    ],
    [
      'talos#12738: an alias by the exact MAC address, with a static address',
      documents(
        'kind: LinkAliasConfig\nname: virt\nselector: {match: \'glob("b8:ce:f6:b2:db:c4", mac(link.permanent_addr))\'}',
        `kind: LinkConfig\nname: virt\n${stillDocument}`,
      ),
      'keeps',
    ],
    [
      'an alias without a number that matches two links is given to none',
      documents(
        'kind: LinkAliasConfig\nname: net0\nselector: {match: \'link.driver == "mlx5_core"\'}',
        'kind: DHCPv4Config\nname: net0',
      ),
      'loses',
      'stops DHCP on',
    ],
    // DHCP and addresses.
    [
      'talos#12654: a LinkConfig of lo',
      documents('kind: LinkConfig\nname: lo\nup: true\naddresses: [{address: 169.254.116.108/32}]'),
      'loses',
      'stops DHCP on',
    ],
    [
      'talos#11887: a virtual IP alone',
      oldForm(`- interface: ${link}\n  vip: {ip: 10.0.0.50}`),
      'loses',
      'gets no address',
    ],
    [
      'a Layer2VIPConfig configures no link',
      documents(`kind: Layer2VIPConfig\nname: 10.0.0.50\nlink: ${link}`),
      'keeps',
    ],
    [
      'an EthernetConfig configures no link',
      documents(`kind: EthernetConfig\nname: ${link}\nrings: {rx: 4096}`),
      'keeps',
    ],
    [
      'the name eth0 of a guide, in the new form',
      documents(`kind: LinkConfig\nname: eth0\n${stillDocument}`),
      'loses',
      'the server has no link eth0',
    ],
    [
      'the name eth0 of a guide, in the old form',
      oldForm('- interface: eth0\n  dhcp: true'),
      'keeps',
    ],
    [
      'an address of a VLAN without its prefix length is left out by Talos',
      oldForm(
        `- interface: ${link}\n  vlans: [{vlanId: 25, addresses: [10.25.0.4], routes: [{network: 0.0.0.0/0, gateway: 10.25.0.1}]}]`,
      ),
      'loses',
      'gets no address',
    ],
    [
      'a second static address beside DHCP',
      documents(`kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.9.0.4/24}]`, dhcp),
      'keeps',
    ],
    // Routes.
    [
      'DHCP without its routes, from another network',
      documents(`${dhcp}\nignoreRoutes: true`),
      'loses',
      'no route leads',
    ],
    [
      'DHCP without its routes, from the same network',
      documents(`${dhcp}\nignoreRoutes: true`),
      'keeps',
      '',
      { from: '10.0.0.7' },
    ],
    [
      'a route whose source the server does not have',
      documents(
        `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\nroutes: [{gateway: 10.0.0.1, source: 10.0.0.99}]`,
      ),
      'loses',
      'no route leads',
    ],
    [
      'a gateway that is the server itself',
      oldForm(
        `- interface: ${link}\n  addresses: [10.0.0.45/24]\n  routes: [{network: 0.0.0.0/0, gateway: 10.0.0.45}]`,
      ),
      'loses',
      "is the server's own address",
    ],
    [
      'a gateway of IPv6 only',
      documents(
        `kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.0.0.45/24}]\nroutes: [{gateway: "fe80::1"}]`,
      ),
      'loses',
      'no route leads',
    ],
    [
      'a gateway that nobody has used yet',
      oldForm(
        `- interface: ${link}\n  addresses: [10.0.0.45/24]\n  routes: [{network: 0.0.0.0/0, gateway: 10.0.0.254}]`,
      ),
      'unknown',
      'whether the gateway 10.0.0.254 leads to Steelyard',
    ],
    [
      'a default route without a gateway',
      oldForm(
        `- interface: ${link}\n  addresses: [10.0.0.45/24]\n  routes: [{network: 0.0.0.0/0}]`,
      ),
      'unknown',
      'without a gateway',
    ],
    [
      'an address of /32 with a route to its gateway, as hosters give it',
      oldForm(
        `- interface: ${link}\n  addresses: [10.0.0.45/32]\n  routes: [{network: 10.0.0.1/32}, {network: 0.0.0.0/0, gateway: 10.0.0.1}]`,
      ),
      'keeps',
    ],
    [
      "Steelyard's network on a dummy link",
      documents(
        dhcp,
        'kind: DummyLinkConfig\nname: dummy0\naddresses: [{address: 192.168.7.1/24}]',
      ),
      'loses',
      'leave by dummy0',
    ],
    [
      "Steelyard's network on a port without a cable",
      documents(
        dhcp,
        'kind: LinkConfig\nname: enp129s0f1np1\naddresses: [{address: 192.168.7.1/24}]',
      ),
      'loses',
      'has no carrier',
    ],
    [
      'a better default route on another port',
      documents(
        dhcp,
        'kind: LinkConfig\nname: eno1\naddresses: [{address: 10.4.0.9/24}]\nroutes: [{gateway: 10.4.0.1, metric: 100}]',
      ),
      'unknown',
      'leave by eno1',
    ],
    // Bridges, bonds, VRFs.
    [
      'a bridge guide: eth0 in br0 with the static address',
      oldForm(
        `- interface: br0\n  bridge: {stp: {enabled: true}, interfaces: [${link}]}\n  ${still}`,
      ),
      'keeps',
    ],
    [
      'a port of a bridge that nothing makes stays alone',
      oldForm(`- interface: ${link}\n  dhcp: true\n  bridgePort: {master: br9}`),
      'keeps',
    ],
    [
      'talos#7331: a bond by the MAC addresses of its ports, with a VLAN',
      oldForm(
        '- interface: bond0\n  bond: {mode: 802.3ad, lacpRate: fast, deviceSelectors: [{hardwareAddr: "b8:ce:f6:b2:db:c4"}, {hardwareAddr: "b8:ce:f6:b2:db:c5"}]}\n  vlans: [{vlanId: 2500, dhcp: true}]',
      ),
      'unknown',
      'becomes a part of bond0',
    ],
    [
      'a bridge of a bond of the link, with DHCP',
      documents(
        `kind: BondConfig\nname: bond0\nlinks: [${link}]\nbondMode: active-backup`,
        'kind: BridgeConfig\nname: br0\nlinks: [bond0]',
        'kind: DHCPv4Config\nname: br0',
      ),
      'unknown',
      'which address br0 gets',
    ],
    [
      'a bond whose only member is set down',
      documents(
        `kind: BondConfig\nname: bond0\nlinks: [${link}]\nbondMode: active-backup\n${stillDocument}`,
        `kind: LinkConfig\nname: ${link}\nup: false`,
      ),
      'loses',
      'no member of bond0 has a carrier',
    ],
    [
      'a VRF whose listeners may accept',
      documents(`kind: VRFConfig\nname: vrf0\nlinks: [${link}]\ntable: "100"`, dhcp).replace(
        '{type: worker}',
        '{type: worker, sysctls: {net.ipv4.tcp_l3mdev_accept: "1"}}',
      ),
      'unknown',
      'VRF vrf0',
    ],
    // Hardware and kernel.
    [
      'the driver of the link is taken away for virtual machines',
      documents('kind: PCIDriverRebindConfig\nname: "0000:81:00.0"\ntargetDriver: vfio-pci'),
      'loses',
      'gets the driver vfio-pci and is gone',
      known,
    ],
    [
      'the driver of another device is taken away',
      documents('kind: PCIDriverRebindConfig\nname: "0000:04:00.00"\ntargetDriver: vfio-pci'),
      'keeps',
      '',
      known,
    ],
    [
      'the driver of a device is taken away while the buses are unknown',
      documents('kind: PCIDriverRebindConfig\nname: "0000:81:00.0"\ntargetDriver: vfio-pci'),
      'unknown',
      `whether ${link} is the device`,
    ],
    [
      'IPv6 is switched off, reached by IPv4',
      main.replace('worker', 'worker, sysctls: {net.ipv6.conf.all.disable_ipv6: "1"}'),
      'keeps',
    ],
    [
      'IPv6 is switched off, reached by IPv6',
      main.replace('worker', 'worker, sysctls: {net.ipv6.conf.all.disable_ipv6: "1"}'),
      'loses',
      'has no IPv6 (disable_ipv6)',
      {
        address: '2001:db8::45',
        from: '2001:db8:1::9',
        dialled: ['2001:db8::/32'],
        routes: [],
        links: facts.links.map((one) => ({
          ...one,
          addresses: one.name === link ? ['10.0.0.45/24', '2001:db8::45/64'] : [],
        })),
      },
    ],
    // Firewall.
    [
      'talos#10536: accept, and all ports from everywhere',
      documents(
        'kind: NetworkDefaultActionConfig\ningress: accept',
        'kind: NetworkRuleConfig\nname: all_tcp\nportSelector: {ports: [1-65535], protocol: tcp}\ningress: [{subnet: 0.0.0.0/0}, {subnet: "::/0"}]',
      ),
      'keeps',
    ],
    ['a firewall that only blocks', documents(block), 'loses', 'port 50000'],
    [
      'port 50000 of UDP instead of TCP',
      documents(block, rule('50000', '0.0.0.0/0').replace('protocol: tcp', 'protocol: udp')),
      'loses',
      'port 50000',
    ],
    [
      'accept, with a rule of IPv6 sources only',
      documents('kind: NetworkDefaultActionConfig\ningress: accept', rule('50000', 'fd00::/8')),
      'loses',
      'port 50000',
    ],
  ]

  const tests = rows.map(([input, config, kind, why = '', more = {}]) => ({
    input,
    config,
    kind,
    why,
    more,
  }))
  test.each(tests)('$input', ({ config, kind, why, more }) => {
    const effect = after(config, more)
    expect([effect.kind, said(effect)]).toEqual([kind, expect.stringContaining(why)])
  })
})
