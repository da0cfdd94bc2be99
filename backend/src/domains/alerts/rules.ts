/** Use cases of alert rules and silences. */
import { randomUUID } from 'node:crypto'
import {
  type AlertRule,
  type AlertRuleChange,
  alertRuleLimit,
  type alertRuleList,
  type NewAlertRule,
} from '#contract/alerts/rules.ts'
import {
  mostSilences,
  type NewSilence,
  type Silence,
  type silenceList,
  type SilenceTerms,
  stateOf,
  tooManySilences,
  wrongLength,
} from '#contract/alerts/silences.ts'
import { Problem } from '#contract/errors.ts'
import { type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import { type Db, inTransaction, lock, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName, type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import type { Clusters } from '../clusters/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import { installation } from '../incidents/api.ts'
import type { Servers } from '../servers/api.ts'
import { wakeAlerts } from './api.ts'
import * as store from './store.ts'

type On = Db | Tx
export type RuleParts = Pick<Platform, 'db' | 'clock' | 'engine' | 'record'> & {
  readonly datacenters: Pick<Datacenters, 'find' | 'names'>
  readonly clusters: Pick<Clusters, 'find'>
  readonly servers: Pick<Servers, 'forPlan'>
}

interface Lists {
  readonly datacenter_ids: readonly string[]
  readonly cluster_ids: readonly string[]
  readonly channel_ids?: readonly string[] | null
}
type Asked = { readonly [K in keyof Lists]?: Lists[K] | undefined }
type Names = (id: string) => string
const gone = 'removed'

/** The terms of a silence, as the contract's functions read them. */
export const termsOf = (row: store.SilenceRow): SilenceTerms => ({
  ...row,
  object: row.object_id === null ? null : { id: row.object_id },
  starts_at: row.starts_at.toISOString(),
  ends_at: row.ends_at.toISOString(),
})

const demandMay = ({ scopes }: UserCaller, object: FindingObject | null): void => {
  if (object !== null) demand(permits(scopes, findingObjects[object].write), 'forbidden')
}

export function rules({ db, clock, engine, record, datacenters, clusters, servers }: RuleParts) {
  const now = () => new Date(clock.now())

  /** The names of everything that these rows list. */
  const namesOf = async (on: On, rows: readonly Lists[]): Promise<Names> => {
    const names = new Map<string, string>()
    if (rows.some((row) => row.datacenter_ids.length > 0))
      for (const { id, code } of await datacenters.names(on)) names.set(id, code)
    for (const id of new Set(rows.flatMap((row) => row.cluster_ids))) {
      const cluster = await clusters.find(on, id)
      if (cluster) names.set(id, cluster.name)
    }
    if (rows.some((row) => row.channel_ids))
      for (const { id, name } of await store.channels(on)) names.set(id, name)
    return (id) => names.get(id) ?? gone
  }

  /** @throws Problem invalid if a list names an object that doesn't exist */
  const demandAll = async (on: On, lists: Asked): Promise<void> => {
    const refuse = (field: keyof Lists, noun: string): never => {
      const why = `There is no such ${noun}`
      throw new Problem('invalid', why, { [field]: why })
    }
    for (const id of lists.datacenter_ids ?? [])
      if (!(await datacenters.find(on, id))) refuse('datacenter_ids', 'datacenter')
    for (const id of lists.cluster_ids ?? [])
      if (!(await clusters.find(on, id))) refuse('cluster_ids', 'cluster')
    for (const id of lists.channel_ids ?? [])
      if (!(await store.findChannel(on, id))) refuse('channel_ids', 'channel')
  }

  const named = (ids: readonly string[], nameOf: Names) =>
    ids.map((id) => ({ id, name: nameOf(id) }))

  const presentRule = (
    { datacenter_ids, cluster_ids, channel_ids, ...row }: store.RuleRow,
    nameOf: Names,
  ): AlertRule =>
    ({
      ...row,
      datacenters: named(datacenter_ids, nameOf),
      clusters: named(cluster_ids, nameOf),
      channels: channel_ids === null ? null : named(channel_ids, nameOf),
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }) as AlertRule

  const presentSilence = (row: store.SilenceRow, nameOf: Names): Silence => {
    const { datacenter_ids, cluster_ids, object_kind, object_id, object_name, made_by, ...rest } =
      row
    return {
      ...rest,
      datacenters: named(datacenter_ids, nameOf),
      clusters: named(cluster_ids, nameOf),
      object:
        object_id === null
          ? null
          : { kind: object_kind as FindingObject, id: object_id, name: object_name! },
      by: made_by,
      state: stateOf(termsOf(row), now()),
      starts_at: row.starts_at.toISOString(),
      ends_at: row.ends_at.toISOString(),
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    } as Silence
  }

  const takenOr = (error: unknown): unknown => {
    if (violatedConstraint(error) !== 'alert_rule_name') return error
    const { taken } = nameSentences('Rule')
    return new Problem('name_taken', taken, { name: taken })
  }

  const objectName = async (
    tx: Tx,
    { kind, id }: { kind: FindingObject; id: string },
  ): Promise<string> => {
    const name =
      kind === 'server'
        ? (await servers.forPlan(tx, [id]))[0]?.name
        : kind === 'cluster'
          ? (await clusters.find(tx, id))?.name
          : kind === 'datacenter'
            ? (await datacenters.find(tx, id))?.code
            : kind === 'channel'
              ? (await store.findChannel(tx, id))?.name
              : [await installation(tx)].find((one) => one.id === id)?.name
    if (name !== undefined) return name
    const why = `There is no such ${kind}`
    throw new Problem('invalid', why, { object: why })
  }

  return {
    async list(query: Input<typeof alertRuleList>['query']): Promise<Page<AlertRule>> {
      const { rows, total } = await store.rulePage(db, query)
      const nameOf = await namesOf(db, rows)
      const items = rows.map((row) => presentRule(row, nameOf))
      return { items, page: query.page, per_page: query.per_page, total }
    },

    async get(id: string): Promise<AlertRule> {
      const row = existing(await store.findRule(db, id), 'rule')
      return presentRule(row, await namesOf(db, [row]))
    },

    async create(caller: Caller, asked: NewAlertRule): Promise<AlertRule> {
      try {
        return await inTransaction(db, async (tx) => {
          await demandAll(tx, asked)
          await demandRoom(tx, 'alert_rule', alertRuleLimit)
          const at = now()
          const row = await store.insertRule(tx, {
            id: randomUUID(),
            ...asked,
            created_at: at,
            updated_at: at,
          })
          const made = presentRule(row, await namesOf(tx, [row]))
          await record(tx, caller, {
            action: 'alert_rule.created',
            target: { kind: 'alert_rule', id: made.id, name: made.name },
            after: made,
            event: { version: made.version },
          })
          await wakeAlerts(engine, tx)
          return made
        })
      } catch (error) {
        throw takenOr(error)
      }
    },

    async update(
      caller: Caller,
      id: string,
      change: AlertRuleChange,
      ifMatch: Versions,
    ): Promise<AlertRule> {
      try {
        return await inTransaction(db, async (tx) => {
          const before = existing(await store.lockRule(tx, id), 'rule', ifMatch)
          await demandAll(tx, change)
          const row = await store.updateRule(tx, id, { ...change, updated_at: now() })
          const nameOf = await namesOf(tx, [before, row])
          const after = presentRule(row, nameOf)
          await record(tx, caller, {
            action: 'alert_rule.updated',
            target: { kind: 'alert_rule', id, name: after.name },
            before: presentRule(before, nameOf),
            after,
            event: { version: after.version },
          })
          await wakeAlerts(engine, tx)
          return after
        })
      } catch (error) {
        throw takenOr(error)
      }
    },

    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lockRule(tx, id), 'rule', ifMatch)
        const before = presentRule(row, await namesOf(tx, [row]))
        await store.remove(tx, 'alert_rule', id)
        await record(tx, caller, {
          action: 'alert_rule.removed',
          target: { kind: 'alert_rule', id, name: row.name },
          before,
          event: { version: row.version + 1 },
        })
      }),

    async silences(query: Input<typeof silenceList>['query']): Promise<Page<Silence>> {
      const { rows, total } = await store.silencePage(db, query, now())
      const nameOf = await namesOf(db, rows)
      const items = rows.map((row) => presentSilence(row, nameOf))
      return { items, page: query.page, per_page: query.per_page, total }
    },

    async silence(id: string): Promise<Silence> {
      const row = existing(await store.findSilence(db, id), 'silence')
      return presentSilence(row, await namesOf(db, [row]))
    },

    /** @throws Problem forbidden if the caller may not change the silenced object */
    silenceFor: (
      caller: UserCaller,
      { object, starts_at, ends_at, repeats, ...asked }: NewSilence,
    ): Promise<Silence> =>
      inTransaction(db, async (tx) => {
        demandMay(caller, object?.kind ?? null)
        await demandAll(tx, asked)
        const at = now()
        const [from, to] = [starts_at === undefined ? at : new Date(starts_at), new Date(ends_at)]
        const why = to <= at ? 'The end is in the past' : wrongLength(from.getTime(), to.getTime())
        if (why !== null) throw new Problem('invalid', why, { ends_at: why })
        await lock(tx, 'silences')
        if ((await store.silencesAfter(tx, at)).length >= mostSilences)
          throw new Problem('conflict', tooManySilences)
        const row = await store.insertSilence(tx, {
          id: randomUUID(),
          ...asked,
          ...(repeats && { repeats: JSON.stringify(repeats) }),
          object_kind: object?.kind ?? null,
          object_id: object?.id ?? null,
          object_name: object ? await objectName(tx, object) : null,
          starts_at: from,
          ends_at: to,
          made_by: callerName(caller),
          created_at: at,
          updated_at: at,
        })
        const made = presentSilence(row, await namesOf(tx, [row]))
        await record(tx, caller, {
          action: 'silence.created',
          target: { kind: 'silence', id: made.id, name: made.object?.name ?? made.note },
          after: made,
          event: { version: made.version },
        })
        await wakeAlerts(engine, tx)
        return made
      }),

    /** @throws Problem forbidden if the caller may not change the silenced object */
    endSilence: (caller: UserCaller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lockSilence(tx, id), 'silence', ifMatch)
        demandMay(caller, row.object_kind)
        const before = presentSilence(row, await namesOf(tx, [row]))
        await store.remove(tx, 'silence', id)
        await record(tx, caller, {
          action: 'silence.removed',
          target: { kind: 'silence', id, name: before.object?.name ?? before.note },
          before,
          event: { version: row.version + 1 },
        })
        await wakeAlerts(engine, tx)
      }),
  }
}
