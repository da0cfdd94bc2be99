import { describe, expect, it } from 'vitest'
import { mergePatches } from '../config/merge.ts'
import { inventoryFindings, inventoryRules } from './inventory.ts'
import type { Inventory } from './known.ts'
import { casesOfMachines, rightElsewhere } from './testing/cases-of-machines.ts'

const disk = {
  size: 2 * 1024 ** 4,
  model: 'SAMSUNG MZQL21T9',
  serial: 'S1',
  wwid: 'eui.1',
  transport: 'nvme',
  rotational: false,
  readonly: false,
}
const machine: Inventory = {
  server: 'gull',
  links: [
    {
      name: 'enp1s0f0',
      physical: true,
      up: true,
      addresses: ['10.0.0.7/24', 'fd00::7/64'],
      hardware_addr: 'b8:ce:f6:b2:db:c5',
      driver: 'mlx5_core',
    },
    {
      name: 'enp1s0f1',
      physical: true,
      up: true,
      addresses: [],
      hardware_addr: 'b8:ce:f6:b2:db:c6',
      driver: null,
    },
    { name: 'lo', physical: false, up: true, addresses: [], hardware_addr: null, driver: null },
  ],
  disks: [
    { ...disk, path: '/dev/nvme0n1', size: 256 * 1024 ** 3 },
    { ...disk, path: '/dev/nvme1n1', serial: 'S2', wwid: 'eui.2' },
  ],
  systemDisk: '/dev/nvme0n1',
  addresses: ['10.0.0.7', 'fd00::7'],
  gateways: ['10.0.0.1'],
  taken: [
    { address: '10.0.0.45', by: 'server fox' },
    { address: 'fd00:0:0::45', by: 'the cluster blue' },
  ],
}

const base = 'version: v1alpha1\nmachine: {type: controlplane}\n'
const find = (body: string, of: Inventory = machine) =>
  inventoryFindings(mergePatches(base, [{ name: 'mine', body }]).documents, of)
const device = (selector: string) =>
  `machine: {network: {interfaces: [{deviceSelector: {${selector}}, dhcp: true}]}}`
const volume = (match: string) =>
  `apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning:\n  diskSelector:\n    match: ${JSON.stringify(match)}\n  maxSize: 40GiB\n`
const alias = (match: string) =>
  `apiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector:\n  match: ${JSON.stringify(match)}\n`

const install = (match: string) =>
  `apiVersion: v1alpha1\nkind: UnattendedInstallConfig\ninstaller: {image: a/b:v1}\nprovisioning:\n  wipe: false\n  diskSelector:\n    match: ${JSON.stringify(match)}\n`

const kept = `apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning: {maxSize: 40GiB}\n`
const userVolume = (match: string, more = ''): string =>
  `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: data\nprovisioning:\n  diskSelector:\n    match: ${JSON.stringify(match)}\n${more}`
const sysctl = (key: string, value = '1') => `machine: {sysctls: {${key}: "${value}"}}`
const withoutSix = [
  'net.ipv6.conf.all.disable_ipv6',
  'net.ipv6.conf.enp1s0f0.disable_ipv6',
  'net/ipv6/conf/default/disable_ipv6',
]

const whole = (match: string, name = 'disk'): string =>
  `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: ${name}\nvolumeType: disk\nprovisioning:\n  diskSelector:\n    match: ${JSON.stringify(match)}\n`
const half = (name: string, kind = 'UserVolumeConfig', size = '1500GiB'): string =>
  userVolume("disk.serial == 'S2'", `  minSize: ${size}\n`)
    .replace('name: data', `name: ${name}`)
    .replace('UserVolumeConfig', kind)
const encrypted =
  'apiVersion: v1alpha1\nkind: VolumeConfig\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}\n'
const userDisk = (device: string, mountpoint = '/var/mnt/data'): string =>
  `machine: {disks: [{device: ${device}, partitions: [{mountpoint: ${mountpoint}}]}]}`

/** A document of storage that Talos 1.14 builds from the disks that an expression matches. */
const aggregate = (kind: string, name: string, match: string): string =>
  `apiVersion: v1alpha1\nkind: ${kind}\nname: ${name}\n${kind === 'RAIDArrayConfig' ? 'level: raid1\n' : ''}provisioning:\n  volumeSelector:\n    match: ${JSON.stringify(match)}\n`
const array = (match: string, name = 'mirror'): string => aggregate('RAIDArrayConfig', name, match)
const group = (match: string, name = 'pool'): string =>
  aggregate('LVMVolumeGroupConfig', name, match)
