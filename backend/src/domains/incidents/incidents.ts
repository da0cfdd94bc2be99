/** Incidents: reading them. What they are is stored with the findings (`keeping.ts`). */
import { type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import { effects } from '#contract/incidents/effects.ts'
import {
  type Incident,
  incidentAssign,
  incidentGet,
  incidentList,
  incidentUpdate,
  mostStorySteps,
  type StoryStep,
} from '#contract/incidents/incidents.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { type Findings, remediesOf } from '../findings/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Incidents, StandingIncident } from './api.ts'
import type { Users } from '../users/api.ts'
import { assign, noteOn } from './assigning.ts'
import * as store from './store.ts'
import { tried } from './story.ts'

/** How long ended incidents are kept, as their findings are. */
const keptMs = 730 * 24 * 3_600_000

const unknown = () => new Problem('not_found', 'There is no such incident')
const maySee = (caller: UserCaller, object: FindingObject): boolean =>
  permits(caller.scopes, findingObjects[object].read).ok
const visibleTo = (caller: UserCaller): FindingObject[] =>
  (Object.keys(findingObjects) as FindingObject[]).filter((object) => maySee(caller, object))

/** The incident as the caller may read it. */
function present(row: store.IncidentRow, caller: UserCaller): Incident {
  const worst = row.worst !== null && maySee(caller, row.worst.object.kind) ? row.worst : null
  const { assigned_to, assigned_name, assigned_by, assigned_at } = row
  return {
    id: row.id,
    title: row.title,
    effect: row.effect,
    severity: effects[row.effect].severity,
    kind: row.kind,
    object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
    cluster:
      row.cluster_id !== null && row.cluster_name !== null
        ? { id: row.cluster_id, name: row.cluster_name }
        : null,
    datacenter:
      row.datacenter_id !== null && row.datacenter_code !== null
        ? { id: row.datacenter_id, code: row.datacenter_code }
        : null,
    reason: row.reason,
    finding_id: row.finding_id,
    worst: worst && {
      finding_id: worst.finding_id,
      kind: worst.kind,
      object: worst.object,
      reason: worst.reason,
    },
    since: row.since.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    objects: row.objects.filter(({ kind }) => maySee(caller, kind)),
    parts: { count: row.parts },
    assigned:
      assigned_to === null || assigned_name === null || assigned_by === null || assigned_at === null
        ? null
        : {
            to: { id: assigned_to, name: assigned_name },
            by: assigned_by,
            at: assigned_at.toISOString(),
          },
    note: row.note,
    remedies: remediesFor(row, worst),
    story: [],
  }
}

/** Whether a remedy only shows more, and mends nothing. The health of a cluster has its upgrade. */
const shows = ({ action, title }: Incident['remedies'][number]): boolean =>
  action === 'server' ||
  action === 'servers' ||
  action === 'timeline' ||
  (action === 'health' && title.startsWith('Open '))

/** What mends the finding that takes the most, as far as it may be named. */
const remediesFor = (
  { ended_at, kind, object_id, finding_id, cluster_id, operation_id }: store.IncidentRow,
  worst: store.IncidentRow['worst'],
): Incident['remedies'] =>
  ended_at !== null
    ? []
    : remediesOf(worst?.kind ?? kind, {
        id: worst?.object.id ?? object_id,
        finding: worst?.finding_id ?? finding_id,
        cluster: worst === null ? cluster_id : worst.cluster_id,
        operation: worst === null ? operation_id : worst.operation_id,
      }).filter((remedy) => !shows(remedy))

/** Operations that a story names. */
const mostTried = 30

interface IncidentParts extends Pick<Platform, 'db' | 'clock' | 'engine' | 'record'> {
  readonly findings: Pick<Findings, 'standing' | 'taken'>
  readonly operations: Pick<Operations, 'about'>
  readonly users: Pick<Users, 'lock'>
}

