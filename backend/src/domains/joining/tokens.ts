/**
 * Changes of join tokens. Each is one transaction with row, audit entry and event, none of which
 * contains the token's text.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import {
  type Arrival,
  canRevokeJoinToken,
  joinArgument,
  type JoinToken,
  joinTokenArrivals,
  joinTokenCreate,
  joinTokenGet,
  joinTokenLimit,
  joinTokenList,
  joinTokenRevoke,
  type NewJoinToken,
} from '#contract/join-tokens.ts'
import { type MemoryReaders, memoryPage } from '#contract/list.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { canAdd } from '#contract/rule.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { TokenForImage } from './api.ts'
import * as store from './store.ts'
import { hashOf, textOf } from './token-text.ts'

export function joinTokenRoutes(app: FastifyInstance, tokens: Tokens): void {
  const on = serve(app)
  on(joinTokenList, ({ query }) => tokens.list(query))
  on(joinTokenGet, ({ params }) => tokens.get(params.id))
  on(joinTokenCreate, ({ caller, body }) => tokens.create(caller, body))
  on(joinTokenRevoke, ({ caller, params, ifMatch }) =>
    tokens.revoke(caller, params.id, ifMatch).then(() => undefined),
  )
  on(joinTokenArrivals, ({ params, query }) => tokens.arrivals(params.id, query))
}

export type Tokens = ReturnType<typeof joinTokens>

/** Sort key of tokens without an expiry: they come last. */
const never = '9999'
const readers: MemoryReaders<typeof joinTokenList.list, JoinToken> = {
  sort: {
    created_at: (t) => t.created_at,
    name: (t) => t.name,
    expires_at: (t) => t.expires_at ?? never,
    uses: (t) => t.uses,
    status: (t) => t.status,
  },
  filters: { status: (t, status) => t.status === status },
  search: (t, wanted) => t.name.includes(wanted),
  ties: [(t) => t.name],
}

/**
 * The status of a token. A revoked token is `revoked` even if it has also expired or is used up.
 * `now` in ms since 1970.
 */
export function statusOf(
  {
    revoked_at,
    expires_at,
    max_uses,
    uses,
  }: Pick<store.TokenRow, 'revoked_at' | 'expires_at' | 'max_uses' | 'uses'>,
  now: number,
): JoinToken['status'] {
  if (revoked_at !== null) return 'revoked'
  if (expires_at !== null && expires_at.getTime() <= now) return 'expired'
  return max_uses !== null && uses >= max_uses ? 'used_up' : 'usable'
}

/** Converts a row to the contract's join token. */
const present = (
  {
    datacenter_id: id,
    datacenter_code: code,
    hash: _hash,
    updated_at: _updated,
    ...row
  }: store.TokenRow,
  now: number,
): JoinToken => ({
  ...row,
  status: statusOf(row, now),
  datacenter: id !== null && code !== null ? { id, code } : null,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
})

function presentArrival(arrival: store.ShownArrival): Arrival {
  const {
    token_id: _token,
    host_name: _secret,
    counted: _counted,
    shard: _shard,
    server_id: id,
    server_name: name,
    ...row
  } = arrival
  return {
    ...row,
    at: row.at.toISOString(),
    server: id !== null && name !== null ? { id, name } : null,
  }
}

/** @throws Problem not_found, stale */
const tokenOf = async (on: Db | Tx, id: string, ifMatch?: Versions): Promise<store.TokenRow> =>
  existing(await store.token(on, id), 'join token', ifMatch)

interface TokenParts extends Platform {
  readonly key: () => Promise<Uint8Array>
  readonly datacenters: Pick<Datacenters, 'find'>
}

export function joinTokens({ db, clock, record, config, key, datacenters }: TokenParts) {
  return {
    async list(query: Input<typeof joinTokenList>['query']): Promise<Page<JoinToken>> {
      const now = clock.now()
      const all = (await store.tokens(db)).map((row) => present(row, now))
      return memoryPage(joinTokenList.list, all, readers, query)
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<JoinToken> => present(await tokenOf(db, id), clock.now()),

    /**
     * Only the response of this call contains the token. @throws Problem not_found for the
     * datacenter; name_taken; conflict at the most tokens
     */
    async create(
      caller: Caller,
      { name, datacenter_id, labels, lifetime_hours, max_uses }: NewJoinToken,
    ): Promise<JoinToken & { token: string; kernel_argument: string }> {
      const id = randomUUID()
      const token = textOf(await key(), id)
      try {
        return await inTransaction(db, async (tx) => {
          if (datacenter_id !== null && !(await datacenters.find(tx, datacenter_id)))
            throw new Problem('not_found', `Datacenter ${datacenter_id} not found`, {
              datacenter_id: 'There is no such datacenter',
            })
          demand(canAdd(joinTokenLimit, await store.unrevoked(tx)), 'conflict')
          const at = new Date(clock.now())
          const expires_at =
            lifetime_hours === null ? null : new Date(at.getTime() + lifetime_hours * 3600_000)
          const created = { created_by: callerName(caller), created_at: at, updated_at: at }
          await store.insertToken(tx, {
            id,
            name,
            hash: hashOf(token),
            datacenter_id,
            labels: JSON.stringify(labels),
            max_uses,
            expires_at,
            ...created,
          })
          const made = present(await tokenOf(tx, id), at.getTime())
          await record(tx, caller, {
            action: 'join_token.created',
            target: { kind: 'join_token', id, name },
            after: made,
            event: { version: made.version },
          })
          return { ...made, token, kernel_argument: joinArgument(config.publicUrl, token) }
        })
      } catch (error) {
        if (violatedConstraint(error) !== 'join_token_name') throw error
        const { taken } = nameSentences('Join token')
        throw new Problem('name_taken', taken, { name: taken })
      }
    },

    /** @throws Problem not_found; stale; conflict if already revoked */
    async revoke(caller: Caller, id: string, ifMatch?: Versions): Promise<void> {
      await inTransaction(db, async (tx) => {
        await store.lockTokens(tx, [id])
        const row = await tokenOf(tx, id, ifMatch)
        const now = clock.now()
        const before = present(row, now)
        const verdict = canRevokeJoinToken(before)
        if (!verdict.ok) throw Problem.of('conflict', verdict)
        await store.changeToken(tx, id, { revoked_at: new Date(now) }, new Date(now))
        const after = present(await tokenOf(tx, id), now)
        const target = { kind: 'join_token', id, name: row.name }
        await record(tx, caller, {
          action: 'join_token.revoked',
          target,
          before,
          after,
          event: { name: 'join_token.updated', version: after.version },
        })
      })
    },

    /** @throws Problem not_found */
    async arrivals(
      id: string,
      query: Input<typeof joinTokenArrivals>['query'],
    ): Promise<Page<Arrival>> {
      await tokenOf(db, id)
      const { rows, total } = await store.arrivals(db, id, query)
      return { items: rows.map(presentArrival), page: query.page, per_page: query.per_page, total }
    },

    async tokenFor(on: Db | Tx, tokenId: string): Promise<TokenForImage | null> {
      const row = await store.token(on, tokenId)
      return row
        ? {
            text: textOf(await key(), row.id),
            name: row.name,
            status: statusOf(row, clock.now()),
            datacenterId: row.datacenter_id,
          }
        : null
    },
  }
}
