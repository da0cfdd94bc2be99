/**
 * Judges servers, clusters, channels and Steelyard itself, and stores what is found. One pass judges
 * everything from memory and a few queries, so its cost doesn't grow with a query per server. One
 * process judges at a time (advisory lock). A pass is level-triggered: it compares what is judged
 * now with the open findings, so a lost wake-up or a crash only delays it.
 */
import { isDeepStrictEqual } from 'node:util'
import { findingKinds, findingObjects } from '#contract/findings/kinds.ts'
import { inTransaction, tryLock, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { channelCondition, endTold, wakeAlerts } from '../alerts/api.ts'
import type { Clusters, ShownFindings } from '../clusters/api.ts'
import type { OfferedVersions } from '../images/api.ts'
import type { History } from '../history/api.ts'
import type { Operations } from '../operations/api.ts'
import type { BehindServer, Patches } from '../patches/api.ts'
import type { ServerConditions, Servers } from '../servers/api.ts'
import type { Subnets } from '../subnets/api.ts'
import { backupCondition, snapshotConditions } from '../snapshots/api.ts'
import { causesFirst, withCauses } from './judge-causes.ts'
import { judgeCluster } from './judge-clusters.ts'
import { judgeDuplicates } from './judge-duplicates.ts'
import { judgeInstallation } from './judge-installation.ts'
import { isNewWave, judgeBehind, judgeServers } from './judge-servers.ts'
import { type Judged, keyOf } from './judged.ts'
import { type Kept, shownOf } from './shown.ts'
import type { EndedPart, IncidentKeeping, OpenPart } from './api.ts'
import * as store from './store.ts'

export interface FindingParts extends Pick<
  Platform,
  'db' | 'clock' | 'engine' | 'listener' | 'log' | 'record' | 'tell'
> {
  readonly servers: Pick<Servers, 'conditions' | 'showFindings'>
  readonly clusters: Pick<Clusters, 'conditions' | 'memberIds' | 'showFinding'>
  readonly operations: Pick<Operations, 'stoppedUpgrades' | 'failedScheduled' | 'haltedOperations'>
  readonly subnets: Pick<Subnets, 'exhausted'>
  readonly patches: Pick<Patches, 'shared'>
  readonly versions: Pick<OfferedVersions, 'unsupported'>
  readonly incidents: IncidentKeeping
  readonly history: Pick<History, 'past'>
}

/** What comes back within this time continues its finding, in ms. */
const flapMs = 3_600_000
/** The sentence counts begins from this number on. */
const fewestBegins = 3

/** The clock of another process may be ahead by so much, in ms. More is a fault of that clock. */
const mostAheadMs = 900_000

type Open = Awaited<ReturnType<typeof store.lockOpen>>[number]

/** The findings that a pass changed, and their clusters. */
interface Changes {
  readonly findings: Set<string>
  readonly clusters: Set<string>
}

/**
 * The time of a pass, in ms since 1970. Never earlier than the newest open finding, so that a
 * process with a slow clock doesn't end findings that depend on time.
 */
const timeOf = (now: number, open: readonly Open[]): number =>
  open.reduce((latest, { begins }) => {
    const at = begins.at(-1)?.getTime() ?? 0
    return at - now > mostAheadMs ? latest : Math.max(latest, at)
  }, now)

/** The acknowledgement of a finding that begins anew, which nobody has seen yet. */
const notAcknowledged = {
  acknowledged_at: null,
  acknowledged_by: null,
  acknowledged_note: null,
}

/** Adds how often a finding that comes and goes began within the last hour. */
const told = (reason: string, begins: number): string =>
  begins < fewestBegins ? reason : `${reason} It began ${begins} times within an hour.`

export function judging(parts: FindingParts) {
  const { db, clock, tell } = parts

  /** Everything that is wrong now, and what the clusters that are not being deleted show. */
  const judge = async (
    tx: Tx,
    conditions: ServerConditions,
    behind: readonly BehindServer[],
    together: ReadonlySet<string>,
    now: number,
  ): Promise<{
    readonly judged: Judged[]
    readonly standing: ReadonlyMap<string, ShownFindings>
    readonly controlPlanes: ReadonlySet<string>
  }> => {
    const found = [
      ...judgeServers(conditions, together, now),
      ...judgeDuplicates(conditions.duplicates),
      ...judgeBehind(behind),
      ...judgeInstallation(
        {
          object: await store.installation(tx),
          backups: await backupCondition(tx),
          channels: await channelCondition(tx),
          halted: await parts.operations.haltedOperations(tx),
        },
        now,
      ),
    ]
    const silent = new Map<string, Judged>()
    for (const one of found) {
      if (one.kind === 'server_unreachable') silent.set(one.object.id, one)
      // A server that fell silent with others shows their finding.
      for (const { id, since } of one.affected ?? []) silent.set(id, { ...one, since })
    }
    const clusters = await parts.clusters.conditions(tx)
    const standing = new Map(clusters.map((c) => [c.id, c.shown]))
    const controlPlanes = new Set(clusters.flatMap((c) => c.control_planes))
    if (clusters.length === 0) return { judged: found, standing, controlPlanes }
    const snapshots = await snapshotConditions(tx)
    const full = await parts.subnets.exhausted(tx)
    const stopped = await parts.operations.stoppedUpgrades(tx)
    const failed = new Map(
      (await parts.operations.failedScheduled(tx)).map((one) => [one.cluster_id, one]),
    )
    const members = await parts.clusters.memberIds(
      tx,
      stopped.map((u) => u.cluster_id),
    )
    const upgrades = Map.groupBy(stopped, (u) => u.cluster_id)
    const judged = [
      ...found,
      ...clusters.flatMap((cluster) =>
        judgeCluster(cluster, {
          snapshot: snapshots.get(cluster.id),
          upgrades: upgrades.get(cluster.id) ?? [],
          failed: failed.get(cluster.id),
          members,
          full: full.get(cluster.id) ?? [],
          unsupported: parts.versions.unsupported(
            cluster.talos_version,
            cluster.kubernetes_version,
          ),
          silent,
          now,
        }),
      ),
    ]
    const silentIn = Map.groupBy(
      conditions.unwell.filter(({ id }) => silent.has(id)),
      (server) => server.cluster?.id ?? null,
    )
    return {
      judged: withCauses(judged, {
        silent,
        silentIn,
        controlPlanes: new Map(clusters.map((c) => [c.id, new Set(c.control_planes)])),
      }),
      standing,
      controlPlanes,
    }
  }

  /** A cluster shows its worst finding, so its version grows with each change of its findings. */
  const announce = async (
    tx: Tx,
    how: 'created' | 'updated',
    { id, object_kind, object_id }: Open,
    changed: Changes,
  ) => {
    changed.findings.add(id)
    if (object_kind === 'cluster') changed.clusters.add(object_id)
    await tell(tx, system, {
      name: `finding.${how}`,
      object: { kind: 'finding', id },
      scope: findingObjects[object_kind].read,
    })
  }

  const columnsOf = (one: Judged, causes: ReadonlyMap<string, string>) => ({
    severity: findingKinds[one.kind].severity,
    object_name: one.object.name,
    cluster_id: one.cluster?.id ?? null,
    cluster_name: one.cluster?.name ?? null,
    datacenter_id: one.datacenter?.id ?? null,
    datacenter_code: one.datacenter?.code ?? null,
    operation_id: one.operationId ?? null,
    caused_by: one.causedBy === undefined ? null : (causes.get(keyOf(one.causedBy)) ?? null),
  })

  /** Stores what is new or different about one finding. */
  const keep = async (
    tx: Tx,
    one: Judged,
    {
      open,
      ended,
      known,
      causes,
      changed,
      now,
    }: {
      open?: Open
      ended?: Open
      /** Ids of servers that the open finding has named within the last hour. */
      known: ReadonlySet<string>
      causes: ReadonlyMap<string, string>
      changed: Changes
      now: number
    },
  ): Promise<Kept> => {
    const columns = columnsOf(one, causes)
    const recent = (open ?? ended)?.begins.filter((at) => now - at.getTime() < flapMs) ?? []
    if (open && isNewWave(one.affected ?? [], open.since, known)) {
      const begins = [...recent, new Date(now)]
      const reason = told(one.reason, begins.length)
      const since = one.since ?? new Date(now)
      await store.update(tx, open.id, {
        ...columns,
        ...notAcknowledged,
        reason,
        since,
        begins,
        count: open.count + 1,
        ended_at: null,
      })
      await announce(tx, 'updated', open, changed)
      return { id: open.id, since, reason, isAnew: true }
    }
    if (open) {
      const change = { ...columns, reason: told(one.reason, recent.length) }
      const differs = Object.entries(change).some(
        ([key, value]) => open[key as keyof Open] !== value,
      )
      if (differs) {
        await store.update(tx, open.id, change)
        await announce(tx, 'updated', open, changed)
      }
      return { id: open.id, since: open.since, reason: change.reason }
    }
    const since = one.since ?? new Date(now)
    const begins = [...recent, new Date(now)]
    const reason = told(one.reason, begins.length)
    if (ended) {
      const isOver = endTold(ended.ended_at!, ended.begins).getTime() <= now
      await store.update(tx, ended.id, {
        ...columns,
        // Its end was told, so whoever acknowledged it may not look at it any more.
        ...(isOver && notAcknowledged),
        reason,
        since,
        begins,
        count: ended.count + 1,
        ended_at: null,
      })
      await announce(tx, 'updated', ended, changed)
      return { id: ended.id, since, reason }
    }
    const row = await store.insert(tx, {
      ...columns,
      kind: one.kind,
      object_kind: one.object.kind,
      object_id: one.object.id,
      since,
      reason,
      begins,
    })
    await announce(tx, 'created', row, changed)
    return { id: row.id, since, reason }
  }

  /** Stores which servers a finding about several concerns. */
  const keepAffected = async (
    tx: Tx,
    id: string,
    { affected = [] }: Judged,
    before: readonly store.AffectedRow[],
    at: Date,
  ) => {
    const known = new Map(before.map((row) => [row.server_id, row]))
    const added = affected.filter((s) => known.get(s.id)?.since.getTime() !== s.since.getTime())
    const now = new Set(affected.map((s) => s.id))
    const gone = before.flatMap((row) => (now.has(row.server_id) ? [] : [row.server_id]))
    if (added.length > 0) await store.addAffected(tx, id, added)
    if (gone.length > 0) await store.endAffected(tx, id, gone, at)
  }

  /** Joins the open findings to incidents. */
  const keepIncidents = async (
    tx: Tx,
    {
      kept,
      causes,
      rows,
      over,
      controlPlanes,
      at,
    }: {
      kept: ReadonlyMap<Judged, Kept>
      causes: ReadonlyMap<string, string>
      /** The findings as they were before the pass. */
      rows: readonly Open[]
      over: readonly EndedPart[]
      controlPlanes: ReadonlySet<string>
      at: Date
    },
  ): Promise<void> => {
    const before = new Map(rows.map((row) => [row.id, row.incident_id]))
    const open = [...kept].map(([one, { id, since, reason, isAnew = false }]): OpenPart => ({
      id,
      kind: one.kind,
      object: one.object,
      cluster: one.cluster,
      datacenter: one.datacenter,
      reason,
      since,
      operationId: one.operationId ?? null,
      isControlPlane: one.object.kind === 'server' && controlPlanes.has(one.object.id),
      servers: one.affected?.length ?? 1,
      causes: [...(one.causedBy ? [one.causedBy] : []), ...(one.joins ?? [])].flatMap(
        (ref) => causes.get(keyOf(ref)) ?? [],
      ),
      cause: one.cause ?? null,
      isAnew,
      incidentId: before.get(id) ?? null,
    }))
    const incidents = await parts.incidents.keep(tx, open, over, at)
    await store.setIncidents(
      tx,
      [...incidents].filter(([id, incident]) => (before.get(id) ?? null) !== incident.id),
    )
  }

  const pass = async (tx: Tx): Promise<void> => {
    // The lock is held until the transaction ends. Another process that judges now sees the same.
    if (!(await tryLock(tx, 'steelyard findings'))) return
    // Read under the lock: what was read before may be older than what another process has judged.
    // Read before the findings are locked: this takes another connection of the pool, and all others
    // may be those of requests that wait for a finding.
    const conditions = await parts.servers.conditions()
    const behind = await parts.patches.shared.behind()
    const open = await store.lockOpen(tx)
    const now = timeOf(clock.now(), open)
    const at = new Date(now)
    const groups = open.flatMap((row) => (row.kind === 'datacenter_silent' ? [row.id] : []))
    const named = Map.groupBy(
      await store.affectedBy(tx, groups, new Date(now - flapMs)),
      (row) => row.finding_id,
    )
    const affected = new Map(
      [...named].map(([id, rows]) => [id, rows.filter((row) => row.ended_at === null)]),
    )
    const together = new Set([...affected.values()].flatMap((rows) => rows.map((r) => r.server_id)))
    const { judged, standing, controlPlanes } = await judge(tx, conditions, behind, together, now)
    const opened = new Map(open.map((row) => [keyOf({ ...row, objectId: row.object_id }), row]))
    const ended = judged.every((one) => opened.has(keyOf({ ...one, objectId: one.object.id })))
      ? new Map<string, Open>()
      : new Map(
          (await store.endedSince(tx, new Date(now - flapMs))).map((row) => [
            keyOf({ ...row, objectId: row.object_id }),
            row,
          ]),
        )
    const causes = new Map<string, string>()
    const kept = new Map<Judged, Kept>()
    const changed: Changes = { findings: new Set(), clusters: new Set() }
    // Causes come before what they cause, so that these can name them.
    for (const one of causesFirst(judged)) {
      const key = keyOf({ kind: one.kind, objectId: one.object.id })
      const [row, former] = [opened.get(key), ended.get(key)]
      const stored = await keep(tx, one, {
        ...(row && { open: row }),
        ...(former && { ended: former }),
        known: new Set(row && named.get(row.id)?.map(({ server_id }) => server_id)),
        causes,
        changed,
        now,
      })
      causes.set(key, stored.id)
      kept.set(one, stored)
      if (one.affected) await keepAffected(tx, stored.id, one, affected.get(stored.id) ?? [], at)
    }
    const grouped = new Map(
      judged.flatMap((one) =>
        (one.affected ?? []).map((s) => [
          s.id,
          causes.get(keyOf({ kind: one.kind, objectId: one.object.id }))!,
        ]),
      ),
    )
    const over: EndedPart[] = []
    for (const [key, row] of opened) {
      if (causes.has(key)) continue
      const group = row.kind === 'server_unreachable' ? grouped.get(row.object_id) : undefined
      await store.update(tx, row.id, { ended_at: at, ...(group && { caused_by: group }) })
      if (row.incident_id !== null)
        over.push({ incidentId: row.incident_id, intoId: group ?? null })
      const rest = affected.get(row.id) ?? []
      if (rest.length > 0)
        await store.endAffected(
          tx,
          row.id,
          rest.map((r) => r.server_id),
          at,
        )
      await announce(tx, 'updated', row, changed)
    }
    await keepIncidents(tx, {
      kept,
      causes,
      rows: [...opened.values(), ...ended.values()],
      over,
      controlPlanes,
      at,
    })
    const shown = shownOf(kept)
    for (const [id, before] of [...standing].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const wanted = {
        finding: shown.cluster.get(id) ?? null,
        upgrade: shown.upgrade.get(id) ?? null,
      }
      if (changed.clusters.has(id) || !isDeepStrictEqual(before, wanted))
        await parts.clusters.showFinding(tx, id, wanted)
    }
    await parts.servers.showFindings(tx, shown.server)
    if (changed.findings.size > 0) await wakeAlerts(parts.engine, tx)
  }

  return (): Promise<void> => inTransaction(db, pass)
}