/** What messages ask of incidents. */
const forMessages = (parts: Pick<IncidentParts, 'findings'>): Incidents => ({
  async standing(on, ids) {
    const rows = await store.openOr(on, ids)
    const findings = Map.groupBy(
      await parts.findings.standing(
        on,
        rows.map(({ id }) => id),
      ),
      (one) => one.incident_id,
    )
    return rows.flatMap((row): StandingIncident[] => {
      const all = findings.get(row.id) ?? []
      const own = row.ended_at === null ? all.filter((one) => one.ended_at === null) : all
      const cause = own.find(({ id }) => id === row.finding_id) ?? own[0]
      return cause === undefined
        ? []
        : [
            {
              id: row.id,
              title: row.title,
              effect: row.effect,
              severity: effects[row.effect].severity,
              since: row.since.toISOString(),
              ended_at: row.ended_at?.toISOString() ?? null,
              remedies: remediesFor(row, row.worst),
              cause,
              worst: row.worst && { object: row.worst.object.kind, reason: row.worst.reason },
              parts: own,
              begins: row.begins,
              isAssigned: row.assigned_to !== null,
              merged_into: row.merged_into,
            },
          ]
    })
  },
  told: (tx, all, at) =>
    store.addSteps(
      tx,
      all.map(({ id, text }) => ({
        incident_id: id,
        at,
        text,
        by_name: null,
        object_kind: null,
      })),
    ),
})

const list = async (
  db: Db,
  caller: UserCaller,
  query: Input<typeof incidentList>['query'],
): Promise<Page<Incident>> => {
  const { rows, total } = await store.page(db, query, visibleTo(caller))
  return {
    items: rows.map((row) => present(row, caller)),
    page: query.page,
    per_page: query.per_page,
    total,
  }
}

export function incidents(parts: IncidentParts): Incidents & Domain {
  const { db, clock, operations } = parts

  const get = async (caller: UserCaller, id: string): Promise<store.IncidentRow> => {
    const row = await store.find(db, id)
    if (!row || !maySee(caller, row.object_kind)) throw unknown()
    return row
  }
  /** What the caller may read of the story, in the order of time. */
  const storyOf = async (
    caller: UserCaller,
    { id, object_ids, since, ended_at }: store.IncidentRow,
  ): Promise<StoryStep[]> => {
    const [steps, tries] = await Promise.all([
      store.stepsOf(db, id),
      operations.about(
        caller.scopes,
        object_ids,
        since,
        ended_at ?? new Date(clock.now()),
        mostTried,
      ),
    ])
    return [
      ...steps.flatMap(({ at, text, by_name, object_kind }) =>
        object_kind !== null && !maySee(caller, object_kind)
          ? []
          : [{ at: at.toISOString(), text, by: by_name }],
      ),
      ...tries.map(tried),
    ]
      .toSorted((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1))
      .slice(-mostStorySteps)
  }
  const whole = async (caller: UserCaller, row: store.IncidentRow): Promise<Incident> => ({
    ...present(row, caller),
    story: await storyOf(caller, row),
  })
  /** Changes an incident under its lock. */
  const change = async (
    caller: UserCaller,
    id: string,
    by: (tx: Tx, row: store.IncidentRow) => Promise<store.IncidentRow>,
  ): Promise<Incident> => {
    const after = await inTransaction(db, async (tx) => {
      const row = await store.lock(tx, id)
      if (!row || !maySee(caller, row.object_kind)) throw unknown()
      demand(permits(caller.scopes, findingObjects[row.object_kind].write), 'forbidden')
      return by(tx, row)
    })
    return whole(caller, after)
  }
  const assignTo = (
    caller: UserCaller,
    id: string,
    userId: string | null | undefined,
  ): Promise<Incident> =>
    change(caller, id, async (tx, row) => {
      if (row.ended_at !== null)
        throw new Problem('incident_ended', 'The incident has ended already')
      const user = userId === null ? null : await parts.users.lock(tx, userId ?? caller.userId)
      if (user === undefined || user?.disabled_at)
        throw new Problem('invalid', 'There is no such active user', {
          user_id: 'There is no such active user',
        })
      const after = await assign(parts, tx, caller, row, user && { id: user.id, name: user.email })
      const { assigned_by: by, assigned_at: at } = after
      await parts.findings.taken(tx, id, by === null || at === null ? null : { by, at })
      return after
    })

  return {
    name: 'incidents',
    ...forMessages(parts),
    routes(app) {
      const on = serve(app)
      on(incidentList, ({ caller, query }) => list(db, signedIn(caller), query))
      on(incidentGet, async ({ caller, params }) =>
        whole(signedIn(caller), await get(signedIn(caller), params.id)),
      )
      on(incidentAssign, ({ caller, params, body }) =>
        assignTo(signedIn(caller), params.id, body.user_id),
      )
      on(incidentUpdate, ({ caller, params, body }) =>
        change(signedIn(caller), params.id, (tx, row) =>
          noteOn(parts, tx, signedIn(caller), row, body.note === '' ? null : body.note),
        ),
      )
    },
    removeOld: async () => void (await store.forget(db, new Date(clock.now() - keptMs))),
  }
}
