/**
 * Join tokens: the right of a booting server to announce itself. Not a secret to trust: whoever holds one gets a server listed, never a
 * configuration. A token stands in the kernel arguments of an image; here only its hash is kept.
 */
import * as z from 'zod/mini'
import { nameOf } from './names.ts'
import { operation } from './operation.ts'
import { byId, listQuery, pageOf, time } from './page.ts'
import { no, type Verdict, yes } from './rule.ts'
import { count } from './words.ts'

/** What a booting server asks: `GET {STEELYARD_PUBLIC_URL}/join/{token}`. Not a call of the API: Talos makes it, and is always answered 200. */
export const joinPath = '/join/'
/** Talos fills these in (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url`), in the query only. */
const joinQuery = 'uuid=${uuid}&serial=${serial}&mac=${mac}'
/** 128 bits, base64url, after a prefix by which scanners of logs and repositories know it. */
export const joinTokenPattern = /^sy-join-[A-Za-z0-9_-]{22}$/
/** The kernel argument that makes a server announce itself. `publicUrl` without a slash at the end. */
export const joinArgument = (publicUrl: string, token: string): string => `talos.config=${publicUrl}${joinPath}${token}?${joinQuery}`

export const joinTokenStatuses = ['usable', 'expired', 'used_up', 'revoked'] as const
export const longestLifetimeHours = 8760

export const JoinToken = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(joinTokenStatuses),
  /** Where servers that come through it are put. */
  datacenter: z.nullable(z.object({ id: z.uuid(), code: z.string() })),
  /** One use is one system UUID; a server that boots again uses nothing. null: any number. */
  max_uses: z.nullable(z.int()),
  uses: z.int(),
  expires_at: z.nullable(time),
  revoked_at: z.nullable(time),
  last_used_at: z.nullable(time),
  created_by: z.nullable(z.string()),
  created_at: time,
  /** Counts what people change. Uses count nothing up, so that a revocation is never too late. */
  version: z.int(),
})
export type JoinToken = z.infer<typeof JoinToken>

export const NewJoinToken = z.strictObject({
  name: nameOf('Join token'),
  datacenter_id: z._default(z.nullable(z.uuid()), null),
  /** null: it does not expire. */
  lifetime_hours: z._default(
    z.nullable(
      z
        .int('Lifetime must be a whole number of hours')
        .check(z.gte(1, 'Lifetime must be at least 1 hour'), z.lte(longestLifetimeHours, 'Lifetime must be at most a year (8760 hours)')),
    ),
    168,
  ),
  max_uses: z._default(
    z.nullable(z.int('Uses must be a whole number').check(z.gte(1, 'Uses must be at least 1'), z.lte(100_000, `Uses must be at most ${count(100_000)}`))),
    null,
  ),
})
export type NewJoinToken = z.infer<typeof NewJoinToken>

export const joinTokenList = operation({
  name: 'joinTokenList',
  summary: 'Join tokens, newest first, with how often each was used; never the tokens themselves.',
  method: 'GET',
  path: '/v1/join-tokens',
  scope: 'servers:read',
  query: z.strictObject({ ...listQuery(['created_at', 'name', 'expires_at', 'uses', 'status']), status: z.optional(z.enum(joinTokenStatuses)) }),
  answer: pageOf(JoinToken),
})
export const joinTokenGet = operation({
  name: 'joinTokenGet',
  summary: 'One join token.',
  method: 'GET',
  path: '/v1/join-tokens/{id}',
  scope: 'servers:read',
  params: byId,
  answer: JoinToken,
  errors: ['not_found'],
})
export const joinTokenCreate = operation({
  name: 'joinTokenCreate',
  summary: 'Make a join token. The answer is the only one that holds it; images prepared with it carry it too.',
  method: 'POST',
  path: '/v1/join-tokens',
  scope: 'servers:write',
  body: NewJoinToken,
  answer: z.extend(JoinToken, {
    token: z.string(),
    /** The kernel argument, for machines that are booted some other way. */
    kernel_argument: z.string(),
  }),
  status: 201,
  errors: ['not_found', 'name_taken'],
})
export const joinTokenRevoke = operation({
  name: 'joinTokenRevoke',
  summary: 'Revoke a join token: no server can announce itself with it any more. Servers that came through it stay.',
  method: 'DELETE',
  path: '/v1/join-tokens/{id}',
  scope: 'servers:write',
  params: byId,
  status: 204,
  errors: ['not_found', 'stale', 'conflict'],
})

/** joined: registered, or recognised and read again. waiting: announced, its API has not answered yet. failed: its API did not answer in time, or answered as another machine. refused: the token was not good, or what was announced names no machine; not a use. */
export const arrivalResults = ['waiting', 'joined', 'failed', 'refused'] as const
export const Arrival = z.object({
  id: z.string(),
  /** The last announcement of this UUID through this token from this address. */
  at: time,
  uuid: z.string(),
  serial: z.string(),
  mac: z.nullable(z.string()),
  /** Where it came from: the address that is dialled. */
  address: z.string(),
  result: z.enum(arrivalResults),
  reason: z.nullable(z.string()),
  server: z.nullable(z.object({ id: z.uuid(), name: z.string() })),
})
export type Arrival = z.infer<typeof Arrival>
export const joinTokenArrivals = operation({
  name: 'joinTokenArrivals',
  summary: 'What announced itself with a join token, newest first.',
  method: 'GET',
  path: '/v1/join-tokens/{id}/arrivals',
  scope: 'servers:read',
  params: byId,
  query: z.strictObject(listQuery(['at'])),
  answer: pageOf(Arrival),
  errors: ['not_found'],
})

const why: Readonly<Record<Exclude<JoinToken['status'], 'usable'>, string>> = {
  expired: 'The join token has expired',
  used_up: 'The join token is used up',
  revoked: 'The join token was revoked',
}
/** Whether a server may announce itself with it, or an image be prepared with it. */
export const canUseJoinToken = (t: Pick<JoinToken, 'status'>): Verdict => (t.status === 'usable' ? yes : no(why[t.status]))
export const canRevokeJoinToken = (t: Pick<JoinToken, 'status'>): Verdict => (t.status === 'revoked' ? no('The join token was revoked already') : yes)
