/**
 * Capacity commitments (CCs): capacity of a server that is promised for a time at a price. The
 * capacity and the terms are fixed once the capacity is committed. Start and end are kept by
 * Steelyard.
 */
import * as z from 'zod/mini'
import { codeText, nameText, personText, reasonText, wordText } from '../bounds/fields.ts'
import { ClusterEvent } from '../clusters/clusters.ts'
import { list, narrowingOf } from '../list.ts'
import { seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { changed, time } from '../page.ts'
import { serverStatuses } from '../servers/server.ts'
import { ccStatuses } from './cc-statuses.ts'
import { CcPrice, CcTerms, terms } from './cc-terms.ts'
import { OfferId, offerStatuses } from './offers.ts'
import { inRange } from './range.ts'

export {
  canChangeCcStatus,
  canChangeCcTerms,
  canMoveCc,
  ccCommitProblems,
  ccTermProblems,
  ccTrouble,
  hasOpenCc,
  lostCommitment,
} from './cc-rules.ts'
export { ccStatuses, type CcStatus, openCcStatuses } from './cc-statuses.ts'
export { CcPrice, ccPriceBases, CcTerms } from './cc-terms.ts'

/**
 * The promised capacity: of the server's hardware when the capacity was committed, and of its
 * present hardware before. null: unknown.
 */
export const CcCapacity = z.object({
  /** min(cores, floor(GiB of memory / 4)). */
  compute_units: z.nullable(z.int()),
  cores: z.nullable(z.int()),
  /** Two per core. */
  vcpu: z.nullable(z.int()),
  memory_bytes: z.nullable(z.int()),
  disk_bytes: z.nullable(z.int()),
})

export const CapacityCommitment = z.object({
  id: z.uuid(),
  status: z.enum(ccStatuses),
  /** Why it failed or was removed. */
  reason: z.nullable(reasonText),
  server: z.object({
    id: z.uuid(),
    name: nameText,
    status: z.enum(serverStatuses),
    /** Since when the server doesn't answer, unless an operation runs on it. */
    unreachable_since: z.nullable(time),
  }),
  /** The present datacenter and cluster of the server. */
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  cluster: z.nullable(z.object({ id: z.uuid(), name: nameText })),
  /** The offer that the capacity was sold with, as it is now. */
  offer: z.nullable(
    z.object({
      id: OfferId,
      status: z.enum(offerStatuses),
      access_address: z.nullable(codeText),
      in_use: z.boolean(),
    }),
  ),
  capacity: CcCapacity,
  price: z.nullable(CcPrice),
  /**
   * Exact price of the whole server per hour, in the price's currency. null: no price yet, or an
   * unknown number of compute units.
   */
  price_per_hour: z.nullable(wordText),
  /** null before the delegation is confirmed: it starts then. */
  starts_at: z.nullable(time),
  expires_at: z.nullable(time),
  committed_at: z.nullable(time),
  committed_by: z.nullable(personText),
  delegated_at: z.nullable(time),
  delegated_by: z.nullable(personText),
  started_at: z.nullable(time),
  /** When it was completed or failed. */
  ended_at: z.nullable(time),
  ...changed,
})
export type CapacityCommitment = z.infer<typeof CapacityCommitment>

export const NewCc = z.strictObject({
  node_id: z.uuid('Choose a server'),
  offer_id: z._default(terms.offer_id, null),
  price: z._default(terms.price, null),
  starts_at: z._default(terms.starts_at, null),
  expires_at: z._default(terms.expires_at, null),
  /** `waiting_delegation`: the capacity is committed at once. */
  status: z._default(z.enum(['not_committed', 'waiting_delegation']), 'not_committed'),
})
export type NewCc = z.infer<typeof NewCc>

const reason = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter a reason'),
    z.maxLength(200, 'A reason has at most 200 characters'),
    seen(),
  )

export const CcChange = z.extend(CcTerms, {
  status: z.optional(z.enum(ccStatuses)),
  /** Only with the status `failed` or `removed`. */
  reason: z.optional(reason),
})
export type CcChange = z.infer<typeof CcChange>

