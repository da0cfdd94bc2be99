/** Sample objects of the API. */
import { createHash } from 'node:crypto'
import { type Excerpt, excerptBytes } from '#contract/bounds/excerpt.ts'
import { startOf } from '#contract/bounds/text.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Datacenter } from '#contract/datacenters.ts'
import type { Offer } from '#contract/marketplace/offers.ts'
import type { Operation, Step } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'

const at = '2026-11-20T08:00:00.000Z'
export const id = (n: number) => `0198c0de-0000-7000-8000-${String(n).padStart(12, '0')}`

export const aServer = (more: Partial<Server> = {}): Server => ({
  id: id(1),
  name: 'brave-otter-042',
  status: 'maintenance',
  type: 'unknown',
  nodeAddresses: ['10.0.4.11'],
  resources: {
    node_addresses: ['10.0.4.11'],
    processors: [
      { id: 'CPU-0', product_name: 'EPYC 9354P', cpu_cores: 32, thread_count: 64, max_speed: 3800 },
    ],
    memory: [{ id: 'DIMM-0', size: 64 * 1024 ** 3, manufacturer: 'Samsung' }],
    disks: [{ id: 'nvme0n1', size: 960_197_124_096, model: 'PM9A3', type: 'nvme' }],
    interfaces: [
      { id: 'eth0', link_state: true, driver: 'mlx5_core', hardware_addr: '02:00:00:00:00:01' },
    ],
  },
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  cluster: null,
  capacity_commitment: null,
  talos: {
    version: 'v1.13.0',
    schematic: null,
    installed: null,
    stage: 'maintenance',
    reachable: true,
    last_contact_at: at,
    unreachable_since: null,
    reason: null,
  },
  kubernetes: null,
  hardware: {
    maker: 'Supermicro',
    model: 'AS-1115CS',
    cores: 32,
    memory_bytes: 64 * 1024 ** 3,
    disk_bytes: 960_197_124_096,
  },
  ineligible: null,
  identity: {
    state: 'confirmed',
    uuid: id(90),
    serial: 'S-1',
    fingerprint: null,
    since: at,
    note: null,
  },
  eligibility: [{ check: 'reachable', ok: true, reason: null }],
  operation_id: null,
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

export const aCluster = (more: Partial<Cluster> = {}): Cluster => ({
  id: id(20),
  name: 'web',
  status: 'ready',
  reason: null,
  datacenter: { id: id(50), code: 'PL-POZ-1', country_code: 'PL' },
  talos_version: '1.13.0',
  kubernetes_version: '1.36.3',
  endpoint: 'https://10.0.4.11:6443',
  virtual_ip: false,
  vlan_id: null,
  pod_cidr: '10.244.0.0/16',
  service_cidr: '10.96.0.0/12',
  servers: [{ node_id: id(1), name: 'brave-otter-042', role: 'control_plane' }],
  former_servers: [],
  troubles: [],
  control_planes: 1,
  workers: 0,
  subnets: [],
  chainAddress: null,
  offerId: null,
  offer_detection: 'looking',
  offer_looking_since: at,
  offer_address_set: false,
  operation_id: null,
  talos_answers: true,
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

export const aDatacenter = (more: Partial<Datacenter> = {}): Datacenter => ({
  id: id(50),
  code: 'PL-POZ-1',
  country_code: 'PL',
  city_code: 'POZ',
  city_name: 'Poznań',
  tier: 3,
  certifications: [],
  latitude: null,
  longitude: null,
  facility: null,
  address: null,
  power_capacity_kw: null,
  rack_capacity: null,
  notes: null,
  servers: 2,
  clusters: 0,
  subnets: 0,
  compute_units: { total: 64, free: 64 },
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

export const anOffer = (more: Partial<Offer> = {}): Offer => ({
  id: `0x${'9f'.repeat(32)}`,
  cluster: { id: id(20), name: 'web' },
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  status: 'draft',
  resources: {
    servers: 1,
    unknown_servers: 0,
    compute_units: 16,
    vcpu: 64,
    memory_bytes: 64 * 1024 ** 3,
    disk_bytes: 960_197_124_096,
  },
  computed_at: at,
  price: null,
  access_address: null,
  proven_at: null,
  in_use: false,
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

export const aStep = (more: Partial<Step> = {}): Step => ({
  key: 'apply',
  title: 'Apply',
  node_id: null,
  status: 'todo',
  attempt: 0,
  started_at: null,
  ended_at: null,
  reason: null,
  ...more,
})

export const anOperation = (more: Partial<Operation> = {}): Operation => ({
  id: id(70),
  kind: 'clusterCreate',
  target: { kind: 'cluster', id: id(20), name: 'web' },
  status: 'running',
  reason: null,
  created_by: 'a@example.com',
  created_at: at,
  started_at: at,
  ended_at: null,
  steps: [],
  ...more,
})

/** The excerpt of a text in a list, as the API makes it. */
export const excerptOf = (text: string): Excerpt => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
  start: startOf(text, excerptBytes),
})

export const pageOf = <T>(items: T[]) => ({ items, page: 1, per_page: 1000, total: items.length })
