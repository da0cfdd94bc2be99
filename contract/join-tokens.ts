/**
 * Join tokens let a booting server announce itself. A token is not a credential: a server with a
 * token is listed, but never receives a configuration. The token is part of an image's kernel
 * arguments; Steelyard stores only its hash.
 */
import * as z from 'zod/mini'
import { LeftOut } from './bounds/rows.ts'
import {
  codeText,
  lineText,
  nameText,
  personText,
  sentenceText,
  wordText,
} from './bounds/fields.ts'
import { labelsText } from './labels/changed.ts'
import { ShownLabels } from './labels/filter.ts'
import { AllLabels } from './labels/labels.ts'
import { list, listOperation } from './list.ts'
import { nameOf } from './names.ts'
import { callsOf } from './object-calls.ts'
import { operation, type Words } from './operation.ts'
import { byId, time } from './page.ts'
import { type Limit, no, type Verdict, yes } from './rule.ts'
import { count } from './words.ts'

/**
 * A booting server requests `GET {STEELYARD_PUBLIC_URL}/join/{token}`. Talos sends the request, so
 * it is not an API call and the response is always 200.
 */
export const joinPath = '/join/'
/**
 * Talos fills in these placeholders
 * (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url`), but only in the query of a
 * URL.
 */
const joinQuery = 'uuid=${uuid}&serial=${serial}&mac=${mac}'
/** 128 random bits as base64url, after a prefix that secret scanners recognise. */
export const joinTokenPattern = /^sy-join-[A-Za-z0-9_-]{22}$/
/**
 * The kernel argument that makes a server announce itself.
 * @param publicUrl without a trailing slash
 * @param early the digest of the documents of its image, which the answer repeats; null without
 */
export const joinArgument = (
  publicUrl: string,
  token: string,
  early: string | null = null,
): string =>
  `talos.config=${publicUrl}${joinPath}${token}?${joinQuery}${early === null ? '' : `&early=${early}`}`

/** Different sets of documents of the images with one token. Each is kept while the token is. */
export const joinTokenEarlyLimit = 100

export const joinTokenStatuses = ['usable', 'expired', 'used_up', 'revoked'] as const
export const longestLifetimeHours = 8760

export const JoinToken = z.object({
  id: z.uuid(),
  name: codeText,
  status: z.enum(joinTokenStatuses),
  /** The datacenter of servers that join with the token. */
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  /** Labels that new servers get when they join with the token, or with an image that carries it. */
  labels: z.optional(ShownLabels),
  /** Each system UUID counts as one use; a reboot doesn't count again. null: unlimited. */
  max_uses: z.nullable(z.int()),
  uses: z.int(),
  expires_at: z.nullable(time),
  revoked_at: z.nullable(time),
  last_used_at: z.nullable(time),
  created_by: z.nullable(personText),
  created_at: time,
  /**
   * Counts changes by users. Uses of the token don't change the version, so a revocation never
   * conflicts with a use.
   */
  version: z.int(),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
})
export type JoinToken = z.infer<typeof JoinToken>

export const NewJoinToken = z.strictObject({
  name: nameOf('Join token'),
  datacenter_id: z._default(z.nullable(z.uuid()), null),
  labels: z._default(AllLabels, {}),
  /** null: the token does not expire. */
  lifetime_hours: z._default(
    z.nullable(
      z
        .int('Lifetime must be a whole number of hours')
        .check(
          z.gte(1, 'Lifetime must be at least 1 hour'),
          z.lte(longestLifetimeHours, 'Lifetime must be at most a year (8760 hours)'),
        ),
    ),
    168,
  ),
  max_uses: z._default(
    z.nullable(
      z
        .int('The number of uses must be a whole number')
        .check(
          z.gte(1, 'Uses must be at least 1'),
          z.lte(100_000, `Uses must be at most ${count(100_000)}`),
        ),
    ),
    null,
  ),
})
export type NewJoinToken = z.infer<typeof NewJoinToken>

const joinTokens = list<JoinToken>()({
  nouns: ['join token', 'join tokens'],
  large: { labels: {} },
  columns: {
    name: { label: 'Name', sort: true, value: (t: JoinToken) => t.name },
    status: { label: 'Status', kind: 'word', sort: true, value: (t: JoinToken) => t.status },
    uses: {
      label: 'Uses',
      help: 'Each machine (UUID) counts as one use, however often it boots.',
      sort: true,
    },
    expires_at: {
      label: 'Expires',
      kind: 'time',
      sort: true,
      value: (t: JoinToken) => t.expires_at,
    },
    datacenter: { label: 'Datacenter', value: (t: JoinToken) => t.datacenter?.code ?? null },
    labels: {
      label: 'Labels',
      help: 'Labels of servers that join with the token',
      hidden: true,
      value: (t: JoinToken) => labelsText(t.labels ?? {}) || null,
    },
    last_used: { label: 'Last used', kind: 'time', value: (t: JoinToken) => t.last_used_at },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      value: (t: JoinToken) => t.created_at,
    },
    created_by: { label: 'By', value: (t: JoinToken) => t.created_by },
  },
  filters: {
    status: {
      label: 'Status',
      help: 'Only join tokens with this status',
      choices: joinTokenStatuses,
    },
  },
  order: '-created_at',
})

