/**
 * Use cases of shared views. A view belongs to a list of the contract: who may not read the list
 * doesn't see its views, and a view holds only what the list's call accepts.
 */
import * as z from 'zod/mini'
import { allOperations } from '#contract/all.ts'
import { Problem } from '#contract/errors.ts'
import { groupingOf, groupingSentence } from '#contract/labels/grouping.ts'
import { type AnyList, tableOf, viewKeys } from '#contract/list.ts'
import type { Input, Operation } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  canChangeView,
  canShareView,
  type NewSharedView,
  type SharedView,
  type SharedViewChange,
  sharedViewCreate,
  sharedViewGet,
  sharedViewList,
  sharedViewRemove,
  sharedViewTaken,
  sharedViewUpdate,
} from '#contract/people/shared-views.ts'
import { permits } from '#contract/permissions.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { demandScope, type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain, Platform } from '../../platform.ts'
import * as store from './store.ts'

type Listing = Operation & { readonly list: AnyList }

/** The calls that return lists, by the name of the list. Lists of one name have one scope. */
const listings: ReadonlyMap<string, Listing> = new Map(
  allOperations.flatMap((one) =>
    'list' in one ? [[tableOf(one.list as AnyList), one as Listing]] : [],
  ),
)

const present = (row: store.ViewRow): SharedView => ({
  ...row,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
const targetOf = ({ id, name }: store.ViewRow) => ({ kind: 'shared_view', id, name })
const noun = 'shared view'
/** An event of a view is for those who may read its list. */
const eventOf = ({ list, version }: Pick<store.ViewRow, 'list' | 'version'>) => {
  const { scope } = listings.get(list)!
  return { version, scope: scope === 'signed_in' ? null : scope }
}

/** @throws Problem invalid if the list's call doesn't accept the view */
function demandSearch({ list, query }: Listing, search: SharedView['search']): void {
  const keys = viewKeys(list)
  const unknown = Object.keys(search).find((key) => !keys.includes(key))
  const { group, ...asked } = search
  const parsed = z.safeParse(query, asked)
  const issue = parsed.success ? undefined : parsed.error.issues[0]
  const reason =
    unknown !== undefined
      ? `The list ${tableOf(list)} has no filter ${unknown}`
      : issue
        ? `The list ${tableOf(list)} refuses ${issue.path.join('.')}: ${issue.message}`
        : group !== undefined && groupingOf(list.groups ?? [], group) === null
          ? groupingSentence(list)
          : undefined
  if (reason !== undefined) throw new Problem('invalid', reason, { search: reason })
}

export function sharedViews({ db, clock, record }: Platform): Domain {
  const now = () => new Date(clock.now())
  const mayRead = ({ scopes }: UserCaller, list: string): boolean => {
    const listing = listings.get(list)
    return listing !== undefined && permits(scopes, listing.scope).ok
  }
  const seen = (caller: UserCaller, row: store.ViewRow | undefined, ifMatch?: Versions) =>
    existing(row && mayRead(caller, row.list) ? row : undefined, noun, ifMatch)
  const changeable = async (tx: Tx, caller: UserCaller, id: string, ifMatch: Versions) => {
    const row = seen(caller, await store.lock(tx, id), ifMatch)
    demand(canChangeView(row, caller), 'forbidden')
    return row
  }
  const writing = async <T>(change: (tx: Tx) => Promise<T>): Promise<T> => {
    try {
      return await inTransaction(db, change)
    } catch (error) {
      throw violatedConstraint(error) === 'shared_view_name'
        ? new Problem('name_taken', sharedViewTaken, { name: sharedViewTaken })
        : error
    }
  }

  const calls = {
    async list(
      caller: UserCaller,
      query: Input<typeof sharedViewList>['query'],
    ): Promise<Page<SharedView>> {
      const lists = [...listings.keys()].filter((list) => mayRead(caller, list))
      const { rows, total } = await store.page(db, lists, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (caller: UserCaller, id: string): Promise<SharedView> =>
      present(seen(caller, await store.find(db, id))),

    /** @throws Problem invalid, forbidden, name_taken, conflict at the most views of the list */
    create(caller: UserCaller, { list, name, search }: NewSharedView): Promise<SharedView> {
      const listing = listings.get(list)
      if (listing === undefined) {
        const reason = `There is no list ${list}`
        throw new Problem('invalid', reason, { list: reason })
      }
      demandScope(caller, listing.scope)
      demandSearch(listing, search)
      return writing(async (tx) => {
        demand(canShareView(await store.countedIn(tx, list)), 'conflict')
        const row = await store.insert(tx, {
          list,
          name,
          search: JSON.stringify(search),
          author_id: caller.userId,
          author: caller.email,
          created_at: now(),
          updated_at: now(),
        })
        await record(tx, caller, {
          action: 'shared_view.created',
          target: targetOf(row),
          after: present(row),
          event: eventOf(row),
        })
        return present(row)
      })
    },

    /** @throws Problem not_found, stale, forbidden, invalid, name_taken */
    update: (
      caller: UserCaller,
      id: string,
      { name, search }: SharedViewChange,
      ifMatch: Versions,
    ): Promise<SharedView> =>
      writing(async (tx) => {
        const before = await changeable(tx, caller, id, ifMatch)
        if (search !== undefined) demandSearch(listings.get(before.list)!, search)
        const after = await store.update(tx, id, {
          ...(name !== undefined && { name }),
          ...(search !== undefined && { search: JSON.stringify(search) }),
          updated_at: now(),
        })
        await record(tx, caller, {
          action: 'shared_view.updated',
          target: targetOf(after),
          before: present(before),
          after: present(after),
          event: eventOf(after),
        })
        return present(after)
      }),

    /** @throws Problem not_found, stale, forbidden */
    remove: (caller: UserCaller, id: string, ifMatch: Versions): Promise<void> =>
      writing(async (tx) => {
        const row = await changeable(tx, caller, id, ifMatch)
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'shared_view.removed',
          target: targetOf(row),
          before: present(row),
          event: eventOf({ ...row, version: row.version + 1 }),
        })
      }),
  }

  return {
    name: 'shared-views',
    routes(app) {
      const on = serve(app)
      on(sharedViewList, ({ caller, query }) => calls.list(signedIn(caller), query))
      on(sharedViewGet, ({ caller, params }) => calls.get(signedIn(caller), params.id))
      on(sharedViewCreate, ({ caller, body }) => calls.create(signedIn(caller), body))
      on(sharedViewUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(signedIn(caller), params.id, body, ifMatch),
      )
      on(sharedViewRemove, ({ caller, params, ifMatch }) =>
        calls.remove(signedIn(caller), params.id, ifMatch).then(() => undefined),
      )
    },
  }
}
