/**
 * Use cases of capacity commitments. Each change is one transaction with rows, audit entry and
 * event.
 */
import { Problem } from '#contract/errors.ts'
import {
  canChangeCcTerms,
  canMoveCc,
  type CapacityCommitment,
  type CcChange,
  ccCommitProblems,
  ccCounts,
  ccCreate,
  ccEvents,
  ccGet,
  ccList,
  ccStatuses,
  ccTermProblems,
  ccUpdate,
  hasOpenCc,
  type NewCc,
} from '#contract/marketplace/ccs.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import type { Audit } from '../audit/api.ts'
import { type Committing, noOffer } from './api.ts'
import { type CcParts, moving } from './moving.ts'
import { keeping } from './keeping.ts'
import { audited, present } from './present.ts'
import * as store from './store.ts'

const noun = 'commitment'
const mostEvents = 200

interface CommitmentDomain extends Domain, Committing {
  /** Wakes the commitments that need a look; called once a minute, and by tests. */
  readonly look: () => Promise<void>
}

/** @param problems sentences by field */
function demandTerms(problems: Readonly<Record<string, string>>): void {
  const [problem] = Object.values(problems)
  if (problem !== undefined) throw new Problem('invalid', problem, { ...problems })
}

const dateOf = (iso: string | null): Date | null => (iso === null ? null : new Date(iso))

/** The terms as columns. Terms that weren't given are left out. */
const columnsOf = ({
  offer_id,
  price,
  starts_at,
  expires_at,
}: Pick<CcChange, 'offer_id' | 'price' | 'starts_at' | 'expires_at'>) => ({
  ...(offer_id !== undefined && { offer_id }),
  ...(price !== undefined && {
    price: price?.amount ?? null,
    currency: price?.currency ?? null,
    basis: price?.basis ?? null,
  }),
  ...(starts_at !== undefined && { starts_at: dateOf(starts_at) }),
  ...(expires_at !== undefined && { expires_at: dateOf(expires_at) }),
})

const isSame = (a: unknown, b: unknown): boolean =>
  a instanceof Date && b instanceof Date ? a.getTime() === b.getTime() : a === b

