/** What people change of an incident: who has it, and its note. In the caller's transaction. */
import { findingObjects } from '#contract/findings/kinds.ts'
import type { Tx } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Change } from '../../record.ts'
import { wakeAlerts } from '../alerts/api.ts'
import * as store from './store.ts'

type Parts = Pick<Platform, 'clock' | 'engine' | 'record'>

/** The audit entry stands with the object, as that of a finding does. */
const changeOf = (
  { id, object_kind, object_id, object_name, title }: store.IncidentRow,
  action: 'incident.assigned' | 'incident.unassigned' | 'incident.noted',
  more: object = {},
): Change => ({
  action,
  target: { kind: object_kind, id: object_id, name: object_name },
  after: { incident: id, title, ...more },
  event: {
    name: 'incident.updated',
    object: { kind: 'incident', id },
    scope: findingObjects[object_kind].read,
  },
})

/** Assigns an incident; null: nobody has it any more. Returns it as it is then. */
export async function assign(
  { clock, engine, record }: Parts,
  tx: Tx,
  caller: UserCaller,
  row: store.IncidentRow,
  to: { readonly id: string; readonly name: string } | null,
): Promise<store.IncidentRow> {
  if (row.assigned_to === (to?.id ?? null)) return row
  const at = new Date(clock.now())
  const after = await store.update(tx, row.id, {
    assigned_to: to?.id ?? null,
    assigned_name: to?.name ?? null,
    assigned_by: to && caller.email,
    assigned_at: to && at,
  })
  const text =
    to === null
      ? `${row.assigned_name ?? 'Somebody'} does not have it any more.`
      : `Assigned to ${to.name}.`
  await store.addSteps(tx, [
    { incident_id: row.id, at, text, by_name: caller.email, object_kind: null },
  ])
  await record(
    tx,
    caller,
    to === null
      ? changeOf(row, 'incident.unassigned')
      : changeOf(row, 'incident.assigned', { to: to.name }),
  )
  await wakeAlerts(engine, tx)
  return after
}

/** Changes the note; null: none. Returns the incident as it is then. */
export async function noteOn(
  { clock, record }: Parts,
  tx: Tx,
  caller: UserCaller,
  row: store.IncidentRow,
  note: string | null,
): Promise<store.IncidentRow> {
  if (row.note === note) return row
  const after = await store.update(tx, row.id, { note })
  await store.addSteps(tx, [
    {
      incident_id: row.id,
      at: new Date(clock.now()),
      text: note === null ? 'The note was removed.' : `Note: ${note}`,
      by_name: caller.email,
      object_kind: null,
    },
  ])
  await record(tx, caller, changeOf(row, 'incident.noted', note === null ? {} : { note }))
  return after
}