const logical = (type: string, maxSize = '10GiB', name = 'data'): string =>
  `apiVersion: v1alpha1\nkind: LVMLogicalVolumeConfig\nname: ${name}\ntype: ${type}\nprovisioning: {volumeGroup: pool, maxSize: ${maxSize}}\n`
const all = (...documents: readonly string[]): string => documents.join('---\n')
/** The system disk and three others of 2 TiB. */
const manyDisks: Inventory = {
  ...machine,
  disks: [
    ...machine.disks!,
    { ...disk, path: '/dev/nvme2n1', serial: 'S3', wwid: 'eui.3' },
    { ...disk, path: '/dev/sda', serial: 'S4', wwid: 'naa.4', transport: 'sata', rotational: true },
  ],
}

interface Case {
  readonly bad: readonly string[]
  readonly good: readonly string[]
  readonly of?: Inventory
}
const cases: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(
    Object.entries(casesOfMachines).map(([id, { of, ...bodies }]) => [
      id,
      { ...bodies, of: { ...machine, ...of } },
    ]),
  ),
  'gateway-out-of-reach': {
    bad: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, dhcp: true, routes: [{network: 10.9.0.0/16, gateway: 192.168.77.1}]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: enp1s0f0\nroutes: [{destination: 10.9.0.0/16, gateway: 10.0.1.1}]',
      'machine: {network: {interfaces: [{interface: enp1s0f0, routes: [{network: "::/0", gateway: "fd01::1"}]}]}}',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, routes: [{network: 10.9.0.0/16, gateway: 10.0.0.254}]}]}}',
      'machine: {network: {interfaces: [{interface: enp1s0f1, addresses: [10.7.0.2/24], routes: [{network: 10.9.0.0/16, gateway: 10.7.0.1}]}]}}',
      'machine: {network: {interfaces: [{interface: enp1s0f0, routes: [{network: "::/0", gateway: "fe80::1"}]}]}}',
    ],
  },
  'volume-larger-than-disks': {
    bad: [
      userVolume("disk.dev_path == '/dev/nvme1n1'", '  minSize: 3TiB\n'),
      userVolume('!system_disk', '  minSize: 2049GiB\n'),
      volume("disk.dev_path == '/dev/nvme0n1'").replace('  maxSize: 40GiB', '  minSize: 257GiB'),
    ],
    good: [
      userVolume('!system_disk', '  minSize: 2TB\n'),
      userVolume("disk.transport == 'nvme'", '  minSize: 1TiB\n'),
    ],
  },
  'volume-beside-ephemeral': {
    bad: [
      userVolume('system_disk'),
      userVolume("disk.dev_path == '/dev/nvme0n1'"),
      userVolume('disk.size < 1u * TiB').replace('UserVolumeConfig', 'RawVolumeConfig'),
    ],
    good: [
      `${kept}---\n${userVolume('system_disk')}`,
      userVolume("disk.transport == 'nvme'"),
      userVolume('!system_disk'),
    ],
  },
  'disk-volume-on-several': {
    of: manyDisks,
    bad: ["disk.transport == 'nvme'", 'disk.size > 1u * TiB', '!disk.rotational'].map((text) =>
      whole(text),
    ),
    good: [whole("disk.serial == 'S3'"), whole('disk.rotational')],
  },
  'disk-volume-shared': {
    of: manyDisks,
    bad: [
      whole("disk.dev_path == '/dev/nvme0n1'"),
      all(whole("disk.serial == 'S2'"), half('part')),
      all(whole("disk.serial == 'S3'"), whole("disk.serial == 'S3'", 'other')),
    ],
    good: [all(whole("disk.serial == 'S3'"), half('part'), whole('disk.rotational', 'slow'))],
  },
  'volumes-of-one-disk': {
    bad: [
      all(half('a'), half('b')),
      all(half('a'), half('b', 'RawVolumeConfig')),
      all(half('a'), half('b', 'SwapVolumeConfig', '600GiB')),
    ],
    good: [
      all(
        half('a', 'UserVolumeConfig', '1500GiB\n  maxSize: 1500GiB'),
        half('b', 'RawVolumeConfig', '500GiB'),
      ),
    ],
  },
  'encryption-of-filled': {
    of: { ...machine, isMember: true },
    bad: [
      `${encrypted}name: EPHEMERAL\n`,
      `${encrypted}name: STATE\n`,
      'machine: {systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}',
    ],
    good: [kept],
  },
  'user-disk-of-system': {
    bad: ['/var/mnt/a', '/var/lib/b', '/var/mnt/c'].map((at) => userDisk('/dev/nvme0n1', at)),
    good: [userDisk('/dev/nvme1n1')],
  },
  'ipv6-switched-off': {
    bad: withoutSix.map((key) => sysctl(key)),
    good: [sysctl(withoutSix[0]!, '0'), sysctl('net.ipv6.conf.lo.disable_ipv6')],
  },
  'only-ipv6-switched-off': {
    of: { ...machine, addresses: ['fd00::7'] },
    bad: withoutSix.map((key) => sysctl(key)),
    good: [sysctl(withoutSix[0]!, '0')],
  },
  'array-without-members': {
    of: manyDisks,
    bad: [
      array("disk.transport == 'sata'"),
      // The system disk is never a member.
      array("disk.dev_path == '/dev/nvme0n1' || disk.dev_path == '/dev/nvme1n1'"),
      array('disk.size > 10u * TiB'),
      group("disk.transport == 'usb'"),
      group('system_disk'),
    ],
    good: [
      array("disk.transport == 'nvme'"),
      array('!system_disk'),
      // Volumes and partitions aren't known.
      array("volume_id == 'r-mirror0' || volume_id == 'r-mirror1'"),
      group('volume.partition_label == "pv"'),
      group('disk.rotational'),
      group('disk.io_size == 4096u'),
    ],
  },
  'member-of-two': {
    of: manyDisks,
    bad: [
      all(array("disk.transport == 'nvme'"), group("disk.wwid == 'eui.3'")),
      all(group('!system_disk'), group('disk.rotational', 'slow')),
      all(array('!system_disk'), array("disk.transport == 'nvme'", 'fast')),
    ],
    good: [
      all(array("disk.transport == 'nvme'"), group('disk.rotational')),
      all(array("disk.transport == 'nvme'"), group('volume.name == "x"')),
    ],
  },
  'logical-volume-layout': {
    of: manyDisks,
    bad: [
      all(group('disk.rotational'), logical('raid1')),
      all(group('!system_disk'), logical('raid10')),
      all(group("disk.transport == 'nvme'"), `${logical('raid0')}stripes: 3\n`),
      all(group('!system_disk'), `${logical('raid1')}mirrors: 3\n`),
    ],
    good: [
      all(group("disk.transport == 'nvme'"), logical('raid1')),
      all(group('!system_disk'), `${logical('raid0')}stripes: 3\n`),
      all(group('disk.rotational'), logical('linear')),
      logical('raid1'),
    ],
  },
  'logical-volumes-too-large': {
    of: manyDisks,
    bad: [
      all(group('disk.rotational'), logical('linear', '3TiB')),
      all(group("disk.transport == 'nvme'"), logical('raid1', '2500GiB')),
      all(group('disk.rotational'), logical('linear', '1500GiB'), logical('linear', '1TiB', 'b')),
    ],
    good: [
      all(group('!system_disk'), logical('linear', '5TiB')),
      all(group('disk.rotational'), logical('linear', '80%')),
    ],
  },
  'install-on-one-disk': {
    bad: [
      'disk.dev_path == "/dev/sda"',
      'disk.transport == "nvme"',
      'disk.size > 100u * GB',
      '!disk.rotational',
    ].map(install),
    good: ['disk.wwid == "eui.1"', 'disk.dev_path == "/dev/nvme0n1"'].map(install),
  },
  'selector-of-links': {
    bad: [
      device('hardwareAddr: "B8:CE:F6:B2:DB:C5"'),
      device('hardwareAddr: "de:ad:be:ef:*"'),
      device('hardwareAddr: "b8:ce:f6:b2:db:c5", physical: false'),
    ],
    good: [
      device('hardwareAddr: "b8:ce:f6:*:c5"'),
      device('driver: mlx5_core'),
      // A driver or a bus that isn't known may match.
      device('driver: ixgbe'),
      device('busPath: "0000:81:*"'),
      device('physical: true'),
    ],
  },
  'alias-of-no-link': {
    bad: [
      alias("mac(link.permanent_addr) == 'B8:CE:F6:B2:DB:C5'"),
      alias("glob('00:1a:*', mac(link.permanent_addr))"),
      alias("mac(link.hardware_addr).startsWith('de:ad')"),
      // It matches two links, and Talos gives a name without a number to none of them then.
      alias("glob('b8:ce:*', mac(link.permanent_addr))"),
    ],
    good: [
      alias("mac(link.permanent_addr) == 'b8:ce:f6:b2:db:c5'"),
      alias("glob('b8:ce:*', mac(link.permanent_addr))").replace('net0', 'net%d'),
      alias("link.driver == 'ixgbe'"),
    ],
  },
  'volume-on-no-disk': {
    bad: [
      volume("disk.dev_path == '/dev/vda'"),
      volume('disk.size > 10u * TiB'),
      volume("disk.transport == 'sata' || disk.rotational"),
      volume("disk.wwid == 'eui.1' && !system_disk"),
    ],
    good: [
      volume("disk.dev_path == '/dev/nvme1n1'"),
      volume('disk.size > 1u * TiB && !system_disk'),
      volume("glob('SAMSUNG*', disk.model)"),
      volume("'/dev/disk/by-id/x' in disk.symlinks"),
    ],
  },
  'disk-that-is-not-there': {
    bad: ['/dev/vda', '/dev/sdb', '/dev/nvme2n1'].map(
      (path) => `machine: {disks: [{device: ${path}, partitions: [{mountpoint: /var/mnt/a}]}]}`,
    ),
    good: [
      'machine: {disks: [{device: /dev/nvme1n1, partitions: [{mountpoint: /var/mnt/a}]}]}',
      'machine: {disks: [{device: /dev/disk/by-id/x, partitions: [{mountpoint: /var/mnt/a}]}]}',
    ],
  },
  'address-of-another': {
    bad: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: 10.0.0.45}}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: enp1s0f0\naddresses: [{address: "fd00::45/64"}]',
      'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.45\nlink: enp1s0f0',
    ],
    good: ['machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: 10.0.0.46}}]}}'],
  },
  'address-of-gateway': {
    bad: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, addresses: [10.0.0.1/24]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: enp1s0f0\naddresses: [{address: 10.0.0.1/16}]',
      'machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: 10.0.0.1}}]}}',
    ],
    good: ['machine: {network: {interfaces: [{interface: enp1s0f0, addresses: [10.0.0.2/24]}]}}'],
  },
  'virtual-address-that-is-taken': {
    bad: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, dhcp: true, vip: {ip: 10.0.0.7}}]}}',
      'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.7\nlink: enp1s0f0',
      'machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: "fd00:0::7"}}]}}',
    ],
    good: ['machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: 10.0.0.46}}]}}'],
  },
  'virtual-address-network': {
    bad: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, dhcp: true, vip: {ip: 192.168.99.9}}]}}',
      'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.1.9\nlink: enp1s0f0',
      'machine: {network: {interfaces: [{interface: enp1s0f0, dhcp: true, vip: {ip: 10.0.0.255}}]}}',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: enp1s0f0, vlans: [{vlanId: 9, addresses: [192.168.99.2/24], vip: {ip: 192.168.99.9}}]}]}}',
      'machine: {network: {interfaces: [{interface: enp1s0f0, vip: {ip: 10.0.0.200}}]}}',
    ],
  },
  'link-that-exists': {
    bad: [
      'apiVersion: v1alpha1\nkind: BondConfig\nname: enp1s0f1\nlinks: [enp1s0f0]\nbondMode: active-backup',
      'machine: {network: {interfaces: [{interface: enp1s0f0, bridge: {interfaces: [enp1s0f1]}}]}}',
      'apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: enp1s0f1',
    ],
    good: ['apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: dummy0'],
  },
  'volumes-without-end': {
    bad: [
      all(half('a', 'UserVolumeConfig', '10GiB'), half('b', 'UserVolumeConfig', '10GiB')),
      all(half('a', 'RawVolumeConfig', '10GiB'), half('b', 'UserVolumeConfig', '20GiB')),
      all(
        half('a', 'UserVolumeConfig', '1GiB'),
        half('b', 'SwapVolumeConfig', '1GiB\n  maxSize: 2GiB'),
        half('c', 'UserVolumeConfig', '1GiB'),
      ),
    ],
    good: [
      all(
        half('a', 'UserVolumeConfig', '10GiB\n  maxSize: 20GiB'),
        half('b', 'UserVolumeConfig', '10GiB'),
      ),
      all(half('IMAGECACHE', 'VolumeConfig', '1GiB'), half('b', 'UserVolumeConfig', '10GiB')),
    ],
  },
  'etcd-address-unheard': {
    bad: [
      'cluster: {etcd: {advertisedSubnets: [10.0.0.0/24], listenSubnets: ["fd00::/64"]}}',
      'cluster: {etcd: {advertisedSubnets: ["fd00::7"], listenSubnets: [0.0.0.0/0]}}',
      'cluster: {etcd: {advertisedSubnets: [0.0.0.0/0, "!10.1.0.0/16"], listenSubnets: ["::/0"]}}',
    ],
    good: [
      'cluster: {etcd: {advertisedSubnets: [10.0.0.0/24], listenSubnets: [10.0.0.0/24]}}',
      'cluster: {etcd: {advertisedSubnets: [10.0.0.0/24]}}',
      'cluster: {etcd: {listenSubnets: [10.0.0.0/24]}}',
    ],
  },
  'no-address-in-network': {
    bad: [
      'machine: {kubelet: {nodeIP: {validSubnets: [10.1.0.0/16]}}}',
      'machine: {kubelet: {nodeIP: {validSubnets: ["fd01::/64", "!fd00::/64"]}}}',
      'cluster: {etcd: {advertisedSubnets: [192.168.0.0/24]}}',
      'cluster: {etcd: {listenSubnets: [192.168.0.0/24]}}',
      'machine: {kubelet: {nodeIP: {validSubnets: [10.0.0.0/8, "!10.0.0.0/24"]}}}',
    ],
    good: [
      'machine: {kubelet: {nodeIP: {validSubnets: [10.0.0.0/24]}}}',
      'machine: {kubelet: {nodeIP: {validSubnets: ["fd00::/64"]}}}',
      'machine: {kubelet: {nodeIP: {validSubnets: [0.0.0.0/0, "!10.1.0.0/16"]}}}',
      'machine: {kubelet: {nodeIP: {validSubnets: [10.1.0.0/16]}}, network: {interfaces: [{interface: enp1s0f1, addresses: [10.1.0.7/16]}]}}',
    ],
  },
}

