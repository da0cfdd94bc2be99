/**
 * Imports subnets from CSV. Every row is checked, also against the database and the other rows;
 * nothing is written unless all rows are valid.
 */
import * as z from 'zod/mini'
import type { Answer, Input } from '#contract/operation.ts'
import { Problem } from '#contract/errors.ts'
import { type subnetImport, subnetLimit } from '#contract/network/subnets.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import type { ServerAddress, Servers } from '../servers/api.ts'
import type { CsvRecord } from '../../csv/csv.ts'
import { readTable } from '../../csv/table.ts'
import { neighbours, overlapsAmong } from './neighbours.ts'
import { audited, columnsOf, handsOutSame, isSame, type Wanted } from './present.ts'
import {
  containsEndpoint,
  containsServer,
  type Finding,
  fixedWhileAssigned,
  shadowedBy,
  takesUsed,
} from './rules.ts'
import * as store from './store.ts'
import * as shown from './store-read.ts'
import { type ReadRow, readRow, subnetColumns } from './csv-rows.ts'

type Asked = Input<typeof subnetImport>['body']
type Imported = Answer<typeof subnetImport>
type Trouble = Imported['problems'][number]

export interface SubnetParts {
  readonly servers: Pick<Servers, 'addresses'>
  /**
   * Wakes the clusters of changed subnets when the transaction commits. Throws Problem
   * `held_by_files` if one of them is changed only by its files.
   */
  readonly pools: { changed(tx: Tx, caller: Caller, subnetIds: readonly string[]): Promise<void> }
}
type GoodRow = ReadRow & { readonly wanted: Wanted }
const isGood = (row: ReadRow): row is GoodRow => row.wanted !== null
const doesOf = ({ before, wanted }: GoodRow): Imported['rows'][number]['does'] =>
  before === null ? 'create' : isSame(before, wanted) ? 'nothing' : 'update'

/** Rows per statement: a row has a dozen parameters, and a statement may have at most 65,535. */
const batch = 500

