/** Changes of join tokens. Each is one transaction: row, audit entry and event together. None of them holds the token's text. */
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
  joinTokenList,
  joinTokenRevoke,
  type NewJoinToken,
} from '#contract/join-tokens.ts'
import { type MemoryReaders, memoryPage } from '#contract/list.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Servers } from '../servers/servers.ts'
import { present, presentArrival, statusOf } from './present.ts'
import * as store from './store.ts'
import { hashOf, textOf } from './token-text.ts'

/** A join token as images need it. */
export interface TokenForImage {
  /** The token itself, for a kernel argument. Never into the database, the log, the audit log or an event. */
  readonly text: string
  readonly name: string
  readonly status: JoinToken['status']
  readonly datacenterId: string | null
}

export function joinTokenRoutes(app: FastifyInstance, tokens: Tokens): void {
  const on = serve(app)
  on(joinTokenList, ({ query }) => tokens.list(query))
  on(joinTokenGet, ({ params }) => tokens.get(params.id))
  on(joinTokenCreate, ({ caller, body }) => tokens.create(caller, body))
  on(joinTokenRevoke, ({ caller, params, ifMatch }) => tokens.revoke(caller, params.id, ifMatch).then(() => undefined))
  on(joinTokenArrivals, ({ params, query }) => tokens.arrivals(params.id, query))
}

export interface TokenParts {
  readonly key: () => Promise<Uint8Array>
  readonly datacenters: Pick<Datacenters, 'find' | 'names'>
  readonly servers: Pick<Servers, 'namesOf'>
}
export type Tokens = ReturnType<typeof joinTokens>
/** Joining as other domains see it. */
export type Joining = Pick<Tokens, 'tokenFor'>

/** One that doesn't expire comes after all that do. */
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
const unknown = () => new Problem('not_found', 'There is no such join token')

export function joinTokens({ db, clock, record, config, key, datacenters, servers }: Platform & TokenParts) {
  const codes = async () => new Map((await datacenters.names()).map((d) => [d.id, d.code]))
  const shown = async (row: store.TokenRow): Promise<JoinToken> => present(row, { codes: await codes(), now: clock.now() })

  const create = async (tx: Tx, caller: Caller, { name, datacenter_id, lifetime_hours, max_uses }: NewJoinToken, id: string, hash: Buffer) => {
    const datacenter = datacenter_id === null ? null : await datacenters.find(tx, datacenter_id)
    if (datacenter_id !== null && !datacenter)
      throw new Problem('not_found', `Datacenter ${datacenter_id} not found`, { datacenter_id: 'There is no such datacenter' })
    const at = new Date(clock.now())
    const expires_at = lifetime_hours === null ? null : new Date(at.getTime() + lifetime_hours * 3600_000)
    const created = { created_by: callerName(caller), created_at: at, updated_at: at }
    const row = await store.insertToken(tx, { id, name, hash, datacenter_id, max_uses, expires_at, ...created })
    const made = present(row, { codes: new Map(datacenter ? [[datacenter.id, datacenter.code]] : []), now: at.getTime() })
    await record(tx, caller, { action: 'join_token.created', target: { kind: 'join_token', id, name }, after: made, event: { version: made.version } })
    return made
  }

  return {
    async list(query: Input<typeof joinTokenList>['query']): Promise<Page<JoinToken>> {
      const [rows, known] = await Promise.all([store.tokens(db), codes()])
      const now = clock.now()
      const all = rows.map((row) => present(row, { codes: known, now }))
      return memoryPage(joinTokenList.list, all, readers, query)
    },

    /** @throws Problem not_found */
    async get(id: string): Promise<JoinToken> {
      const row = await store.token(db, id)
      if (!row) throw unknown()
      return shown(row)
    },

    /** Only this answer holds the token. @throws Problem not_found for the datacenter; name_taken */
    async create(caller: Caller, input: NewJoinToken): Promise<JoinToken & { token: string; kernel_argument: string }> {
      const id = randomUUID()
      const token = textOf(await key(), id)
      try {
        return await inTransaction(db, async (tx) => ({
          ...(await create(tx, caller, input, id, hashOf(token))),
          token,
          kernel_argument: joinArgument(config.publicUrl, token),
        }))
      } catch (error) {
        if (violatedConstraint(error) !== 'join_token_name') throw error
        const { taken } = nameSentences('Join token')
        throw new Problem('name_taken', taken, { name: taken })
      }
    },

    /** @throws Problem not_found; stale; conflict if already revoked */
    async revoke(caller: Caller, id: string, ifMatch?: Versions): Promise<void> {
      const known = await codes()
      await inTransaction(db, async (tx) => {
        const [row] = await store.lockTokens(tx, [id])
        if (!row) throw unknown()
        checkVersion(ifMatch, row.version)
        const now = clock.now()
        const before = present(row, { codes: known, now })
        const verdict = canRevokeJoinToken(before)
        if (!verdict.ok) throw new Problem('conflict', verdict.reason)
        const after = await store.changeToken(tx, id, { revoked_at: new Date(now) }, new Date(now))
        await record(tx, caller, {
          action: 'join_token.revoked',
          target: { kind: 'join_token', id, name: row.name },
          before,
          after: present(after, { codes: known, now }),
          event: { name: 'join_token.updated', version: after.version },
        })
      })
    },

    /** @throws Problem not_found */
    async arrivals(id: string, query: Input<typeof joinTokenArrivals>['query']): Promise<Page<Arrival>> {
      if (!(await store.token(db, id))) throw unknown()
      const { rows, total } = await store.arrivals(db, id, query)
      const ids = rows.flatMap((r) => r.server_id ?? [])
      const names = await servers.namesOf(db, ids)
      return { items: rows.map((row) => presentArrival(row, names)), page: query.page, per_page: query.per_page, total }
    },

    /** For images, of whatever status the token is; null: there is no such token. */
    async tokenFor(on: Db | Tx, tokenId: string): Promise<TokenForImage | null> {
      const row = await store.token(on, tokenId)
      return row ? { text: textOf(await key(), row.id), name: row.name, status: statusOf(row, clock.now()), datacenterId: row.datacenter_id } : null
    },
  }
}
