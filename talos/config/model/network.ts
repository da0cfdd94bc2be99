/** Network documents (Talos `pkg/machinery/config/types/network`). */
import type { Documents } from './documents.ts'
import * as t from './shape.ts'

type Fields = Record<string, t.Shape>

/** Kinds of documents that create a link with the document's name. */
export const linkMakers = [
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'DummyLinkConfig',
  'WireguardConfig',
  'VRFConfig',
  'VethConfig',
] as const
/** Kinds of documents that set up the link with the document's name. */
export const linkKinds = ['LinkConfig', ...linkMakers] as const

/** Fields of links of every kind. */
const link: Fields = {
  up: t.flag('Whether the link is up'),
  mtu: t.integer('Largest packet in bytes'),
  addresses: t.list(
    t.object({
      address: t.always(t.text('Address with prefix length')),
      routePriority: t.optionalInteger(),
    }),
    'Static addresses',
  ),
  routes: t.list(
    t.object({
      destination: t.text('Network; none for the default route'),
      gateway: t.text(),
      source: t.text(),
      metric: t.integer('Lower wins'),
      mtu: t.integer(),
      table: t.text(),
    }),
    'Static routes',
  ),
  multicast: t.flag(),
}
const hardwareAddr = t.text('MAC address to use instead of its own')
const count = t.optionalInteger
const asn = { ...t.integer('Number of an autonomous system'), max: 4_294_967_295 }

