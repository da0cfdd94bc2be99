/** Network documents (Talos `pkg/machinery/config/types/network`). */
import type { Minor } from '../../versions.ts'
import { always, choice, duration, flag, integer, inPlace, list, map, object, optionalInteger, plainChoice, secret, type Shape, text, texts } from './shape.ts'

type Fields = Record<string, Shape>

/** What links of every kind have. */
const link: Fields = {
  up: flag('Whether the link is up'),
  mtu: integer('Largest packet in bytes'),
  addresses: list(object({ address: always(text('Address with prefix length')), routePriority: optionalInteger() }), 'Static addresses'),
  routes: list(
    object({
      destination: text('Network; none for the default route'),
      gateway: text(),
      source: text(),
      metric: integer('Lower wins'),
      mtu: integer(),
      table: text(),
    }),
    'Static routes',
  ),
  multicast: flag(),
}
const hardwareAddr = text('MAC address to use instead of its own')
const count = optionalInteger

export const networkDocuments: Record<string, { about: string; since?: Minor; fields: Fields }> = {
  HostnameConfig: {
    about: 'Host name of the server',
    fields: { auto: choice(['off', 'stable'], 'stable makes a name from the hardware; off for a name of your own'), hostname: text('Host name') },
  },
  LinkConfig: { about: 'A physical link: addresses, routes, MTU', fields: { name: always(text('Name of the link, such as eno1')), ...link } },
  VLANConfig: {
    about: 'A VLAN on a link',
    fields: {
      name: always(text()),
      vlanID: { ...integer('1 to 4094'), max: 4094 },
      vlanMode: choice(['802.1q', '802.1ad']),
      parent: text('Link that it lies on'),
      ...link,
    },
  },
  BondConfig: {
    about: 'Several links as one',
    fields: {
      name: always(text()),
      hardwareAddr,
      links: texts('Links that are bonded'),
      bondMode: choice(['balance-rr', 'active-backup', 'balance-xor', 'broadcast', '802.3ad', 'balance-tlb', 'balance-alb']),
      miimon: count('Milliseconds between checks of the links'),
      updelay: count(),
      downdelay: count(),
      useCarrier: flag(),
      xmitHashPolicy: choice(['layer2', 'layer3+4', 'layer2+3', 'encap2+3', 'encap3+4']),
      arpInterval: count(),
      arpIpTargets: texts(),
      nsIp6Targets: texts(),
      arpValidate: choice(['none', 'active', 'backup', 'all', 'filter', 'filter-active', 'filter-backup']),
      arpAllTargets: choice(['any', 'all']),
      lacpRate: choice(['slow', 'fast']),
      failOverMac: choice(['none', 'active', 'follow']),
      adSelect: choice(['stable', 'bandwidth', 'count']),
      adActorSysPrio: { ...count(), max: 65_535 },
      adUserPortKey: { ...count(), max: 65_535 },
      adLACPActive: choice(['off', 'on']),
      primaryReselect: choice(['always', 'better', 'failure']),
      resendIGMP: count(),
      minLinks: count(),
      lpInterval: count(),
      packetsPerSlave: count(),
      numPeerNotif: { ...count(), max: 255 },
      tlbLogicalLb: { ...count(), max: 255 },
      allSlavesActive: { ...count(), max: 255 },
      peerNotifDelay: count(),
      missedMax: { ...count(), max: 255 },
      ...link,
    },
  },
  BridgeConfig: {
    about: 'A bridge of links',
    fields: {
      name: always(text()),
      hardwareAddr,
      links: texts(),
      stp: inPlace(object({ enabled: flag() })),
      vlan: inPlace(object({ filtering: flag() })),
      ...link,
    },
  },
  DummyLinkConfig: { about: 'A link without hardware', fields: { name: always(text()), hardwareAddr, ...link } },
  VRFConfig: {
    about: 'A routing domain of its own',
    since: '1.13',
    fields: { name: always(text()), hardwareAddr, links: texts(), table: always(text()), ...link },
  },
  WireguardConfig: {
    about: 'A WireGuard tunnel',
    fields: {
      name: always(text()),
      privateKey: secret(),
      listenPort: integer(),
      firewallMark: integer(),
      peers: list(
        object({ publicKey: text(), presharedKey: secret(), endpoint: text('host:port'), persistentKeepaliveInterval: duration(), allowedIPs: texts() }),
      ),
      ...link,
    },
  },
  DHCPv4Config: {
    about: 'DHCP on a link; any link or DHCP document stops the default DHCP on all links',
    fields: {
      name: always(text('Name of the link')),
      routeMetric: integer(),
      ignoreHostname: flag('Don’t take the host name from the DHCP server'),
      clientIdentifier: choice(['none', 'mac', 'duid']),
      duidRaw: text(),
    },
  },
  DHCPv6Config: {
    about: 'DHCP for IPv6 on a link',
    fields: {
      name: always(text('Name of the link')),
      routeMetric: integer(),
      ignoreHostname: flag(),
      clientIdentifier: choice(['none', 'mac', 'duid']),
      duidRaw: text(),
    },
  },
  EthernetConfig: {
    about: 'Settings of a network card',
    fields: {
      name: always(text('Name of the link')),
      features: map(flag()),
      rings: object({
        rx: count(),
        tx: count(),
        'rx-mini': count(),
        'rx-jumbo': count(),
        'rx-buf-len': count(),
        'cqe-size': count(),
        'tx-push': flag(),
        'rx-push': flag(),
        'tx-push-buf-len': count(),
        'tcp-data-split': flag(),
      }),
      channels: object({ rx: count(), tx: count(), other: count(), combined: count() }),
      wakeOnLan: list(choice(['phy', 'unicast', 'multicast', 'broadcast', 'arp', 'magic', 'magicsecure', 'filter'])),
    },
  },
  LinkAliasConfig: {
    about: 'A name of your own for a link',
    fields: { name: always(text()), selector: inPlace(object({ match: text('CEL expression over link') })) },
  },
  Layer2VIPConfig: {
    about: 'A virtual address that the control planes share',
    fields: { name: always(text('The address')), link: always(text('Link that it lies on')) },
  },
  HCloudVIPConfig: { about: 'A virtual address at Hetzner Cloud', fields: { name: always(text()), link: always(text()), apiToken: always(secret()) } },
  ResolverConfig: {
    about: 'Name servers',
    fields: {
      nameservers: list(object({ address: always(text()) }), 'Name servers, in the order they are asked'),
      searchDomains: inPlace(object({ domains: texts(), disableDefault: flag() })),
    },
  },
  StaticHostConfig: { about: 'A line for /etc/hosts', fields: { name: always(text('The address')), hostnames: always(texts()) } },
  TimeSyncConfig: {
    about: 'Where the server takes the time from',
    fields: { enabled: flag(), bootTimeout: duration(), ntp: object({ servers: texts() }), ptp: object({ devices: texts() }) },
  },
  KubeSpanConfig: {
    about: 'An encrypted mesh between the servers of the cluster',
    since: '1.13',
    fields: {
      enabled: flag(),
      advertiseKubernetesNetworks: flag(),
      allowDownPeerBypass: flag(),
      harvestExtraEndpoints: flag(),
      mtu: optionalInteger(),
      filters: object({ endpoints: texts(), excludeAdvertisedNetworks: texts() }),
    },
  },
  KubeSpanEndpointsConfig: { about: 'Further addresses of this server in the mesh', fields: { extraAnnouncedEndpoints: always(texts()) } },
  NetworkDefaultActionConfig: {
    about: 'What happens to traffic that no rule names',
    fields: { ingress: always(plainChoice(['accept', 'block'], undefined, 'accept')) },
  },
  NetworkRuleConfig: {
    about: 'Traffic that is let in',
    fields: {
      name: always(text()),
      portSelector: always(
        inPlace(
          object({
            ports: always({ ...list({ is: 'port' }, 'Ports or ranges: 50000, 30000-32767; a patch replaces them'), merge: 'replace' as const }),
            protocol: always(plainChoice(['tcp', 'udp', 'icmp', 'icmpv6'])),
          }),
        ),
      ),
      ingress: always({ ...list(object({ subnet: always(text()), except: text() }), 'Networks; a patch replaces them'), merge: 'replace' as const }),
    },
  },
  BlackholeRouteConfig: { about: 'A route that drops', since: '1.13', fields: { name: always(text('Destination')), metric: integer() } },
  RoutingRuleConfig: {
    about: 'A rule that chooses the routing table',
    since: '1.13',
    fields: {
      name: always(text()),
      src: text(),
      dst: text(),
      table: always(text()),
      action: plainChoice(['unspec', 'unicast', 'blackhole', 'unreachable', 'prohibit'], undefined, 'unspec'),
      iifName: text(),
      oifName: text(),
      fwMark: integer(),
      fwMask: integer(),
    },
  },
  TCPProbeConfig: {
    about: 'A check of a way out',
    since: '1.13',
    fields: { name: always(text()), interval: duration(), failureThreshold: integer(), endpoint: always(text('host:port')), timeout: duration() },
  },
}