export function ccs(parts: CcParts & { readonly audit: Pick<Audit, 'events'> }): CommitmentDomain {
  const { db, clock, record, engine, servers, audit } = parts
  const { move, follow } = moving(parts)
  const now = () => new Date(clock.now())
  const written = (caller: Caller) => ({ updated_at: now(), updated_by: callerName(caller) })

  /** Locks the rows of the server and of the commitment. @throws Problem not_found, stale */
  const locked = async (tx: Tx, id: string, ifMatch: Versions) => {
    const serverId = await store.serverOf(tx, id)
    const server =
      serverId === undefined ? undefined : await servers.lockForCommitment(tx, serverId)
    const row = existing(await store.locked(tx, id), noun, ifMatch)
    return { row, server: server! }
  }

  /** @throws Problem invalid */
  const demandOffer = async (tx: Tx, id: string | null | undefined) => {
    if (typeof id === 'string' && !(await store.hasOffer(tx, id)))
      throw new Problem('invalid', noOffer, { offer_id: noOffer })
  }

  const { look, reconciler, start, stop } = keeping(parts)
  engine.register(reconciler)

  const calls = {
    async list(query: Input<typeof ccList>['query']): Promise<Page<CapacityCommitment>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    async counts(query: Input<typeof ccCounts>['query']): Promise<Answer<typeof ccCounts>> {
      const found = new Map((await store.counts(db, query)).map(({ status, n }) => [status, n]))
      const by_status = Object.fromEntries(
        ccStatuses.map((status) => [status, found.get(status) ?? 0]),
      ) as Answer<typeof ccCounts>['by_status']
      return { total: Object.values(by_status).reduce((sum, n) => sum + n, 0), by_status }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<CapacityCommitment> =>
      present(existing(await store.byId(db, id), noun)),

    /** @throws Problem not_found */
    async events(id: string): Promise<Answer<typeof ccEvents>> {
      existing(await store.byId(db, id), noun)
      return { items: await audit.events({ kind: 'cc', id }, mostEvents) }
    },

    /** @throws Problem not_found for the server, invalid, conflict (the server has a commitment) */
    async create(
      tx: Tx,
      caller: Caller,
      { node_id, status, ...terms }: NewCc,
    ): Promise<CapacityCommitment> {
      const server = await servers.lockForCommitment(tx, node_id)
      if (!server || server.isRemoved)
        throw new Problem('not_found', `Server ${node_id} not found`, {
          node_id: 'There is no such server',
        })
      demandTerms(
        (status === 'not_committed' ? ccTermProblems : ccCommitProblems)(terms, clock.now()),
      )
      await demandOffer(tx, terms.offer_id)
      const open = await store.openOf(tx, node_id)
      if (open) {
        const sentence = hasOpenCc(server.name, open.status)
        throw new Problem('conflict', sentence, { node_id: sentence }, undefined, {
          kind: 'server',
          id: node_id,
          name: server.name,
        })
      }
      const id = await store.insert(tx, {
        server_id: node_id,
        ...columnsOf(terms),
        ...server.capacity,
        measured_at: server.measuredAt,
        created_at: now(),
        ...written(caller),
      })
      const made = existing(await store.byId(tx, id), noun)
      await record(tx, caller, {
        action: 'cc.created',
        target: { kind: 'cc', id, name: server.name },
        after: audited(made),
        event: { version: made.version },
      })
      if (status === 'waiting_delegation')
        return present(await move(tx, caller, made, { to: status, at: now() }))
      await follow(tx, caller, made)
      return present(made)
    },

    /**
     * @throws Problem not_found, stale, invalid, conflict (the terms are fixed), transition_refused
     */
    async update(
      tx: Tx,
      caller: Caller,
      id: string,
      { status, reason, ...terms }: CcChange,
      ifMatch?: Versions,
    ): Promise<CapacityCommitment> {
      if (reason !== undefined && status !== 'failed' && status !== 'removed') {
        const sentence = 'A reason is given only with the status failed or removed'
        throw new Problem('invalid', sentence, { reason: sentence })
      }
      const { row: before, server } = await locked(tx, id, ifMatch)
      let row = before
      const changes = Object.entries(columnsOf(terms)).filter(
        ([key, value]) => !isSame(row[key as keyof store.CcRow], value),
      )
      if (changes.length > 0) {
        demand(canChangeCcTerms(row), 'conflict')
        const known = present(row)
        const wanted = {
          starts_at: given(terms.starts_at, known.starts_at),
          expires_at: given(terms.expires_at, known.expires_at),
        }
        demandTerms(ccTermProblems(wanted, clock.now()))
        await demandOffer(tx, terms.offer_id)
        row = await store.update(tx, id, {
          ...(Object.fromEntries(changes) as store.CcColumns),
          ...written(caller),
        })
        await record(tx, caller, {
          action: 'cc.updated',
          target: { kind: 'cc', id, name: row.server_name },
          before: audited(before),
          after: audited(row),
          event: { version: row.version },
        })
      }
      if (status === undefined || status === row.status) return present(row)
      demand(canMoveCc(present(row), status, clock.now()), 'transition_refused')
      if (status === 'waiting_delegation') {
        demandTerms(ccCommitProblems(present(row), clock.now()))
        // The promise is about the capacity that the server has now.
        row = await store.update(tx, id, { ...server.capacity, measured_at: server.measuredAt })
      }
      return present(await move(tx, caller, row, { to: status, at: now(), reason }))
    },
  }

  const committing: Committing = {
    hasOffer: (id) => store.hasOffer(db, id),
    drafts: async (serverIds) =>
      new Map(
        (await store.draftsOf(db, serverIds)).map((row) => {
          const { version, offer, price, starts_at, expires_at } = present(row)
          return [
            row.server_id,
            { version, offer_id: offer?.id ?? null, price, starts_at, expires_at },
          ]
        }),
      ),
    async commit(tx, caller, serverId, { terms, version, draftVersion }) {
      const server = await servers.lockForCommitment(tx, serverId)
      if (server && server.version !== version)
        throw new Problem('stale', `${server.name} has changed in the meantime`)
      const status = 'waiting_delegation'
      const open = await store.openOf(tx, serverId)
      if (open?.status === 'not_committed' && draftVersion !== null)
        await calls.update(tx, caller, open.id, { ...terms, status }, [draftVersion])
      else {
        const { offer_id = null, price = null, starts_at = null, expires_at = null } = terms
        const asked = { node_id: serverId, offer_id, price, starts_at, expires_at, status } as const
        await calls.create(tx, caller, asked)
      }
    },
  }

  return {
    name: 'commitments',
    routes(app) {
      const on = serve(app)
      on(ccList, ({ query }) => calls.list(query))
      on(ccCounts, ({ query }) => calls.counts(query))
      // The response contains the state of the server, which changes without the commitment's
      // version.
      serve(app, { isVolatile: true })(ccGet, ({ params }) => calls.get(params.id))
      on(ccCreate, ({ caller, body }) => inTransaction(db, (tx) => calls.create(tx, caller, body)))
      on(ccUpdate, ({ caller, params, body, ifMatch }) =>
        inTransaction(db, (tx) => calls.update(tx, caller, params.id, body, ifMatch)),
      )
      on(ccEvents, ({ params }) => calls.events(params.id))
    },
    start,
    stop,
    look,
    ...committing,
  }
}

const given = <T>(wanted: T | undefined, known: T): T => (wanted === undefined ? known : wanted)
