/** For tests: inserts a confirmed server into the database, as if it had been added by address. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Backend } from '../../testing/backend.ts'
import type { NewServer } from './store.ts'

let built = 0
/** Addresses of a network with 65,000, because two servers with one address are a finding. */
const nextAddress = (): string => {
  const n = ++built
  return `10.0.${(n >> 8) & 255}.${n & 255}`
}

export async function buildServer(
  { platform, clock }: Backend,
  columns: Partial<NewServer> = {},
): Promise<string> {
  const at = new Date(clock.now())
  const id = randomUUID()
  const server: NewServer = {
    id,
    name: `test-${id.slice(0, 8)}`,
    address: columns.address ?? nextAddress(),
    identity_state: 'confirmed',
    identity_since: at,
    uuid: randomUUID(),
    serial: 'S1',
    created_at: at,
    updated_at: at,
    datacenter_id: null,
    cluster_id: null,
    cluster_name: null,
    operation_id: null,
    identity_note: null,
    manufacturer: null,
    product: null,
    seen_uuid: null,
    seen_serial: null,
    predecessor_id: null,
    fingerprint: null,
    talos_version: 'v1.13.9',
    schematic: null,
    secure_boot: null,
    system_disk: null,
    reachable: null,
    reason: null,
    ...columns,
  }
  await platform.db.insertInto('server').values(server).execute()
  return id
}

/** Inserts only the row of a cluster, by default in a datacenter of its own. */
export async function buildCluster(
  { platform, clock }: Backend,
  id: string,
  name: string,
  datacenterId?: string,
): Promise<void> {
  const at = new Date(clock.now())
  const ownDatacenter = async () =>
    (
      await platform.db
        .insertInto('datacenter')
        .values({
          country_code: 'PL',
          city_code: 'TST',
          city_name: 'Test',
          index: 1,
          tier: null,
          certifications: [],
          latitude: null,
          longitude: null,
          created_at: at,
          updated_at: at,
        })
        .returning('id')
        .executeTakeFirstOrThrow()
    ).id
  await sql`insert into cluster (id, name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, created_at, updated_at)
    values (${id}, ${name}, ${datacenterId ?? (await ownDatacenter())}, 'v1.13.9', '1.13', '1.36.3', 'https://10.0.0.1:6443', false, '10.244.0.0/16', '10.96.0.0/12', '0x', ${at}, ${at})`.execute(
    platform.db,
  )
}

/** DE-FRA-`index` with so many servers that answer: the ids of the datacenter and its servers. */
export async function buildDatacenter(
  backend: Backend,
  index: number,
  servers: number,
): Promise<{ id: string; ids: string[] }> {
  const at = new Date(backend.clock.now())
  const { id } = await backend.platform.db
    .insertInto('datacenter')
    .values({
      country_code: 'DE',
      city_code: 'FRA',
      city_name: 'Frankfurt',
      index,
      created_at: at,
      updated_at: at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const ids = await Promise.all(
    Array.from({ length: servers }, (_, i) =>
      buildServer(backend, { name: `fra-${index}-${i}`, reachable: true, datacenter_id: id }),
    ),
  )
  return { id, ids }
}
