/**
 * Holds everything if the database went back in time (`db/position.ts`), before anything else is
 * written. Afterwards the database is in the state of a restore.
 */
import type { Pool } from 'pg'
import type { Clock } from '../clock.ts'
import { migrationLock } from '../db/migrate.ts'
import { comparePosition, type Missing, missingSentence, type Position } from '../db/position.ts'
import { system } from '../http/caller.ts'
import { auditOf } from '../record.ts'
import { settle } from './settle.ts'

export interface WentBack {
  readonly missing: Missing
  /** The newest change that the database has. */
  readonly newest: Date
  readonly clusters: number
  readonly operations: number
}

/**
 * @param seen the highest position that was seen; undefined if none was
 * @returns what was missing and held; null if nothing is missing, or if another process has held
 *   everything already
 */
export async function holdIfBack(
  pool: Pool,
  seen: Position | undefined,
  clock: Clock,
): Promise<WentBack | null> {
  if (seen === undefined) return null
  const client = await pool.connect()
  try {
    await client.query('begin')
    // Several processes may find the same.
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    const { now: position, missing } = await comparePosition(client, seen)
    if (missing === null) {
      await client.query('rollback')
      return null
    }
    const { rows } = await client.query<{ newest: Date | null }>(
      'select max(at) as newest from audit_entry',
    )
    const now = new Date(clock.now())
    const state = rows[0]?.newest ?? now
    const held = await settle(client, { madeAt: state, now, missing: missingSentence(missing) })
    const audit = auditOf(system, {
      action: 'installation.went_back',
      target: { kind: 'installation', id: position.installation },
      after: {
        missing: missingSentence(missing),
        clusters_held: held.clusters,
        operations_held: held.operations,
      },
    })
    await client.query('insert into outbox (at, audit) values ($1, $2)', [
      now,
      JSON.stringify(audit),
    ])
    await client.query('commit')
    return { missing, newest: state, ...held }
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
