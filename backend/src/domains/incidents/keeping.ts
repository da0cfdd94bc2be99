/**
 * Stores incidents, in the transaction that stores the findings: what the findings are part of is
 * never older than the findings. Level-triggered, as they are: a crash only delays it.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { findingObjects } from '#contract/findings/kinds.ts'
import { incidentTitle, isWorse } from '#contract/incidents/effects.ts'
import { mostIncidentObjects } from '#contract/incidents/incidents.ts'
import { counted } from '#contract/words.ts'
import type { Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { slices } from '../../slices.ts'
import { endTold, tellAgain, wakeAlerts } from '../alerts/api.ts'
import type { EndedPart, IncidentKeeping, KeptIn, OpenPart } from '../findings/api.ts'
import { assign, noteOn } from './assigning.ts'
import { type Joined, joining } from './joining.ts'
import * as store from './store.ts'
import { over, told } from './story.ts'

/** What begins again within this time continues its incident, in ms. */
const againMs = 3_600_000

const nobody = { assigned_to: null, assigned_name: null, assigned_by: null, assigned_at: null }

const namesOf = (
  parts: readonly OpenPart[],
  of: (part: OpenPart) => readonly (string | undefined)[],
): string[] => [...new Set(parts.flatMap(of).filter((one) => one !== undefined))]

/** What an incident says, from its findings. */
function saidOf({ key, root, worst, effect, parts }: Joined) {
  const objects = new Map(parts.map(({ object }) => [object.id, object]))
  const servers = root.cause === null ? root.servers : objects.size
  return {
    key,
    title: incidentTitle({
      kind: root.kind,
      name: root.object.name,
      count: counted(servers, 'server'),
      cause: objects.size === 1 ? null : root.cause,
    }),
    effect,
    kind: root.kind,
    object_kind: root.object.kind,
    object_id: root.object.id,
    object_name: root.object.name,
    cluster_id: root.cluster?.id ?? null,
    cluster_name: root.cluster?.name ?? null,
    datacenter_id: root.datacenter?.id ?? null,
    datacenter_code: root.datacenter?.code ?? null,
    operation_id: root.operationId,
    finding_id: root.id,
    reason: root.reason,
    worst:
      worst === root
        ? null
        : {
            finding_id: worst.id,
            kind: worst.kind,
            object: worst.object,
            cluster_id: worst.cluster?.id ?? null,
            operation_id: worst.operationId,
            reason: worst.reason,
          },
    objects: [...objects.values()].slice(0, mostIncidentObjects),
    object_ids: [...objects.keys()],
    clusters: namesOf(parts, ({ cluster }) => [cluster?.id, cluster?.name]),
    datacenters: namesOf(parts, ({ datacenter }) => [datacenter?.id, datacenter?.code]),
    parts: parts.length,
  }
}

/** The incident as it is to be stored; `before`: as it is stored. */
function wanted(
  joined: Joined,
  before: store.IncidentRow | undefined,
  at: Date,
): store.IncidentRow {
  const said = saidOf(joined)
  if (before === undefined)
    return {
      ...said,
      ...nobody,
      id: randomUUID(),
      since: joined.root.since,
      begins: [at],
      ended_at: null,
      merged_into: null,
      note: null,
    }
  // Whoever has it knows nothing of what has happened since.
  if (before.ended_at === null) return { ...before, ...said, ...(joined.root.isAnew && nobody) }
  // Its end was told, so whoever had it may not look at it any more.
  const isOver = endTold(before.ended_at, before.begins).getTime() <= at.getTime()
  const recent = before.begins.filter((one) => at.getTime() - one.getTime() < againMs)
  return {
    ...before,
    ...said,
    ...(isOver && nobody),
    since: joined.root.since,
    begins: [...recent, at],
    ended_at: null,
    merged_into: null,
  }
}

const sayDifferent = (one: store.IncidentRow, before: store.IncidentRow): boolean =>
  Object.entries(one).some(
    ([column, value]) => !isDeepStrictEqual(value, before[column as keyof store.IncidentRow]),
  )

export const keeping = (
  parts: Pick<Platform, 'clock' | 'engine' | 'record' | 'tell'>,
): IncidentKeeping => ({
  async acknowledged(tx, caller, incidentId, note) {
    const row = await store.lock(tx, incidentId)
    if (row === undefined || row.ended_at !== null) return
    const to = { id: caller.userId, name: caller.email }
    await assign(parts, tx, caller, row, to)
    if (note !== null) await noteOn(parts, tx, caller, row, note)
  },

  keep: (...args) => keepAll(parts, ...args),
})

async function keepAll(
  parts: Pick<Platform, 'engine' | 'tell'>,
  tx: Tx,
  open: readonly OpenPart[],
  ended: readonly EndedPart[],
  at: Date,
) {
  const known = await store.lockRecent(tx, new Date(at.getTime() - againMs))
  const { joined, over: gone } = await joining(open, ended, known)
  const slice = slices()
  const byId = new Map(known.map((row) => [row.id, row]))
  const put: store.IncidentRow[] = []
  const steps: store.NewStep[] = []
  const isNew = new Set<string>()
  const again: string[] = []
  const idOf = new Map<Joined, string>()
  const incidents = new Map<string, KeptIn>()
  for (const one of joined) {
    if (slice.isOver()) await slice.next()
    const before = one.incidentId === null ? undefined : byId.get(one.incidentId)
    const row = wanted(one, before, at)
    idOf.set(one, row.id)
    const { assigned_by: by, assigned_at } = row
    const taken = by === null || assigned_at === null ? null : { by, at: assigned_at }
    for (const { id } of one.parts) incidents.set(id, { id: row.id, taken })
    if (before === undefined) isNew.add(row.id)
    steps.push(...told(one, before, at).map((step) => ({ ...step, incident_id: row.id })))
    if (before === undefined || sayDifferent(row, before)) put.push(row)
    // It takes more, or more has happened: whoever was told of it is told again.
    if (before?.ended_at === null && (one.root.isAnew || isWorse(one.effect, before.effect)))
      again.push(row.id)
  }
  const ending = gone.map(({ id, into }) => ({
    id,
    into: into === null ? null : idOf.get(into)!,
  }))
  // What is merged names an incident that must be there, and its key may be that of another now.
  if (ending.length > 0)
    await store.end(
      tx,
      ending.map(({ id }) => ({ id, into: null })),
      at,
    )
  await store.put(tx, put)
  const merged = ending.filter(({ into }) => into !== null)
  if (merged.length > 0) {
    await store.end(tx, merged, at)
    await store.follow(tx, merged)
  }
  if (again.length > 0) await tellAgain(tx, again)
  if (put.length + ending.length > 0) await wakeAlerts(parts.engine, tx)
  const titles = new Map(put.map(({ id, title }) => [id, title]))
  await store.addSteps(tx, [
    ...steps,
    ...ending.map(({ id, into }) => ({
      ...over(
        byId.get(id)!.since,
        at,
        into === null ? null : (titles.get(into) ?? byId.get(into)!.title),
      ),
      incident_id: id,
    })),
  ])
  await parts.tell(tx, system, [
    ...put.map(({ id, object_kind }) => ({
      name: isNew.has(id) ? ('incident.created' as const) : ('incident.updated' as const),
      object: { kind: 'incident' as const, id },
      scope: findingObjects[object_kind].read,
    })),
    ...ending.map(({ id }) => ({
      name: 'incident.updated' as const,
      object: { kind: 'incident' as const, id },
      scope: findingObjects[byId.get(id)!.object_kind].read,
    })),
  ])
  return incidents
}
