/** Acts on many servers: their plan, and the operation that carries them out. */
import { randomUUID } from 'node:crypto'
import * as z from 'zod/mini'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { type Operation, operationTable } from '#contract/operations.ts'
import {
  bulkActs,
  bulkLimit,
  bulkStep,
  type BulkAct,
  type BulkItem,
  type BulkPlan,
  bulkWords,
  canBegin,
  leftOver,
  serverBulk,
  serverBulkPlan,
  tooManyServers,
} from '#contract/servers/bulk.ts'
import { bulkAlsoNeeds } from '#contract/servers/bulk-needs.ts'
import { noPast } from '#contract/history/past.ts'
import { serverList } from '#contract/servers/servers.ts'
import { inTransaction } from '../../db/db.ts'
import { appliedSetOf, type Caller, demandScope } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { noOffer } from '../ccs/api.ts'
import type { NewStep } from '../operations/api.ts'
import { bulkQueue, bulkReconciler } from './carrying.ts'
import type { BulkParts } from './parts.ts'
import { planOf } from './planning.ts'
import * as store from './store.ts'
import { changedSince } from './turn.ts'
import { outlooks } from './upgrading.ts'

export function bulk(parts: BulkParts): Domain {
  const { db, clock, engine, operations, servers, clusters, ccs } = parts
  engine.register(bulkReconciler(parts))

  const planFor = async (
    caller: Caller,
    act: BulkAct,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<BulkPlan> => {
    const also = bulkAlsoNeeds[act.kind]
    if (also !== undefined) demandScope(signedIn(caller), also)
    const found = await servers.several(ids)
    const strange = ids.find((id) => !found.some((s) => s.id === id))
    if (strange !== undefined) throw new Problem('not_found', `There is no server ${strange}`)
    if (act.in_window && act.kind !== 'upgrade') {
      const why = 'Only an upgrade waits for maintenance windows: every other act begins at once'
      throw new Problem('invalid', why, { 'act.in_window': why })
    }
    const around = new Map<string, Cluster>()
    for (const id of new Set(found.flatMap((s) => s.cluster?.id ?? []))) {
      const cluster = await clusters.read(id)
      if (cluster) around.set(id, cluster)
    }
    return planOf({
      act,
      servers: found,
      clusters: around,
      outlooks: act.kind === 'upgrade' ? await outlooks(parts, act, around, signal) : new Map(),
      drafts: act.kind === 'commit' ? await draftsFor(act, ids) : new Map(),
      now: clock.now(),
      appliedSet: appliedSetOf(caller) ?? undefined,
    })
  }

  /** @throws Problem invalid */
  const draftsFor = async ({ terms }: BulkAct, ids: readonly string[]) => {
    const offer = terms?.offer_id
    if (typeof offer === 'string' && !(await ccs.hasOffer(offer)))
      throw new Problem('invalid', noOffer, { 'act.terms.offer_id': noOffer })
    return ccs.drafts(ids)
  }

  const matching = async (filter: string): Promise<string[]> => {
    const read = z.safeParse(serverList.query, Object.fromEntries(new URLSearchParams(filter)))
    if (!read.success) {
      const [issue] = read.error.issues
      const why = `${issue!.path.join('.') || 'filter'}: ${issue!.message}`
      throw new Problem('invalid', `The filter can't be read. ${why}`, { filter: why })
    }
    if (read.data.at !== undefined) throw new Problem('bad_request', noPast, { filter: noPast })
    const ids = await servers.idsOf(read.data, bulkLimit)
    if (ids === undefined) throw new Problem('invalid', tooManyServers, { filter: tooManyServers })
    return ids
  }

  const failedOf = async (id: string): Promise<string[]> => {
    const earlier = await operations.read(db, id)
    if (earlier?.kind !== 'serverBulk')
      throw new Problem('not_found', `There is no act on many servers with the id ${id}`)
    return leftOver(earlier)
  }

  return {
    name: 'bulk',
    routes(app) {
      // The act is planned again when it begins.
      const heavy = serve(app, { heavy: true })
      heavy(serverBulkPlan, async ({ caller, body, signal }) => {
        const { act, node_ids, filter, failed_of } = body
        return planFor(
          caller,
          act,
          node_ids !== undefined
            ? [...new Set(node_ids)]
            : filter !== undefined
              ? await matching(filter)
              : await failedOf(failed_of!),
          signal,
        )
      })
      heavy(serverBulk, ({ caller, body, signal }) => begin(caller, body, signal))
    },
  }

  async function begin(
    caller: Caller,
    { act, items, expected }: Input<typeof serverBulk>['body'],
    signal: AbortSignal,
  ): Promise<{ operation: Operation }> {
    const may = canBegin(act.kind, items.length, expected)
    if (!may.ok) throw new Problem('invalid', may.reason, { expected: may.reason })
    const seen = new Map(items.map((one) => [one.id, one]))
    const plan = await planFor(
      caller,
      act,
      items.map(({ id }) => id),
      signal,
    )
    // A server that can be rebooted still can although a contact has changed what is known of it.
    // What is wiped, forgotten or promised is what the person has seen.
    const { asSeen } = bulkActs[act.kind]
    const isChanged = ({ id, version, commitment }: BulkItem) =>
      version !== seen.get(id)!.version ||
      (commitment?.version ?? undefined) !== seen.get(id)!.commitment_version
    const judged = plan.items.map((one) => ({
      ...one,
      // What is only for now, such as a server that fell silent after the plan, is waited for.
      refusal: asSeen && isChanged(one) ? changedSince : one.for_now === true ? null : one.reason,
    }))
    const refused = judged.filter((one) => one.refusal !== null)
    if (refused.length === judged.length)
      throw new Problem(
        'transition_refused',
        refused
          .slice(0, 3)
          .map(({ name, refusal }) => `${name}: ${refusal}`)
          .join('. '),
      )
    const at = new Date(clock.now()).toISOString()
    const { title } = bulkActs[act.kind]
    const { kind: _kind, ...given } = act
    const titleOf = operationTable.serverBulk.steps.act
    return inTransaction(db, async (tx) => {
      const operation = await operations.create(tx, caller, {
        kind: 'serverBulk',
        target: { id: null, name: bulkWords(act.kind, judged.length) },
        arguments: { ...given, applied_set: appliedSetOf(caller) },
        queue: bulkQueue,
        queueKey: randomUUID(),
        steps: judged.map(({ id, name, refusal }): NewStep => ({
          key: bulkStep(act.kind, id),
          title: titleOf({ act: title, name }),
          node_id: id,
          ...(refusal !== null && {
            before: {
              status: 'failed',
              attempt: 0,
              started_at: null,
              ended_at: at,
              reason: refusal,
            },
          }),
        })),
        audit: { after: { ...act, servers: judged.length, refused: refused.length } },
      })
      await store.insertItems(
        tx,
        operation.id,
        judged.map(({ id, version, cluster, commitment }) => ({
          server_id: id,
          version,
          cluster_id: cluster?.id ?? null,
          commitment_version: commitment?.version ?? null,
        })),
      )
      return { operation }
    })
  }
}
