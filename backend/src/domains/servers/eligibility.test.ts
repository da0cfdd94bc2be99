import { expect, test } from 'vitest'
import { eligibilityChecks } from '#contract/servers/servers.ts'
import { eligibility } from './eligibility.ts'
import type { ServerFacts, Wanted } from './api.ts'

const gib = 1024 ** 3
const links = [
  { name: 'eth0', up: true, physical: true, hardware_addr: null, addresses: ['10.0.0.5/24'] },
  { name: 'eth1', up: false, physical: true, hardware_addr: null, addresses: [] },
]
const fit: ServerFacts = {
  id: 'a',
  name: 'calm-oak-001',
  version: 1,
  status: 'maintenance',
  datacenter_id: null,
  cluster: null,
  operation_id: null,
  uuid: 'u',
  serial: 's',
  identity: 'confirmed',
  address: '10.0.0.5',
  link: 'eth0',
  addresses: ['10.0.0.5/24'],
  links,
  disks: [
    {
      id: 'sda',
      content: 'empty',
      device: '/dev/sda',
      size: 480 * gib,
      type: 'SSD',
      system: false,
      wwid: null,
    },
    {
      id: 'sdb',
      content: 'empty',
      device: '/dev/sdb',
      size: 2 * gib,
      type: 'SSD',
      system: false,
      wwid: null,
    },
  ],
  memory_bytes: 64 * gib,
  talos_version: 'v1.13.9',
  installed_version: null,
  system_disk: null,
  schematic: null,
  secure_boot: false,
  reachable: true,
  last_contact_at: null,
  has_user_patch: false,
  failed_installs: null,
  patch_links: [],
  hardware: {
    processors: [],
    memory: [],
    disks: [],
    interfaces: [],
    addresses: [],
    links,
    routes: [],
  },
  stage: 'maintenance',
  reason: null,
  silence: null,
  node_ready: null,
  pending: null,
  drift_since: null,
}
const wanted: Wanted = { role: 'control_plane', talosVersion: 'v1.13.9', installDisk: '/dev/sda' }
const failed = (change: Partial<ServerFacts>, want?: Wanted) =>
  eligibility({ ...fit, ...change }, want)
    .filter((c) => !c.ok)
    .map((c) => `${c.check}: ${c.reason}`)

test('a suitable server passes every check, in the order of the contract', () => {
  expect(eligibility(fit, wanted).map((c) => c.check)).toEqual([...eligibilityChecks])
  expect(failed({}, wanted)).toEqual([])
  expect(failed({})).toEqual([])
})

test.each<[Partial<ServerFacts>, Wanted | undefined, string]>([
  [{ cluster: { id: 'c', name: 'prod' } }, undefined, 'free: The server is in the cluster prod'],
  [{ operation_id: 'o' }, undefined, 'free: An operation on the server has not ended'],
  [
    { reachable: false, reason: 'connection refused' },
    undefined,
    'reachable: The server does not answer: connection refused',
  ],
  [{ reachable: null }, undefined, 'reachable: The server has not been contacted yet'],
  [
    { identity: 'unconfirmed' },
    undefined,
    'identity: Its hardware is not confirmed: confirm on its page, or by steelyard server confirm, that it is this machine',
  ],
  [
    { identity: 'changed' },
    undefined,
    'identity: The hardware that answered is not the hardware recorded for this server: check it and confirm',
  ],
  [
    { talos_version: 'v1.12.11' },
    wanted,
    "talos_version: Talos v1.12.11 runs here, which is older than the cluster's v1.13.9: boot a newer image",
  ],
  [
    { talos_version: 'v1.11.6' },
    undefined,
    'talos_version: Talos v1.11.6 runs here, which is older than the oldest supported 1.12: boot a newer image',
  ],
  [
    { installed_version: 'v1.12.11', system_disk: '/dev/sda' },
    wanted,
    'installed_version: Talos v1.12.11 is installed here; boot it with the wanted image with `talos.experimental.wipe=system`',
  ],
  [
    { installed_version: 'v1.13.9', system_disk: '/dev/sdb' },
    wanted,
    'installed_version: Talos is installed on /dev/sdb; choose that disk, not /dev/sda',
  ],
  [{ disks: [] }, undefined, 'disks: The server has no disk'],
  [
    {},
    { ...wanted, installDisk: '/dev/sdb' },
    'disks: /dev/sdb is smaller than the 6.0 GiB that Talos needs',
  ],
  [{}, { ...wanted, installDisk: '/dev/sdz' }, 'disks: The server has no disk /dev/sdz'],
  [
    { memory_bytes: gib },
    wanted,
    'memory: 1.0 GiB of memory is too little: a control plane needs 1.7 GiB',
  ],
  [
    { links: [links[1]!], link: 'eth1' },
    undefined,
    'link: No interface has a link: check the cabling',
  ],
  [{}, { ...wanted, interface: 'eth1' }, 'link: The interface eth1 has no link'],
  [{}, { ...wanted, interface: 'eth7' }, 'link: The server has no interface eth7'],
  [
    { link: null },
    undefined,
    'management_address: No interface of the server has 10.0.0.5, the address that it is reached on',
  ],
])('%j', (change, want, sentence) => {
  expect(failed(change, want)).toEqual([sentence])
})

test('a worker is eligible with less memory than a control plane, whatever its patches configure', () => {
  expect(failed({ memory_bytes: gib }, { ...wanted, role: 'worker' })).toEqual([])
  expect(failed({ patch_links: ['eth1'] })).toEqual([])
})

test('hardware that has not been read yet counts as unknown, not as absent', () => {
  expect(failed({ hardware: null, disks: [], links: [], link: null, memory_bytes: null })).toEqual([
    'disks: The hardware is not known yet',
    'memory: The hardware is not known yet',
    'link: The hardware is not known yet',
    'management_address: The hardware is not known yet',
  ])
})
