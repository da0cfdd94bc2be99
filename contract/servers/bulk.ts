/**
 * Acts on many servers at once. A plan answers for each server whether the act is allowed, with the
 * rules of the act on one server. What is then begun is one operation with a step per server, in
 * which the servers of a cluster follow each other.
 */
import * as z from 'zod/mini'
import { ClusterRole } from '../clusters/clusters.ts'
import { CcPrice, CcTerms } from '../marketplace/cc-terms.ts'
import { operation, type Words } from '../operation.ts'
import { begun } from '../operations.ts'
import { no, type Verdict, waitLimits, waitLimitText, yes } from '../rule.ts'
import { talosVersionText } from '../versions.ts'
import { counted } from '../words.ts'
import { bulkActKinds, bulkActs, type BulkActKind } from './bulk-acts.ts'
import { Disk } from '../disks/disks.ts'

export * from './bulk-acts.ts'

/** Most servers of one bulk act. */
export const bulkLimit = 500
export const tooManyServers = `At most ${bulkLimit} servers at once: narrow the selection`

export const BulkAct = z
  .strictObject({
    kind: z.enum(bulkActKinds),
    /** For a reset. */
    keep_workload_disks: z._default(z.boolean(), false),
    /** Of an upgrade: what the clusters get. */
    talos_version: z.optional(talosVersionText()),
    /** For an upgrade: each cluster waits for its maintenance window. */
    in_window: z._default(z.boolean(), false),
    /** For a commit. What is left out comes from the draft of the server. */
    terms: z.optional(CcTerms),
  })
  .check(
    z.refine(({ kind, talos_version: v }) => (v !== undefined) === (kind === 'upgrade'), {
      error: 'An upgrade, and no other act, has a Talos version',
      path: ['talos_version'],
    }),
    z.refine(({ kind, terms }) => terms === undefined || kind === 'commit', {
      error: 'Only the commitment of capacity has terms',
      path: ['terms'],
    }),
  )
export type BulkAct = z.infer<typeof BulkAct>

/** What is promised of a server. */
const Promised = z.object({
  /** Of the draft that is committed; null: the commitment is new. */
  version: z.nullable(z.int()),
  price: z.nullable(CcPrice),
  starts_at: z.nullable(z.string()),
  expires_at: z.nullable(z.string()),
  offer_id: z.nullable(z.string()),
  /** Null: the hardware is unknown. */
  compute_units: z.nullable(z.int()),
})

const BulkItem = z.object({
  id: z.uuid(),
  name: z.string(),
  /** The version that the plan is about. */
  version: z.int(),
  cluster: z.nullable(z.object({ id: z.uuid(), name: z.string() })),
  role: z.nullable(ClusterRole),
  ok: z.boolean(),
  /** Why the act is refused; null if it is allowed. */
  reason: z.nullable(z.string()),
  /** The refusal may end by itself. An act that names the server all the same waits for that. */
  for_now: z.optional(z.literal(true)),
  warnings: z.array(z.string()),
  /** The disks of which something is wiped. */
  disks: z.array(Disk),
  /** Of a commit; null for any other act. */
  commitment: z.nullable(Promised),
})
export type BulkItem = z.infer<typeof BulkItem>

export const BulkPlan = z.object({
  act: BulkAct,
  /** In the order in which the act is carried out. */
  items: z.array(BulkItem),
  allowed: z.int(),
  refused: z.int(),
  /** The number to type before a dangerous act: that of the allowed servers. Null: none is asked. */
  expected: z.nullable(z.int()),
  /** What concerns a cluster, such as the order of its control planes. */
  warnings: z.array(z.string()),
})
export type BulkPlan = z.infer<typeof BulkPlan>