describe('values that are not possible on a machine', () => {
  it('has cases for every rule', () => {
    expect(Object.keys(cases).toSorted()).toEqual(inventoryRules.map(({ id }) => id).toSorted())
    for (const { bad } of Object.values(cases)) expect(bad.length).toBeGreaterThanOrEqual(3)
  })

  it.each(Object.entries(cases))('finds %s', (rule, { bad, good, of }) => {
    const found = (body: string) => find(body, of)
    expect(bad.filter((body) => found(body).length !== 1 || found(body)[0]!.rule !== rule)).toEqual(
      [],
    )
    expect(bad.every((body) => found(body)[0]!.layer === 'mine')).toBe(true)
    expect(good.flatMap(found)).toEqual([])
  })

  it.each(rightElsewhere)('finds nothing on a machine with $of', ({ of, bodies }) => {
    expect(bodies.flatMap((body) => find(body, { ...machine, ...of }))).toEqual([])
  })

  it('finds nothing while the machine is unknown', () => {
    const unknown = {
      ...machine,
      links: null,
      disks: null,
      addresses: null,
      gateways: [],
      taken: [],
    }
    const bodies = Object.values(cases).flatMap(({ bad }) => bad)
    expect(bodies.flatMap((body) => find(body, unknown))).toEqual([])
  })
})