const ccs = list<CapacityCommitment>()({
  nouns: ['commitment', 'commitments'],
  columns: {
    server: { label: 'Server', sort: true, value: (c: CapacityCommitment) => c.server.name },
    datacenter: {
      label: 'Datacenter',
      sort: true,
      value: (c: CapacityCommitment) => c.datacenter?.code ?? null,
    },
    cluster: {
      label: 'Cluster',
      sort: true,
      value: (c: CapacityCommitment) => c.cluster?.name ?? null,
    },
    compute_units: {
      label: 'CU',
      help: '1 compute unit (CU) is 1 physical core with 4 GiB of memory',
      kind: 'number',
      sort: true,
      value: (c: CapacityCommitment) => c.capacity.compute_units,
    },
    vcpu: {
      label: 'vCPU',
      kind: 'number',
      sort: true,
      value: (c: CapacityCommitment) => c.capacity.vcpu,
    },
    memory: {
      label: 'RAM',
      kind: 'memory',
      sort: true,
      value: (c: CapacityCommitment) => c.capacity.memory_bytes,
    },
    disk: {
      label: 'Disk',
      kind: 'disk',
      sort: true,
      value: (c: CapacityCommitment) => c.capacity.disk_bytes,
    },
    price: { label: 'Price per hour', help: 'For the whole server', sort: true },
    expires_at: { label: 'Expiration', sort: true },
    status: { label: 'Status', sort: true },
    offer: {
      label: 'OfferID',
      kind: 'mono',
      hidden: true,
      value: (c: CapacityCommitment) => c.offer?.id ?? null,
    },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (c: CapacityCommitment) => c.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only commitments with this status', choices: ccStatuses },
    datacenter: {
      label: 'Datacenter',
      help: 'Only commitments of servers in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    cluster: {
      label: 'Cluster',
      help: 'Only commitments of servers of this cluster, by name or id',
      placeholder: 'NAME',
    },
    cu: {
      label: 'CU',
      help: 'Only commitments with a known number of compute units in this range',
      range: inRange('CU'),
      placeholder: 'RANGE',
    },
    price: {
      label: 'Price',
      help: 'Only commitments whose price per hour for the whole server is in this range',
      range: inRange(''),
      placeholder: 'RANGE',
    },
    currency: {
      label: 'Currency',
      help: 'Only commitments with a price in this currency',
      placeholder: 'CODE',
    },
    server: {
      label: 'Server',
      help: 'Only commitments of this server, by name or id',
      placeholder: 'SERVER',
    },
  },
  order: 'server',
})

const calls = callsOf(
  'cc',
  '/v1/ccs',
  { read: 'marketplace:read', write: 'marketplace:write' },
  CapacityCommitment,
)
export const ccList = calls.list(
  ccs,
  'Capacity commitments. `q` searches for part of the name of a server or cluster, for part of an offer id, or for an id.',
)
export const ccGet = calls.get('One capacity commitment.')
export const ccCreate = calls.create({
  summary:
    'Add a capacity commitment for a server, as a draft or committed at once. A server has at most one that has not ended.',
  body: NewCc,
  errors: ['not_found', 'transition_refused'],
})
export const ccUpdate = calls.update({
  summary:
    'Change the terms of a draft, or the status of a commitment. Steelyard starts and completes commitments by itself at their times.',
  body: CcChange,
  errors: ['transition_refused', 'stale'],
})

/** The parameters of the list without the status, by which the counts are grouped. */
const withoutStatus = ({
  status: _status,
  ...others
}: ReturnType<typeof narrowingOf<typeof ccs>>) => others
export const ccCounts = operation('ccCounts', 'GET /v1/ccs/counts', 'marketplace:read', {
  summary:
    'Number of capacity commitments by status, of those that pass the search and the other filters.',
  query: z.strictObject(withoutStatus(narrowingOf(ccs))),
  answer: z.object({
    total: z.int(),
    by_status: z.object({
      not_committed: z.int(),
      waiting_delegation: z.int(),
      waiting_start: z.int(),
      active: z.int(),
      completed: z.int(),
      failed: z.int(),
      removed: z.int(),
    }),
  }),
})
export const ccEvents = operation('ccEvents', 'GET /v1/ccs/{id}/events', 'marketplace:read', {
  summary: 'What happened to a capacity commitment and who caused it, newest first.',
  answer: z.object({ items: z.array(ClusterEvent) }),
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    CapacityCommitment: [
      CapacityCommitment,
      'Capacity of a server that is promised for a time at a price.',
    ],
    CcCapacity: [
      CcCapacity,
      'The capacity of a server. An unknown value is null, never 0. Sizes in bytes.',
    ],
    CcPrice: [
      CcPrice,
      'A price per hour: a decimal number as text, its currency, and what it is paid for.',
    ],
  },
  fields: {
    'ccCounts.cu':
      'Only commitments with a known number of compute units in this range, such as 32..64, 32.. or ..64.',
    'ccCreate.expires_at': 'End of the commitment, in UTC; null until it is agreed.',
    'ccUpdate.expires_at': 'End of the commitment, in UTC; null until it is agreed.',
    offer_id:
      'Id of the offer that the capacity is sold with: 0x and 64 lowercase hexadecimal digits; null for none.',
    'ccCounts.price':
      'Only commitments whose price per hour for the whole server is in this range, such as 0.5..1.25.',
    'ccUpdate.reason': 'Why the commitment failed or is removed.',
    'ccCounts.server': 'Only commitments of this server, by name or id.',
    starts_at: 'Start of the commitment, in UTC; null: when the delegation is confirmed.',
    'ccCreate.status':
      '`waiting_delegation` commits the capacity at once: its terms are then fixed.',
    'ccUpdate.status': 'The new status, which must be one that may follow the present one.',
  },
  bodies: {
    ccCreate: {
      node_id: '00000000-0000-4000-8000-000000000002',
      price: { amount: '1.2480', currency: 'EUR', basis: 'server' },
      starts_at: '2026-12-01T00:00:00Z',
      expires_at: '2027-03-01T00:00:00Z',
    },
    ccUpdate: { status: 'waiting_delegation' },
  },
}