const calls = callsOf(
  'joinToken',
  '/v1/join-tokens',
  { read: 'servers:read', write: 'servers:write' },
  JoinToken,
)
/** Revoked tokens do not count. */
export const joinTokenLimit: Limit = {
  most: 1_000,
  nouns: 'join tokens that are not revoked',
  remedy: 'revoke one that is not used any more',
}

export const joinTokenList = calls.list(
  joinTokens,
  'Join tokens, newest first, with the number of uses of each. The tokens themselves are never returned.',
)
export const joinTokenGet = calls.get('One join token.')
export const joinTokenCreate = operation(
  'joinTokenCreate',
  'POST /v1/join-tokens',
  'servers:write',
  {
    summary:
      'Create a join token. Only this response contains the token itself; images prepared with the join token carry it too.',
    body: NewJoinToken,
    answer: z.extend(JoinToken, {
      token: z.string(),
      /** The kernel argument, for machines that don't boot an image from Steelyard. */
      kernel_argument: z.string(),
    }),
    status: 201,
    errors: ['not_found', 'name_taken'],
  },
)
export const joinTokenRevoke = operation(
  'joinTokenRevoke',
  'DELETE /v1/join-tokens/{id}',
  'servers:write',
  {
    summary:
      'Revoke a join token: no server can announce itself with it any more. Servers that have joined stay.',
    errors: ['stale', 'conflict'],
  },
)

/**
 * joined: the server was registered; if it was registered already, its data was updated. waiting:
 * the server's API has not answered yet. failed: the server's API did not answer in time, or
 * another machine answered. refused: the token or the announcement was invalid, which doesn't count
 * as a use.
 */
export const arrivalResults = ['waiting', 'joined', 'failed', 'refused'] as const
export const Arrival = z.object({
  id: wordText,
  /** Time of the last announcement of this UUID with this token from this address. */
  at: time,
  uuid: lineText,
  serial: lineText,
  mac: z.nullable(wordText),
  /** Source address of the announcement, which Steelyard dials. */
  address: codeText,
  result: z.enum(arrivalResults),
  reason: z.nullable(sentenceText),
  server: z.nullable(z.object({ id: z.uuid(), name: nameText })),
})
export type Arrival = z.infer<typeof Arrival>
const arrivals = list<Arrival>()({
  nouns: ['arrival', 'arrivals'],
  columns: {
    at: { label: 'When', kind: 'time', sort: true, value: (a: Arrival) => a.at },
    server: { label: 'Server', value: (a: Arrival) => a.server?.name ?? null },
    address: { label: 'Address', kind: 'mono', value: (a: Arrival) => a.address },
    uuid: { label: 'UUID', kind: 'mono', value: (a: Arrival) => a.uuid },
    serial: { label: 'Serial', kind: 'mono', value: (a: Arrival) => a.serial },
    result: { label: 'Result', kind: 'word', value: (a: Arrival) => a.result },
    reason: { label: 'Reason', value: (a: Arrival) => a.reason },
  },
  order: '-at',
})

export const joinTokenArrivals = listOperation(arrivals, Arrival, {
  name: 'joinTokenArrivals',
  summary: 'The machines that announced themselves with a join token, newest first.',
  path: '/v1/join-tokens/{id}/arrivals',
  scope: 'servers:read',
  params: byId,
  errors: ['not_found'],
})

const why: Readonly<Record<Exclude<JoinToken['status'], 'usable'>, string>> = {
  expired: 'The join token has expired',
  used_up: 'The join token is used up',
  revoked: 'The join token was revoked',
}
/** Whether servers and images can use the token. */
export const canUseJoinToken = (t: Pick<JoinToken, 'status'>): Verdict =>
  t.status === 'usable' ? yes : no(why[t.status])
export const canRevokeJoinToken = (t: Pick<JoinToken, 'status'>): Verdict =>
  t.status === 'revoked' ? no('The join token was revoked already') : yes

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Arrival: [Arrival, 'A machine that announced itself with a join token.'],
    JoinToken: [
      JoinToken,
      'A join token, with which a booting server can announce itself. The text of the token is returned only once, when it is created.',
    ],
    NewJoinToken: [
      NewJoinToken,
      'A join token to create: its lifetime, its number of uses, and the datacenter and labels of servers that join with it.',
    ],
  },
  fields: {
    'joinTokenCreate.labels':
      'Labels that new servers get when they join with the token, or with an image that carries it.',
    lifetime_hours: 'Lifetime in hours; null: the token does not expire.',
    max_uses: 'How many servers (system UUIDs) may use the token; null for any number.',
  },
  bodies: {
    joinTokenCreate: {
      name: 'rack-12',
      datacenter_id: '00000000-0000-4000-8000-000000000001',
      labels: { rack: '12' },
      lifetime_hours: 24,
      max_uses: 20,
    },
  },
}