describe('cases that were reported', () => {
  it('11 mac-in-capitals: proposes the spelling that matches', () => {
    expect(find(device('hardwareAddr: "B8:CE:F6:B2:DB:C5"'))[0]!.message).toContain(
      'write "b8:ce:f6:b2:db:c5"',
    )
  })

  it('12 selector-matches-no-link: names the links of the server', () => {
    const links = machine.links!.map((link) => ({ ...link, driver: link.driver ?? 'mlx5_core' }))
    const [found] = find(
      'machine:\n  network:\n    interfaces:\n      - interface: bond0\n        bond: {mode: active-backup, deviceSelectors: [{driver: ixgbe}, {permanentAddr: "de:ad:be:ef:*"}]}\n        dhcp: true',
      { ...machine, links },
    )
    expect(found).toMatchObject({ rule: 'selector-of-links', level: 'warn', line: 5 })
    expect(found!.message).toContain('enp1s0f0 (mlx5_core) b8:ce:f6:b2:db:c5')
  })

  it('13 volume-on-a-disk-that-is-not-there: names the disks of the server', () => {
    expect(find(volume("disk.dev_path == '/dev/vda'"))[0]).toMatchObject({
      level: 'warn',
      line: 6,
      message: expect.stringContaining('/dev/nvme0n1, /dev/nvme1n1') as string,
    })
  })
})