export const serverBulkPlan = operation(
  'serverBulkPlan',
  'POST /v1/nodes/bulk/plan',
  'servers:write',
  {
    summary: `What an act on many servers would do: for each server whether it is allowed, in the order of carrying out. Changes nothing. An upgrade also needs clusters:write, a commit marketplace:write. At most ${bulkLimit} servers.`,
    body: z
      .strictObject({
        act: BulkAct,
        node_ids: z.optional(
          z
            .array(z.uuid())
            .check(
              z.minLength(1, 'Choose at least one server'),
              z.maxLength(bulkLimit, tooManyServers),
            ),
        ),
        filter: z.optional(z.string().check(z.maxLength(2000))),
        failed_of: z.optional(z.uuid()),
      })
      .check(
        z.refine(
          (b) =>
            [b.node_ids, b.filter, b.failed_of].filter((one) => one !== undefined).length === 1,
          { error: 'Give either node_ids, filter or failed_of', path: ['node_ids'] },
        ),
      ),
    answer: BulkPlan,
    errors: ['not_found'],
  },
)

const BulkOf = z.strictObject({
  id: z.uuid(),
  version: z.int(),
  commitment_version: z.optional(z.int()),
})
/** The allowed servers of a plan, as the request names them. */
export const plannedItems = ({ items }: Pick<BulkPlan, 'items'>): z.infer<typeof BulkOf>[] =>
  items.flatMap(({ ok, id, version, commitment }) =>
    ok
      ? [
          {
            id,
            version,
            ...(commitment?.version != null && { commitment_version: commitment.version }),
          },
        ]
      : [],
  )

export const serverBulk = operation('serverBulk', 'POST /v1/nodes/bulk', 'servers:write', {
  summary: `Carry out a planned act on many servers: one operation with a result per server. The servers of a cluster follow each other, and a refusal stops no other server. A silent or busy server is waited for, for at most ${waitLimitText(waitLimits.bulk)}. An upgrade also needs clusters:write, a commit marketplace:write.`,
  body: z.strictObject({
    act: BulkAct,
    items: z.array(BulkOf).check(
      z.minLength(1, 'Choose at least one server'),
      z.maxLength(bulkLimit, tooManyServers),
      z.refine((items) => new Set(items.map(({ id }) => id)).size === items.length, {
        error: 'Each server may be named once',
      }),
    ),
    expected: z.optional(z.int()),
  }),
  answer: begun,
  errors: ['not_found', 'transition_refused'],
})

/** Whether the typed number is that of the servers. Only dangerous acts ask for it. */
export function canBegin(act: BulkActKind, servers: number, expected: number | undefined): Verdict {
  if (!bulkActs[act].danger || expected === servers) return yes
  return no(
    expected === undefined
      ? `Type the number of servers: ${servers}`
      : `The request names ${counted(servers, 'server')}, not ${expected}: plan it again`,
  )
}

const upgradeVersion =
  'For an upgrade: the version that the clusters of the servers get. All servers of a cluster that do not run it have to be chosen.'

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    BulkAct: [BulkAct, 'What is done to many servers.'],
    BulkItem: [BulkItem, 'A server in the plan of an act on many servers.'],
    BulkPlan: [BulkPlan, 'What an act on many servers would do.'],
  },
  fields: {
    act: 'What is done to each server.',
    'serverBulk.version':
      'Version that the plan answered. A server that has changed since is not reset, not removed, and its capacity not committed.',
    commitment_version:
      'For a commit: version of the draft that the plan answered. A draft that has changed since is not committed.',
    terms:
      'For a commit: terms of every server. What is left out comes from the draft of the server. Without a draft, a server needs a price and an end.',
    'serverBulkPlan.expires_at': 'End of the commitments, in UTC.',
    'serverBulk.expires_at': 'End of the commitments, in UTC.',
    'serverBulkPlan.talos_version': upgradeVersion,
    'serverBulk.talos_version': upgradeVersion,
    'serverBulkPlan.node_ids': 'Ids of the servers.',
    'serverBulkPlan.filter':
      'The servers that this query of `serverList` finds, on all pages, such as `status=ready&label=rack%3D3`.',
    failed_of: 'The servers that failed in this earlier operation, or that it did not reach.',
    items: 'The servers with the versions that the plan answered.',
    expected: 'The number of servers, typed by a person. Required for a reset and a removal.',
  },
  bodies: {
    serverBulkPlan: {
      act: { kind: 'reboot' },
      node_ids: ['00000000-0000-4000-8000-000000000001'],
    },
    serverBulk: {
      act: { kind: 'reboot' },
      items: [{ id: '00000000-0000-4000-8000-000000000001', version: 7 }],
    },
  },
}