/** @param parts `written`: time and author of the written rows */
export function importing(
  parts: Platform &
    SubnetParts & { written: (caller: Caller) => { updated_at: Date; updated_by: string } },
) {
  const { db, record, servers, pools, written } = parts

  /**
   * Checks that need other rows or the database. Names and CIDRs are checked in all rows, so that
   * no error hides another; the rest only in valid rows.
   */
  const judge = async (
    tx: Tx,
    rows: readonly ReadRow[],
    subnets: readonly shown.SubnetRow[],
    held: readonly ServerAddress[],
  ): Promise<Trouble[]> => {
    const troubles: Trouble[] = []
    const wrong = (line: number, column: string | null, message: string) =>
      void troubles.push({ line, column, message })
    const near = neighbours(held, await store.clusterNetworks(tx))
    const changed = new Set(rows.filter(isGood).map((r) => r.before?.id))
    const standing = subnets.filter((s) => !changed.has(s.id))

    const firstById = new Map<string, number>()
    const namesStanding = new Set(standing.map((s) => s.name))
    const firstByName = new Map<string, number>()
    for (const { line, before, name, wanted } of rows) {
      const same = before && firstById.get(before.id)
      if (wanted && typeof same === 'number')
        wrong(line, 'id', `Line ${same} is about the same subnet`)
      if (wanted && before) firstById.set(before.id, same ?? line)
      if (name === null) continue
      const namesake = firstByName.get(name)
      if (namesStanding.has(name))
        wrong(line, 'name', 'Subnet name already exists. Please choose a different name.')
      else if (namesake !== undefined) wrong(line, 'name', `Line ${namesake} has the same name`)
      firstByName.set(name, namesake ?? line)
    }
    for (const { line, before, wanted } of rows.filter(isGood)) {
      if (before && isSame(before, wanted)) continue
      const findings: (Finding | undefined)[] = [
        shadowedBy(wanted, near),
        containsServer(wanted, before, near),
        containsEndpoint(wanted, before, near),
      ]
      if (before && before.clusters.length > 0) {
        findings.unshift(fixedWhileAssigned(before, wanted))
        if (!handsOutSame(before, wanted))
          findings.push(takesUsed(wanted, before, before.clusters, await store.uses(tx, before.id)))
      }
      for (const finding of findings) if (finding) wrong(line, finding.field, finding.message)
    }
    for (const { line, message } of overlapsAmong(rows, standing)) wrong(line, 'cidr', message)
    return troubles
  }

  const write = async (tx: Tx, caller: Caller, rows: readonly GoodRow[]): Promise<void> => {
    const stamp = written(caller)
    // Two subnets may swap names or space, so constraints are checked after all writes.
    await store.deferConstraints(tx)
    const updates = rows.filter((r) => doesOf(r) === 'update')
    for (const { before, wanted } of updates)
      await store.update(tx, before!.id, { ...columnsOf(wanted), ...stamp })
    const assigned = updates.filter(
      ({ before, wanted }) => before!.clusters.length > 0 && !handsOutSame(before!, wanted),
    )
    await pools.changed(
      tx,
      caller,
      assigned.map((r) => r.before!.id),
    )
    const creations = rows.filter((r) => r.before === null).map((r) => r.wanted)
    const ids: string[] = []
    for (let from = 0; from < creations.length; from += batch) {
      const some = creations.slice(from, from + batch)
      const fresh = some.map((wanted) => ({
        ...columnsOf(wanted),
        datacenter_id: wanted.datacenter_id,
        created_at: stamp.updated_at,
        ...stamp,
      }))
      const made = await store.insert(tx, fresh)
      ids.push(...made.map((m) => m.id))
    }
    await store.demandConstraints(tx)
    const before = new Map(updates.map((r) => [r.before!.id, r.before!]))
    const after = await shown.byIds(tx, [...ids, ...before.keys()])
    const changes = after.map((row) => {
      const old = before.get(row.id)
      const target = { kind: 'subnet', id: row.id, name: row.name }
      const action = old ? ('subnet.updated' as const) : ('subnet.created' as const)
      return {
        action,
        target,
        ...(old && { before: audited(old) }),
        after: audited(row),
        event: { version: row.version },
      }
    })
    await record(tx, caller, changes)
  }

  /** Ids of the subnets that the file may change. Their rows are locked during the import. */
  const idsIn = (body: readonly CsvRecord[], columns: readonly string[]): string[] =>
    body
      .map(({ cells }) => cells[columns.indexOf('id')]?.trim() ?? '')
      .filter((id) => z.uuid().safeParse(id).success)

  /**
   * Explains a constraint that was violated in spite of the checks: a datacenter was removed, or a
   * subnet was written without the lock.
   */
  const explained = (error: unknown): unknown =>
    ['subnet_name', 'subnet_overlap', 'subnet_datacenter_id_fkey'].includes(
      violatedConstraint(error) ?? '',
    )
      ? new Problem(
          'conflict',
          'Something else was changed at the same moment. Nothing was written: please import the file again.',
        )
      : error

  /**
   * @throws Problem invalid if the file is too large, conflict if a concurrent change interfered
   */
  return async (caller: Caller, { csv, dry_run }: Asked): Promise<Imported> => {
    const table = readTable(csv, subnetColumns)
    if ('problems' in table) return { written: false, rows: [], problems: table.problems }
    const { columns, body, unreadable } = table

    const held = await servers.addresses()
    const whole = inTransaction(db, async (tx) => {
      await store.lockNetworks(tx)
      await store.lock(tx, idsIn(body, columns))
      const [subnets, datacenters] = [await shown.all(tx, {}), await store.datacenterCodes(tx)]
      const known = {
        subnets: new Map(subnets.map((s) => [s.id, s])),
        datacenters: new Map(datacenters.map((d) => [d.code, d.id])),
      }
      const read = body.map((row) => readRow(row, columns, known))
      const good = read.filter(isGood)
      const own = read.flatMap(({ line, troubles }) => troubles.map((t) => ({ line, ...t })))
      const problems = [...unreadable, ...own, ...(await judge(tx, read, subnets, held))].toSorted(
        (a, b) => a.line - b.line,
      )
      const added = good.filter((row) => doesOf(row) === 'create').length
      if (added > 0) await demandRoom(tx, 'subnet', subnetLimit, added)
      const exclusions = good.reduce(
        (sum, { wanted, before }) => sum + wanted.exclude.length - (before?.exclude.length ?? 0),
        0,
      )
      await store.demandExclusions(tx, exclusions)
      const rows = good.map((row) => ({
        line: row.line,
        name: row.wanted.name,
        cidr: row.wanted.cidr,
        does: doesOf(row),
      }))
      const writes = problems.length === 0 && !dry_run
      if (writes) await write(tx, caller, good)
      return { written: writes, rows, problems }
    })
    return whole.catch((error: unknown) => {
      throw explained(error)
    })
  }
}
