/**
 * Shared by the tests of subnets: inserts datacenters, servers and clusters as rows, like their own
 * domains do.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { datacenterCreate } from '#contract/datacenters.ts'
import { type Subnet, subnetCreate } from '#contract/network/subnets.ts'
import type { Backend, SignedIn } from '../../testing/backend.ts'

export async function addDatacenter(
  by: SignedIn,
  city: string,
): Promise<{ id: string; code: string }> {
  const { answer, text } = await by.call(datacenterCreate, {
    body: { country_code: 'PL', city_code: city, city_name: city },
  })
  if (!answer) throw new Error(text)
  return answer
}

/** Adds a valid subnet. */
export async function addSubnet(
  by: SignedIn,
  datacenterId: string,
  name: string,
  cidr: string,
  more: object = {},
): Promise<Subnet> {
  const { answer, text } = await by.call(subnetCreate, {
    body: { name, cidr, datacenter_id: datacenterId, ...more },
  })
  if (!answer) throw new Error(text)
  return answer
}

/**
 * Inserts a server that is dialled at `address`; `more` are addresses with prefix that its hardware
 * reports.
 */
export async function addServer(
  backend: Backend,
  datacenterId: string | null,
  name: string,
  address: string,
  more: readonly string[] = [],
): Promise<string> {
  const id = randomUUID()
  const hardware = JSON.stringify({
    links: [{ name: 'eth0', addresses: more }],
    processors: [],
    memory: [],
    disks: [],
    interfaces: [],
    addresses: [],
  })
  await sql`insert into server (id, name, datacenter_id, address, identity_state, identity_since, hardware, created_at, updated_at)
    values (${id}, ${name}, ${datacenterId}, ${address}, 'unconfirmed', now(), ${hardware}, now(), now())`.execute(
    backend.platform.db,
  )
  return id
}

export async function addCluster(
  backend: Backend,
  datacenterId: string,
  name: string,
  networks = { pod: '10.244.0.0/16', service: '10.96.0.0/12' },
): Promise<string> {
  const id = randomUUID()
  await sql`insert into cluster (id, name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, status, control_plane_at, created_at, updated_at)
    values (${id}, ${name}, ${datacenterId}, 'v1.13.9', '1.13', '1.36.3', 'https://10.9.9.9:6443', false, ${networks.pod}, ${networks.service}, ${id}, 'ready', now(), now(), now())`.execute(
    backend.platform.db,
  )
  return id
}

export interface Assigned {
  readonly state?: 'applying' | 'active' | 'draining' | 'error'
  readonly reason?: string
  /** Used address → its user; null if the cluster hasn't reported. */
  readonly uses?: Readonly<Record<string, string>> | null
}

/** Inserts an assignment, like the pools domain does. */
export async function assign(
  backend: Backend,
  subnet: Pick<Subnet, 'id' | 'purpose'>,
  clusterId: string,
  { state = 'active', reason, uses = {} }: Assigned = {},
): Promise<void> {
  const told = uses !== null
  await sql`insert into subnet_assignment (subnet_id, cluster_id, purpose, state, reason, assigned_by, assigned_at, observed_at, used)
    values (${subnet.id}, ${clusterId}, ${subnet.purpose}, ${state}, ${reason ?? null}, 'somebody', now(), ${told ? new Date() : null}, ${told ? 0 : null})`.execute(
    backend.platform.db,
  )
  const entries = Object.entries(uses ?? {})
  await sql`insert into subnet_use (subnet_id, cluster_id, address, used_by)
    select ${subnet.id}, ${clusterId}, u.address, u.used_by
    from unnest(${entries.map(([a]) => a)}::inet[], ${entries.map(([, by]) => by)}::text[]) as u (address, used_by)`.execute(
    backend.platform.db,
  )
}

/**
 * Waits until a statement is blocked: by a row of another transaction (`transactionid`), or by
 * `lockNetworks` (`advisory`).
 */
export async function untilBlocked(
  backend: Backend,
  type: 'transactionid' | 'advisory',
): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and wait_event = ${type}`.execute(
        backend.platform.db,
      )
      return rows[0]!.n
    })
    .toBeGreaterThan(0)
}

/** The rows of a CSV file, each with its line break. */
export const lines = (...rows: string[]): string => rows.map((r) => `${r}\r\n`).join('')
