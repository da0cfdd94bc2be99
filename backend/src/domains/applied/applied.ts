/**
 * The record of what `steelyard apply` has created. It only says what `apply --prune` may remove;
 * the objects themselves belong to their domains.
 */
import {
  type Applied,
  type AppliedKind,
  appliedKinds,
  appliedList,
  appliedMove,
  readScopeOf,
} from '#contract/apply/applied.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import { inTransaction } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import * as store from './store.ts'

const kinds = Object.keys(appliedKinds) as AppliedKind[]

const present = ({ kind, set_name, server_id, id, created_at }: store.AppliedRow): Applied => ({
  kind: kind as AppliedKind,
  id,
  set: set_name,
  server_id,
  created_at: created_at.toISOString(),
})

export const applied = ({ db }: Pick<Platform, 'db'>): Domain => ({
  name: 'applied',
  routes(app) {
    const on = serve(app)

    /** The objects that the caller may see. */
    const list = async (
      caller: UserCaller,
      query: Input<typeof appliedList>['query'],
    ): Promise<Page<Applied>> => {
      const visible = kinds.filter((kind) => permits(caller.scopes, readScopeOf(kind)).ok)
      const { rows, total } =
        visible.length === 0 ? { rows: [], total: 0 } : await store.page(db, visible, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    }

    /** @throws Problem forbidden unless the caller may change every named object */
    const move = async (
      caller: UserCaller,
      { set, objects }: Input<typeof appliedMove>['body'],
    ): Promise<number> => {
      const byKind = Map.groupBy(objects, ({ kind }) => kind)
      for (const kind of byKind.keys()) {
        const verdict = permits(caller.scopes, appliedKinds[kind])
        if (!verdict.ok) throw Problem.of('forbidden', verdict)
      }
      return inTransaction(db, async (tx) => {
        let moved = 0
        for (const [kind, some] of [...byKind].toSorted(([a], [b]) => a.localeCompare(b))) {
          const ids = some.map(({ id }) => id)
          moved += await store.move(tx, set, kind, ids)
        }
        return moved
      })
    }

    on(appliedList, ({ caller, query }) => list(signedIn(caller), query))
    on(appliedMove, async ({ caller, body }) => ({ moved: await move(signedIn(caller), body) }))
  },
})
