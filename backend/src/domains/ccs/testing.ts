/** Shared by the tests of capacity commitments. */
import { sql } from 'kysely'
import { type CapacityCommitment, ccCreate, type NewCc } from '#contract/marketplace/ccs.ts'
import type { Hardware } from '../../db/columns.ts'
import type { Backend, SignedIn } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const gibibyte = 1024 ** 3
export const dayMs = 24 * 3_600_000

export const price = { amount: '1.248', currency: 'EUR', basis: 'server' } as const

/** Hardware with 16 cores, 64 GiB of memory and one disk of 1 TB: 16 compute units. */
export const hardware = (memoryGiB = 64): string =>
  JSON.stringify({
    processors: [{ id: 'CPU-0', cpu_cores: 16, thread_count: 32 }],
    memory: [{ id: 'DIMM-0', size: memoryGiB * gibibyte }],
    disks: [{ id: 'nvme0n1', size: 1_000_000_000_000, content: 'empty' }],
    interfaces: [],
    addresses: ['10.0.0.1'],
    links: [],
    routes: [],
  } satisfies Hardware)

/** A server with known hardware. */
export const measuredServer = (
  backend: Backend,
  name: string,
  columns: Parameters<typeof buildServer>[1] = {},
): Promise<string> =>
  buildServer(backend, {
    name,
    hardware: hardware(),
    hardware_at: new Date(backend.clock.now()),
    ...columns,
  })

/** ISO time that many days from the test's clock. */
export const inDays = ({ clock }: Backend, days: number): string =>
  new Date(clock.now() + days * dayMs).toISOString()

/** A commitment that is not refused. */
export async function addCc(
  by: SignedIn,
  node_id: string,
  more: Partial<NewCc> = {},
): Promise<CapacityCommitment> {
  const { answer, text } = await by.call(ccCreate, { body: { node_id, ...more } })
  if (!answer) throw new Error(text)
  return answer
}

/** Adds an offer without a cluster. */
export const addOffer = ({ platform }: Backend, id: string) =>
  sql`insert into offer (id, resources, node_ids, computed_at, created_at, updated_at)
    values (${id}, ${JSON.stringify({ servers: 0, unknown_servers: 0, compute_units: 0, vcpu: 0, memory_bytes: 0, disk_bytes: 0 })}, '{}', now(), now(), now())`.execute(
    platform.db,
  )
