/** Patches that violate the rules of `limits/network.ts` and `limits/volumes.ts`. */
import type { Cases } from './case.ts'

const documents = (...texts: readonly string[]): string =>
  texts.map((text) => `apiVersion: v1alpha1\n${text}\n`).join('---\n')
const interfaces = (text: string): string => `machine: {network: {interfaces: [${text}]}}`
const bond = (more: string): string => `kind: BondConfig\nname: bond0\nlinks: [eno1, eno2]\n${more}`
const lacp = bond('bondMode: 802.3ad\nmiimon: 100')
const link = (name: string, route: string): string =>
  `kind: LinkConfig\nname: ${name}\naddresses: [{address: 10.8.0.5/24}]\nroutes: [${route}]`
const key = (n: number): string => Buffer.alloc(32, n).toString('base64')
const tunnel = (...peers: readonly (readonly [number, string])[]): string =>
  documents(
    `kind: WireguardConfig\nname: wg0\nprivateKey: ${key(1)}\npeers: [${peers
      .map(([n, networks]) => `{publicKey: ${key(n)}, allowedIPs: [${networks}]}`)
      .join(', ')}]`,
  )
const block = 'kind: NetworkDefaultActionConfig\ningress: block'
const udp = (ports: string): string =>
  `kind: NetworkRuleConfig\nname: udp\nportSelector: {ports: [${ports}], protocol: udp}\ningress: [{subnet: 10.0.0.0/8}]`
const flannel = (backend: string): string => `kind: KubeFlannelCNIConfig\nbackendType: ${backend}`
const service = (mountPath: string): string =>
  documents(
    `kind: ExtensionServiceConfig\nname: nut\nconfigFiles: [{content: a, mountPath: ${mountPath}}]`,
  )
const whole = (match: string): string =>
  documents(
    `kind: UserVolumeConfig\nname: data\nvolumeType: disk\nprovisioning: {diskSelector: {match: "${match}"}}`,
  )
const disks = (text: string): string => `machine: {disks: [${text}]}`

