/** Incidents: reading them. What they are is stored with the findings (`keeping.ts`). */
import { type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import { effects } from '#contract/incidents/effects.ts'
import { type Incident, incidentGet, incidentList } from '#contract/incidents/incidents.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { remediesOf } from '../findings/api.ts'
import * as store from './store.ts'

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
    remedies:
      row.ended_at !== null
        ? []
        : remediesOf(worst?.kind ?? row.kind, {
            id: worst?.object.id ?? row.object_id,
            finding: worst?.finding_id ?? row.finding_id,
            cluster: worst === null ? row.cluster_id : worst.cluster_id,
            operation: worst === null ? row.operation_id : worst.operation_id,
          }),
    story: [],
  }
}

export function incidents({ db, clock }: Platform): Domain {
  const list = async (
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
  const get = async (caller: UserCaller, id: string): Promise<store.IncidentRow> => {
    const row = await store.find(db, id)
    if (!row || !maySee(caller, row.object_kind)) throw unknown()
    return row
  }
  return {
    name: 'incidents',
    routes(app) {
      const on = serve(app)
      on(incidentList, ({ caller, query }) => list(signedIn(caller), query))
      on(incidentGet, async ({ caller, params }) =>
        present(await get(signedIn(caller), params.id), signedIn(caller)),
      )
    },
    removeOld: async () => void (await store.forget(db, new Date(clock.now() - keptMs))),
  }
}
