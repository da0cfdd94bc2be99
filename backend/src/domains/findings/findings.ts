/**
 * Findings: what is wrong with servers, clusters, datacenters, channels and Steelyard itself. Judged
 * whenever something that they are judged from has changed, and at least every 15 s, because some
 * begin by the time alone.
 */
import {
  type Affected,
  type Finding,
  findingAcknowledge,
  findingAffected,
  findingGet,
  findingList,
} from '#contract/findings/findings.ts'
import { type FindingKind, type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { silenceOf, wakeAlerts } from '../alerts/api.ts'
import { eventChannel } from '../events/api.ts'
import type { Findings, StandingFinding } from './api.ts'
import { type FindingParts, judging } from './judging.ts'
import { figuresOf } from './figures.ts'
import { remediesOf } from './remedies.ts'
import { findingsThen } from './then/then.ts'
import * as store from './store.ts'
import * as storeGroups from './store-groups.ts'

/** Longest time between two passes, and shortest, in ms. Changes in between share a pass. */
const longestMs = 15_000
const shortestMs = 1_000
/** How long ended findings are kept. */
const keptMs = 730 * 24 * 3_600_000

const unknown = () => new Problem('not_found', 'There is no such finding')
const maySee = (caller: UserCaller, object: FindingObject): boolean =>
  permits(caller.scopes, findingObjects[object].read).ok

const visibleTo = (caller: UserCaller): FindingObject[] =>
  (Object.keys(findingObjects) as FindingObject[]).filter((object) => maySee(caller, object))

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

function present(row: store.FindingRow): Finding {
  const kind = row.kind as FindingKind
  const object = { kind: row.object_kind, id: row.object_id, name: row.object_name }
  return {
    id: row.id,
    kind,
    severity: row.severity,
    object,
    cluster:
      row.cluster_id !== null && row.cluster_name !== null
        ? { id: row.cluster_id, name: row.cluster_name }
        : null,
    datacenter:
      row.datacenter_id !== null && row.datacenter_code !== null
        ? { id: row.datacenter_id, code: row.datacenter_code }
        : null,
    since: row.since.toISOString(),
    reason: row.reason,
    remedies: remediesOf(kind, {
      id: row.object_id,
      finding: row.id,
      cluster: row.cluster_id,
      operation: row.operation_id,
    }),
    acknowledged:
      row.acknowledged_at === null || row.acknowledged_by === null
        ? null
        : {
            by: row.acknowledged_by,
            at: row.acknowledged_at.toISOString(),
            note: row.acknowledged_note,
          },
    affected: row.affected === 0 ? null : { kind: 'server', count: row.affected },
    caused_by: row.caused_by,
    incident_id: row.incident_id,
    ended_at: iso(row.ended_at),
    count: row.count,
  }
}

export function findings(parts: FindingParts): Findings & Domain {
  const { db, clock, listener, log, record } = parts
  const judge = judging(parts)
  const past = findingsThen(db, parts.history.past)

  const list = async (
    caller: UserCaller,
    query: Input<typeof findingList>['query'],
  ): Promise<Page<Finding>> => {
    const { rows, total } = await store.page(db, query, visibleTo(caller))
    return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
  }

  const get = async (caller: UserCaller, id: string): Promise<store.FindingRow> => {
    const row = await store.find(db, id)
    if (!row || !maySee(caller, row.object_kind)) throw unknown()
    return row
  }

  const standing = async (
    on: Db | Tx,
    rows: readonly store.FindingRow[],
  ): Promise<StandingFinding[]> => {
    const groups = rows.flatMap((row) =>
      row.kind === 'datacenter_silent' && row.ended_at === null ? [row.id] : [],
    )
    const silent = Map.groupBy(await store.affectedBy(on, groups), (row) => row.finding_id)
    return rows.map((row) => ({
      ...present(row),
      began_at: row.begins.at(-1) ?? row.since,
      begins: row.begins,
      silent: (silent.get(row.id) ?? []).map(({ server_id: id, name }) => ({ id, name })),
    }))
  }

  /** Ids of findings that are not sent because each of their servers is silenced. */
  const silencedTogether = async (silences: readonly SilenceTerms[]): Promise<string[]> => {
    const groups = silences.length === 0 ? [] : await store.openGroups(db)
    if (groups.length === 0) return []
    const { unwell } = await parts.servers.conditions()
    const clusters = new Map(unwell.map(({ id, cluster }) => [id, cluster]))
    const clusterOf = (id: string) => clusters.get(id) ?? null
    return (await standing(db, groups)).flatMap((one) =>
      silenceOf(one, silences, clusterOf) === undefined ? [] : [one.id],
    )
  }

  const acknowledge = (
    caller: UserCaller,
    id: string,
    { note = null }: { note?: string | undefined | null },
  ): Promise<Finding> =>
    inTransaction(db, async (tx) => {
      const row = await store.lock(tx, id)
      if (!row || !maySee(caller, row.object_kind)) throw unknown()
      demand(permits(caller.scopes, findingObjects[row.object_kind].write), 'forbidden')
      if (row.ended_at !== null) throw new Problem('finding_ended', 'The finding has ended already')
      const text = note === '' ? null : note
      await store.update(tx, id, {
        acknowledged_at: new Date(clock.now()),
        acknowledged_by: caller.email,
        acknowledged_note: text,
      })
      await record(tx, caller, {
        action: 'finding.acknowledged',
        target: {
          kind: row.object_kind,
          id: row.object_id,
          name: row.object_name,
        },
        after: { finding: id, kind: row.kind, ...(text !== null && { note: text }) },
        event: {
          name: 'finding.updated',
          object: { kind: 'finding', id },
          scope: findingObjects[row.object_kind].read,
        },
      })
      if (row.incident_id !== null) {
        await parts.incidents.acknowledged(tx, caller, row.incident_id, text)
        await store.setTaken(tx, row.incident_id, { by: caller.email, at: new Date(clock.now()) })
      }
      await wakeAlerts(parts.engine, tx)
      return present((await store.find(tx, id))!)
    })

  let shutdown = new AbortController()
  let running: Promise<void> | undefined
  let unlisten: () => void = () => undefined
  /** Ends the pause before the next pass. */
  let wake: () => void = () => undefined
  let isWoken = false

  /** Waits until something has changed, or until the longest time has passed. */
  const pause = async (): Promise<void> => {
    await clock.sleep(shortestMs, shutdown.signal)
    if (isWoken) return
    const woken = new AbortController()
    wake = () => woken.abort()
    await clock
      .sleep(longestMs - shortestMs, AbortSignal.any([shutdown.signal, woken.signal]))
      .catch(() => undefined)
  }
  const judgeAgain = async (): Promise<void> => {
    while (!shutdown.signal.aborted) {
      isWoken = false
      await judge().catch((error: unknown) =>
        log[isDatabaseAway(error) ? 'debug' : 'error']('findings.judging_failed', { error }),
      )
      await pause().catch(() => undefined)
    }
  }

  return {
    name: 'findings',
    figures: async () => figuresOf(await store.openCounts(db)),
    judge,
    taken: async (tx, incidentId, by) => void (await store.setTaken(tx, incidentId, by)),
    past,
    standing: async (on, ids) => standing(on, await store.openOr(on, ids)),
    async attention(caller, silences) {
      const all = { silences, together: await silencedTogether(silences) }
      const [{ acknowledged, silenced, total, silenced_incidents }, groups] = await Promise.all([
        storeGroups.counts(db, visibleTo(caller), all),
        storeGroups.groups(db, visibleTo(caller), all),
      ])
      const rows = await store.among(
        db,
        groups.flatMap(({ ids }) => ids),
      )
      const byId = new Map(rows.map((row) => [row.id, present(row)]))
      return {
        total,
        acknowledged,
        silenced,
        silenced_incidents,
        groups: groups.map(({ kind, severity, datacenter, count, since, ids }) => ({
          kind: kind as FindingKind,
          severity,
          datacenter,
          count,
          since: since.toISOString(),
          items: ids.flatMap((id) => byId.get(id) ?? []),
        })),
      }
    },
    routes(app) {
      const on = serve(app)
      on(findingList, ({ caller, query }) =>
        query.at === undefined
          ? list(signedIn(caller), query)
          : past.page(query, query.at, visibleTo(signedIn(caller))),
      )
      on(findingGet, async ({ caller, params }) => present(await get(signedIn(caller), params.id)))
      on(findingAffected, async ({ caller, params }) => {
        const { id } = await get(signedIn(caller), params.id)
        return {
          items: (await store.allAffected(db, id)).map((row): Affected => ({
            id: row.server_id,
            name: row.name,
            since: row.since.toISOString(),
            ended_at: iso(row.ended_at),
          })),
        }
      })
      on(findingAcknowledge, ({ caller, params, body }) =>
        acknowledge(signedIn(caller), params.id, body),
      )
    },
    async start() {
      if (running !== undefined) return
      shutdown = new AbortController()
      // Several changes share a pass.
      unlisten = listener.on(eventChannel, () => {
        isWoken = true
        wake()
      })
      running = judgeAgain()
    },
    async stop() {
      shutdown.abort()
      unlisten()
      await running
      running = undefined
    },
    removeOld: async () => void (await store.forget(db, new Date(clock.now() - keptMs))),
  }
}