export const casesOfNetworkLimits: Cases = {
  'bond-unwatched': {
    bad: [
      documents(bond('bondMode: active-backup')),
      documents(bond('bondMode: balance-xor\nmiimon: 0')),
      documents(bond('bondMode: 802.3ad')),
      interfaces('{interface: bond0, bond: {mode: active-backup, interfaces: [eno1, eno2]}}'),
    ],
    good: [
      documents(bond('bondMode: active-backup\nmiimon: 100')),
      documents(bond('bondMode: active-backup\narpInterval: 100\narpIpTargets: [10.0.0.1]')),
      documents(lacp),
      documents('kind: BondConfig\nname: bond0\nlinks: [eno1]\nbondMode: active-backup'),
    ],
  },
  'bond-setting': {
    bad: [
      documents(bond('bondMode: active-backup\nmiimon: 100\nlacpRate: fast')),
      documents(bond('bondMode: balance-alb\nmiimon: 100\nadActorSysPrio: 1000')),
      documents(bond('bondMode: balance-xor\nmiimon: 100\nadLACPActive: "off"')),
      documents(bond('bondMode: active-backup\nmiimon: 100\npacketsPerSlave: 5')),
      documents(`${lacp}\narpValidate: all`),
      documents(`${lacp}\narpIpTargets: [10.0.0.1]`),
      documents(`${lacp}\narpInterval: 100`),
      documents(`${lacp}\nmissedMax: 3`),
      documents(`${lacp}\nupdelay: 250`),
      documents(bond('bondMode: active-backup\ndowndelay: 200')),
      documents(`${lacp}\npeerNotifDelay: 50`),
      documents(`${lacp}\nminLinks: 3`),
      documents(
        bond('bondMode: active-backup\nmiimon: 100\narpInterval: 100\narpIpTargets: [10.0.0.1]'),
      ),
      documents(bond('bondMode: active-backup\narpInterval: 100\narpIpTargets: ["fd00::1"]')),
      interfaces(
        '{interface: bond0, bond: {mode: active-backup, miimon: 100, arpInterval: 100, interfaces: [eno1]}}',
      ),
      interfaces(
        '{interface: bond0, bond: {mode: active-backup, miimon: 100, peerNotifyDelay: 150, interfaces: [eno1]}}',
      ),
    ],
    good: [
      documents(`${lacp}\nlacpRate: fast\nupdelay: 200\ndowndelay: 200\nadActorSysPrio: 65535`),
      documents(
        bond(
          'bondMode: active-backup\nmiimon: 100\nlacpRate: slow\narpValidate: none\narpAllTargets: any\nfailOverMac: active\npacketsPerSlave: 1\ntlbLogicalLb: 1',
        ),
      ),
      documents(bond('bondMode: balance-rr\nmiimon: 100\npacketsPerSlave: 5')),
      documents(`${lacp}\nminLinks: 2`),
      documents(bond('bondMode: active-backup\nmiimon: 100\nminLinks: 3')),
      documents(
        bond(
          'bondMode: active-backup\narpInterval: 100\narpIpTargets: [10.0.0.1]\nnsIp6Targets: ["fd00::1"]\narpValidate: all\nmissedMax: 3',
        ),
      ),
      interfaces(
        '{interface: bond0, bond: {mode: 802.3ad, miimon: 100, updelay: 200, lacpRate: fast, interfaces: [eno1]}}',
      ),
    ],
  },
  'bond-asks-nobody': {
    bad: [
      documents(bond('bondMode: active-backup\narpInterval: 100')),
      documents(bond('bondMode: balance-xor\narpInterval: 100\narpIpTargets: []')),
      interfaces(
        '{interface: bond0, bond: {mode: active-backup, arpInterval: 100, interfaces: [a]}}',
      ),
    ],
    good: [
      documents(bond('bondMode: active-backup\narpInterval: 100\narpIpTargets: [10.0.0.1]')),
      documents(bond('bondMode: active-backup\narpInterval: 100\nnsIp6Targets: ["fd00::1"]')),
      documents(bond('bondMode: active-backup\nmiimon: 100\narpInterval: 0')),
    ],
  },
  'selector-of-shared-address': {
    bad: [
      interfaces(
        '{deviceSelector: {hardwareAddr: "0c:42:a1:00:00:01"}, dhcp: true, vlans: [{vlanId: 5}]}',
      ),
      interfaces(
        '{interface: bond0, bond: {mode: 802.3ad, miimon: 100, deviceSelectors: [{hardwareAddr: "0c:42:a1:*"}]}, vlans: [{vlanId: 5}]}',
      ),
      `${interfaces('{interface: bond0, bond: {mode: 802.3ad, miimon: 100, deviceSelectors: [{hardwareAddr: "0c:42:a1:*"}]}}')}\n---\n${documents('kind: VLANConfig\nname: v5\nparent: bond0\nvlanID: 5')}`,
    ],
    good: [
      interfaces('{deviceSelector: {hardwareAddr: "0c:42:a1:00:00:01"}, dhcp: true}'),
      interfaces(
        '{deviceSelector: {hardwareAddr: "0c:42:a1:00:00:01", physical: true}, vlans: [{vlanId: 5}]}',
      ),
      interfaces(
        '{deviceSelector: {permanentAddr: "0c:42:a1:00:00:01"}, dhcp: true, vlans: [{vlanId: 5}]}',
      ),
      interfaces(
        '{interface: bond0, bond: {mode: 802.3ad, miimon: 100, deviceSelectors: [{hardwareAddr: "0c:42:a1:*"}]}}',
      ),
    ],
  },
  'address-on-port': {
    bad: [
      documents(lacp, link('eno1', '')),
      documents(lacp, 'kind: DHCPv4Config\nname: eno2'),
      documents(lacp, 'kind: Layer2VIPConfig\nname: 10.8.0.9\nlink: eno1'),
    ],
    good: [
      documents(lacp, 'kind: LinkConfig\nname: eno1\nmtu: 9000'),
      documents(lacp, 'kind: VLANConfig\nname: v5\nparent: eno1\nvlanID: 5'),
      documents(lacp, 'kind: VLANConfig\nname: v5\nparent: bond0\nvlanID: 5', link('eno3', '')),
    ],
  },
  'route-form': {
    bad: [
      documents(link('eno1', '{destination: "fd00::/64", gateway: 10.8.0.1}')),
      documents(link('eno1', '{destination: 10.9.0.5/24, gateway: 10.8.0.1}')),
      interfaces('{interface: eno1, routes: [{network: 10.9.0.5/16, gateway: 10.8.0.1}]}'),
      interfaces('{interface: eno1, routes: [{network: 10.9.0.0/16, gateway: "fd00::1"}]}'),
    ],
    good: [
      documents(link('eno1', '{destination: 10.9.0.0/24, gateway: 10.8.0.1}, {gateway: 10.8.0.1}')),
      interfaces('{interface: eno1, routes: [{network: 0.0.0.0/0, gateway: 10.8.0.1}]}'),
      interfaces('{interface: eno1, routes: [{network: 0.0.0.0/0, gateway: "fe80::1"}]}'),
      interfaces('{interface: eno1, routes: [{network: "fd00::5/64", gateway: "fe80::1"}]}'),
      interfaces('{interface: eno1, routes: [{network: 10.8.0.1/32}]}'),
    ],
  },
  'route-twice': {
    bad: [
      documents(link('eno1', '{gateway: 10.8.0.1}'), link('eno2', '{gateway: 10.8.0.2}')),
      documents(link('eno1', '{gateway: 10.8.0.1}, {gateway: 10.8.0.2}')),
      interfaces(
        '{interface: eno1, routes: [{network: 0.0.0.0/0, gateway: 10.8.0.1}]}, {interface: eno2, routes: [{network: 0.0.0.0/0, gateway: 10.9.0.1, metric: 1024}]}',
      ),
    ],
    good: [
      documents(
        link('eno1', '{gateway: 10.8.0.1}'),
        link('eno2', '{gateway: 10.8.0.2, metric: 2048}'),
      ),
      documents(link('eno1', '{gateway: 10.8.0.1}, {gateway: "fd00::1"}')),
      documents(
        link('eno1', '{gateway: 10.8.0.1}'),
        link('eno2', '{gateway: 10.8.0.2, table: "100"}'),
      ),
    ],
  },
  'tunnel-peers': {
    bad: [
      `machine: {network: {kubespan: {enabled: true}}}\n---\n${documents(`kind: WireguardConfig\nname: wg0\nlistenPort: 51820\nprivateKey: ${key(1)}`)}`,
      tunnel([2, '10.5.0.0/24'], [3, '10.5.0.0/24']),
      tunnel([2, '10.5.0.0/24'], [2, '10.6.0.0/24']),
      interfaces(
        `{interface: wg0, wireguard: {privateKey: ${key(1)}, peers: [{publicKey: ${key(2)}, allowedIPs: [10.5.0.0/24]}, {publicKey: ${key(3)}, allowedIPs: [10.5.0.0/24]}]}}`,
      ),
    ],
    good: [
      tunnel([2, '10.5.0.0/24'], [3, '10.6.0.0/24']),
      documents(`kind: WireguardConfig\nname: wg0\nlistenPort: 51820\nprivateKey: ${key(1)}`),
    ],
  },
  'pods-behind-firewall': {
    bad: [
      documents(block),
      documents(block, udp('8472')),
      documents(block, flannel('vxlan'), udp('4789')),
      `machine: {network: {kubespan: {enabled: true}}}\n---\n${documents(block, udp('4789'))}`,
    ],
    good: [
      documents(block, udp('4789')),
      documents(block, udp('4000-5000')),
      `machine: {network: {kubespan: {enabled: true}}}\n---\n${documents(block, udp('51820'))}`,
      `cluster: {network: {cni: {name: none}}}\n---\n${documents(block)}`,
      documents(block, flannel('host-gw')),
      documents(block, flannel('vxlan'), udp('8472')),
      documents(block, flannel('vxlan\nbackendPort: 4789'), udp('4789')),
    ],
  },
  'dhcp-behind-firewall': {
    bad: [
      documents(block, 'kind: DHCPv6Config\nname: eno1'),
      documents(block, udp('547'), 'kind: DHCPv6Config\nname: eno1'),
      `${interfaces('{interface: eno1, dhcp: true, dhcpOptions: {ipv6: true}}')}\n---\n${documents(block)}`,
    ],
    good: [
      documents(block, udp('546'), 'kind: DHCPv6Config\nname: eno1'),
      documents(block, 'kind: DHCPv4Config\nname: eno1'),
      documents('kind: DHCPv6Config\nname: eno1'),
    ],
  },
  'answers-behind-firewall': {
    bad: [
      documents(udp('0-65535')),
      documents('kind: NetworkDefaultActionConfig\ningress: accept', udp('53, 30000-40000')),
      documents(udp('1-65535').replace('udp}', 'tcp}')),
      documents(udp('1-65535').replace('10.0.0.0/8', '0.0.0.0/0, except: 10.9.0.0/16')),
    ],
    good: [
      documents(block, udp('0-65535')),
      documents(udp('30000-32767, 51820')),
      documents(udp('50000-50001').replace('udp}', 'tcp}')),
      documents(udp('0-65535').replace('10.0.0.0/8', '0.0.0.0/0')),
    ],
  },
  'proxy-without-exceptions': {
    bad: [
      'machine: {env: {https_proxy: "http://proxy.example.org:3128"}}',
      'machine: {env: {HTTPS_PROXY: "http://proxy.example.org:3128", no_proxy: ""}}',
      documents(
        'kind: EnvironmentConfig\nvariables: {https_proxy: "http://proxy.example.org:3128"}',
      ),
    ],
    good: [
      'machine: {env: {https_proxy: "http://proxy.example.org:3128", no_proxy: "10.0.0.0/8,.svc"}}',
      'machine: {env: {http_proxy: "http://proxy.example.org:3128"}}',
    ],
  },
  'path-of-document': {
    bad: [
      service('usr/local/etc/nut.conf'),
      service('./nut.conf'),
      documents('kind: WatchdogTimerConfig\ndevice: watchdog0'),
    ],
    good: [
      service('/usr/local/etc/nut.conf'),
      documents('kind: WatchdogTimerConfig\ndevice: /dev/watchdog0'),
    ],
  },
  'virtual-address-of-worker': {
    on: 'worker',
    bad: [
      documents('kind: Layer2VIPConfig\nname: 10.8.0.9\nlink: eno1'),
      documents('kind: Layer2VIPConfig\nname: fd00::9\nlink: eno1'),
      documents('kind: HCloudVIPConfig\nname: 10.8.0.9\nlink: eno1\napiToken: x'),
    ],
    good: [documents(link('eno1', ''))],
  },
  'disk-volume-expression': {
    bad: ['!system_disk', "disk.transport == 'nvme' && !system_disk", 'system_disk'].map(whole),
    good: [
      whole("disk.serial == 'S1'"),
      documents(
        'kind: UserVolumeConfig\nname: data\nprovisioning: {minSize: 1GiB, diskSelector: {match: "!system_disk"}}',
      ),
    ],
  },
  'user-disk': {
    bad: [
      disks('{device: /dev/sdb, partitions: [{mountpoint: /mnt/data}]}'),
      disks('{device: /dev/sdb, partitions: [{mountpoint: /var}]}'),
      disks(
        '{device: /dev/sdb, partitions: [{mountpoint: /var/mnt/a}]}, {device: /dev/sdc, partitions: [{mountpoint: /var/mnt/a}]}',
      ),
      disks(
        '{device: /dev/sdb, partitions: [{mountpoint: /var/mnt/a}]}, {device: /dev/sdb, partitions: [{mountpoint: /var/mnt/b}]}',
      ),
    ],
    good: [
      disks('{device: /dev/sdb, partitions: [{mountpoint: /opt/local-path-provisioner}]}'),
      disks(
        '{device: /dev/sdb, partitions: [{size: 10GB, mountpoint: /var/mnt/a}, {mountpoint: /var/lib/b}]}',
      ),
    ],
  },
}