export const networkDocuments: Documents = {
  HostnameConfig: {
    about: 'Host name of the server',
    fields: {
      auto: t.choice(
        ['off', 'stable'],
        'stable makes a name from the hardware; off for a name of your own',
      ),
      hostname: t.text('Host name'),
    },
  },
  LinkConfig: {
    about: 'A physical link: addresses, routes, MTU',
    fields: { name: t.always(t.text('Name of the link, such as eno1')), ...link },
  },
  VLANConfig: {
    about: 'A VLAN on a link',
    fields: {
      name: t.always(t.text()),
      vlanID: { ...t.integer('1 to 4094'), max: 4094 },
      vlanMode: t.choice(['802.1q', '802.1ad']),
      parent: t.text('Link that it lies on'),
      ...link,
    },
  },
  BondConfig: {
    about: 'Several links as one',
    fields: {
      name: t.always(t.text()),
      hardwareAddr,
      links: t.texts('Links that are bonded'),
      bondMode: t.choice([
        'balance-rr',
        'active-backup',
        'balance-xor',
        'broadcast',
        '802.3ad',
        'balance-tlb',
        'balance-alb',
      ]),
      miimon: count('Milliseconds between checks of the links'),
      updelay: count(),
      downdelay: count(),
      useCarrier: t.flag(),
      xmitHashPolicy: t.choice(['layer2', 'layer3+4', 'layer2+3', 'encap2+3', 'encap3+4']),
      arpInterval: count(),
      arpIpTargets: t.texts(),
      nsIp6Targets: t.texts(),
      arpValidate: t.choice([
        'none',
        'active',
        'backup',
        'all',
        'filter',
        'filter-active',
        'filter-backup',
      ]),
      arpAllTargets: t.choice(['any', 'all']),
      lacpRate: t.choice(['slow', 'fast']),
      failOverMac: t.choice(['none', 'active', 'follow']),
      adSelect: t.choice(['stable', 'bandwidth', 'count']),
      adActorSysPrio: { ...count(), max: 65_535 },
      adUserPortKey: { ...count(), max: 65_535 },
      adLACPActive: t.choice(['off', 'on']),
      primaryReselect: t.choice(['always', 'better', 'failure']),
      ...t.each(count(), 'resendIGMP minLinks lpInterval packetsPerSlave'),
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
      name: t.always(t.text()),
      hardwareAddr,
      links: t.texts(),
      stp: t.inPlace(t.object({ enabled: t.flag() })),
      vlan: t.inPlace(t.object({ filtering: t.flag() })),
      ...link,
    },
  },
  DummyLinkConfig: {
    about: 'A link without hardware',
    fields: { name: t.always(t.text()), hardwareAddr, ...link },
  },
  VRFConfig: {
    about: 'A routing domain of its own',
    since: '1.13',
    fields: {
      name: t.always(t.text()),
      hardwareAddr,
      links: t.texts(),
      table: t.always(t.text()),
      ...link,
    },
  },
  WireguardConfig: {
    about: 'A WireGuard tunnel',
    fields: {
      name: t.always(t.text()),
      privateKey: t.secret(),
      listenPort: t.integer(),
      firewallMark: t.integer(),
      peers: t.list(
        t.object({
          publicKey: t.text(),
          presharedKey: t.secret(),
          endpoint: t.text('host:port'),
          persistentKeepaliveInterval: t.duration(),
          allowedIPs: t.texts(),
        }),
      ),
      ...link,
    },
  },
  DHCPv4Config: {
    about: 'DHCP on a link; any link or DHCP document stops the default DHCP on all links',
    fields: {
      name: t.always(t.text('Name of the link')),
      routeMetric: t.integer(),
      ignoreHostname: t.flag('Don’t take the host name from the DHCP server'),
      ignoreRoutes: t.addedIn('1.14', t.flag('Don’t take routes from the DHCP server')),
      clientIdentifier: t.choice(['none', 'mac', 'duid']),
      duidRaw: t.text(),
    },
  },
  DHCPv6Config: {
    about: 'DHCP for IPv6 on a link',
    fields: {
      name: t.always(t.text('Name of the link')),
      routeMetric: t.integer(),
      ignoreHostname: t.flag(),
      clientIdentifier: t.choice(['none', 'mac', 'duid']),
      duidRaw: t.text(),
    },
  },
  EthernetConfig: {
    about: 'Settings of a network card',
    fields: {
      name: t.always(t.text('Name of the link')),
      features: t.map(t.flag()),
      rings: t.object({
        ...t.each(count(), 'rx tx rx-mini rx-jumbo rx-buf-len cqe-size'),
        'tx-push': t.flag(),
        'rx-push': t.flag(),
        'tx-push-buf-len': count(),
        'tcp-data-split': t.flag(),
      }),
      channels: t.object({ rx: count(), tx: count(), other: count(), combined: count() }),
      wakeOnLan: t.list(
        t.choice(['phy', 'unicast', 'multicast', 'broadcast', 'magic', 'magicsecure', 'filter']),
      ),
    },
  },
  LinkAliasConfig: {
    about: 'A name of your own for a link',
    fields: {
      name: t.always(t.text()),
      selector: t.inPlace(t.object({ match: t.text('CEL expression over link') })),
    },
  },
  Layer2VIPConfig: {
    about: 'A virtual address that the control planes share',
    fields: {
      name: t.always(t.text('The address')),
      link: t.always(t.text('Link that it lies on')),
    },
  },
  HCloudVIPConfig: {
    about: 'A virtual address at Hetzner Cloud',
    fields: { name: t.always(t.text()), link: t.always(t.text()), apiToken: t.always(t.secret()) },
  },
  ResolverConfig: {
    about: 'Name servers',
    fields: {
      nameservers: t.list(
        t.object({
          address: t.always(t.text()),
          protocol: t.addedIn('1.14', t.plainChoice(['Do53', 'DoT', 'DoH'], undefined, 'Do53')),
          tlsServerName: t.addedIn('1.14', t.text('Name in the certificate; of DoT and DoH')),
        }),
        'Name servers, in the order they are asked',
      ),
      searchDomains: t.inPlace(
        t.object({
          domains: { ...t.texts(), replacedSince: '1.14', keepEmpty: '1.14' },
          disableDefault: t.flag(),
        }),
      ),
      hostDNS: t.addedIn(
        '1.14',
        t.inPlace(
          t.object(
            { enabled: t.flag(), forwardKubeDNSToHost: t.flag(), resolveMemberNames: t.flag() },
            'Talos’s own caching name server',
          ),
        ),
      ),
    },
  },
  StaticHostConfig: {
    about: 'A line for /etc/hosts',
    fields: { name: t.always(t.text('The address')), hostnames: t.always(t.texts()) },
  },
  TimeSyncConfig: {
    about: 'Where the server takes the time from',
    fields: {
      enabled: t.flag(),
      bootTimeout: t.duration(),
      ntp: t.object({
        servers: t.texts(),
        useNTS: t.addedIn('1.14', t.flag('Only by NTS; servers are names then')),
      }),
      ptp: t.object({ devices: t.texts() }),
    },
  },
  KubeSpanConfig: {
    about: 'An encrypted mesh between the servers of the cluster',
    since: '1.13',
    fields: {
      ...t.each(
        t.flag(),
        'enabled advertiseKubernetesNetworks allowDownPeerBypass harvestExtraEndpoints',
      ),
      mtu: t.optionalInteger(),
      filters: t.object({ endpoints: t.texts(), excludeAdvertisedNetworks: t.texts() }),
    },
  },
  KubeSpanEndpointsConfig: {
    about: 'Further addresses of this server in the mesh',
    fields: { extraAnnouncedEndpoints: t.always(t.texts()) },
  },
  NetworkDefaultActionConfig: {
    about: 'What happens to traffic that no rule names',
    fields: { ingress: t.always(t.plainChoice(['accept', 'block'], undefined, 'accept')) },
  },
  NetworkRuleConfig: {
    about: 'Traffic that is let in',
    fields: {
      name: t.always(t.text()),
      portSelector: t.always(
        t.inPlace(
          t.object({
            ports: t.always({
              ...t.list(
                { is: 'port' },
                'Ports or ranges: 50000, 30000-32767; a patch replaces them',
              ),
              merge: 'replace' as const,
            }),
            protocol: t.always(t.plainChoice(['tcp', 'udp', 'icmp', 'icmpv6'])),
          }),
        ),
      ),
      ingress: t.always({
        ...t.list(
          t.object({ subnet: t.always(t.text()), except: t.text() }),
          'Networks; a patch replaces them',
        ),
        merge: 'replace' as const,
      }),
    },
  },
  BlackholeRouteConfig: {
    about: 'A route that drops',
    since: '1.13',
    fields: { name: t.always(t.text('Destination')), metric: t.integer() },
  },
  RoutingRuleConfig: {
    about: 'A rule that chooses the routing table',
    since: '1.13',
    fields: {
      name: t.always(t.text()),
      src: t.text(),
      dst: t.text(),
      table: t.always(t.text()),
      action: t.plainChoice(
        ['unspec', 'unicast', 'blackhole', 'unreachable', 'prohibit'],
        undefined,
        'unspec',
      ),
      iifName: t.text(),
      oifName: t.text(),
      fwMark: t.integer(),
      fwMask: t.integer(),
    },
  },
  TCPProbeConfig: {
    about: 'A check of a way out',
    since: '1.13',
    fields: {
      name: t.always(t.text()),
      interval: t.duration(),
      failureThreshold: t.integer(),
      endpoint: t.always(t.text('host:port')),
      timeout: t.duration(),
    },
  },
  HTTPProbeConfig: {
    about: 'A check of a way out by HTTP',
    since: '1.14',
    fields: {
      name: t.always(t.text()),
      interval: t.duration(),
      failureThreshold: t.integer(),
      url: t.always(t.text('URL of http or https')),
      timeout: t.duration(),
    },
  },
  VethConfig: {
    about: 'A pair of connected virtual links',
    since: '1.14',
    fields: {
      name: t.always(t.text()),
      peer: t.always(t.inPlace(t.object({ name: t.always(t.text()), ...link }, 'The other end'))),
      ...link,
    },
  },
  BGPInstanceConfig: {
    about: 'Routing by BGP',
    since: '1.14',
    fields: {
      name: t.always(t.text()),
      vrf: t.text('Routing domain that it lies in'),
      localASN: t.always(asn),
      routerID: t.text('IPv4 address'),
      routeSource: t.text('Source address of the routes'),
      advertise: t.replaced(t.text(), 'Links whose networks are advertised; a patch replaces them'),
      multipath: t.flag(),
      maxPaths: { ...t.integer(), max: 255 },
      installRoutes: t.flag('Take the routes into the routing table'),
      importRoutes: t.replaced(
        t.object({ bgpInstance: t.always(t.text()), prefixes: t.always(t.texts()) }),
        'Routes of other instances; a patch replaces them',
      ),
      neighbors: t.replaced(
        t.object({
          address: t.text(),
          link: t.text(),
          peerASN: asn,
          localASN: asn,
          passive: t.flag(),
          holdTime: t.duration(),
          bfd: t.object({
            transmitInterval: t.duration(),
            receiveInterval: t.duration(),
            detectMultiplier: { ...t.integer(), max: 255 },
          }),
        }),
        'A patch replaces them',
      ),
    },
  },
}
