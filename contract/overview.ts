/** Data of the overview page in one call. Unknown capacity is null, never 0. */
import * as z from 'zod/mini'
import { Finding, Said } from './findings/findings.ts'
import { findingSeverities, kindsOfFindings } from './findings/kinds.ts'
import { HistoryDigest } from './history/digest.ts'
import { withPast } from './history/past.ts'
import { operation, type Words } from './operation.ts'
import { Operation } from './operations.ts'
import { Subnet } from './network/subnet.ts'
import { time } from './page.ts'

const amounts = (of: z.ZodMiniNumber) => z.object({ total: of, in_clusters: of, free: of })
const Amount = amounts(z.int())
/** Not `z.int()`: the disks of a thousand servers exceed 2^53 bytes, the limit of safe integers. */
const Bytes = amounts(z.number().check(z.gte(0)))

export const Attention = z.object({
  total: z.int(),
  /** Open findings that somebody takes care of. */
  acknowledged: z.int(),
  /** Open findings that a silence holds back. */
  silenced: z.int(),
  /** Open incidents of which silences hold back every finding; at most 500. */
  silenced_incidents: z.array(z.uuid()),
  /** Findings of one kind; those about servers, of one datacenter. */
  groups: z.array(
    z.object({
      kind: z.enum(kindsOfFindings),
      severity: z.enum(findingSeverities),
      datacenter: z.nullable(z.object({ id: z.uuid(), code: z.string() })),
      count: z.int(),
      /** When the first of them began. */
      since: time,
      /** The newest of them, at most five. */
      items: z.array(Finding),
    }),
  ),
})
export type Attention = z.infer<typeof Attention>

/** Most operations that each part of the overview lists. */
export const mostOperations = 10

/** How many objects of one kind one word is said of, the worst first. */
const Words = z.array(
  z.object({ word: Said.shape.word, severity: Said.shape.severity, count: z.int() }),
)

/** `attention` to `last_day`: null if this part couldn't be read; the others are there. */
export const Overview = z.object({
  /** The open findings that nobody has acknowledged or silenced, the worst first. */
  attention: z.nullable(Attention),
  servers: z.object({
    total: z.int(),
    maintenance: z.int(),
    ready: z.int(),
    reachable: z.int(),
    /** Servers that don't answer although no operation installs or restarts them. */
    unreachable: z.int(),
    /** Servers that don't answer because an operation installs or restarts them. */
    away: z.int(),
    unconfirmed: z.int(),
    /** Servers in clusters, and of the others those in quarantine and those that are free. */
    in_clusters: z.int(),
    quarantined: z.int(),
    free: z.int(),
    by_word: Words,
  }),
  clusters: z.object({ total: z.int(), by_status: z.record(z.string(), z.int()), by_word: Words }),
  capacity: z.array(
    z.object({
      /** null: servers that are in no datacenter. */
      datacenter: z.nullable(
        z.object({
          id: z.uuid(),
          code: z.string(),
          city_name: z.string(),
          country_code: z.string(),
          latitude: z.nullable(z.number()),
          longitude: z.nullable(z.number()),
        }),
      ),
      servers: z.int(),
      compute_units: Amount,
      vcpu: Amount,
      memory_bytes: Bytes,
      disk_bytes: Bytes,
      /** Servers with unknown hardware, which aren't included in any sum. */
      unknown_servers: z.int(),
    }),
  ),
  /** At most five subnets with the highest utilisation. Subnets with unknown use are left out. */
  subnets: z.nullable(z.array(Subnet)),
  /** The newest operations in progress, without those that wait for their time. */
  running: z.nullable(z.array(Operation)),
  failures: z.nullable(z.array(Operation)),
  /** What happened in the last 24 hours. */
  last_day: z.nullable(HistoryDigest),
  /**
   * STEELYARD_DIAL_NETWORKS is empty, so no server can be dialled until the setting names the
   * servers' networks.
   */
  dials_nowhere: z.boolean(),
})
export type Overview = z.infer<typeof Overview>

export const overviewGet = withPast(
  operation('overviewGet', 'GET /v1/overview', 'signed_in', {
    summary:
      'Counts of servers and clusters, capacity, running and failed operations, what needs attention now, and what happened in the last 24 hours. Parts that the caller may not read are empty, and parts that could not be read are null.',
    answer: Overview,
  }),
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Attention: [Attention, 'The open findings that nobody has acknowledged or silenced.'],
    HistoryDigest: [HistoryDigest, 'What happened in a period, by kind and outcome.'],
    Overview: [
      Overview,
      'Counts of servers and clusters, capacity, running and failed operations.',
    ],
  },
}
