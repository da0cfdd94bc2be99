/** Spans of database statements. */
import type { LogEvent } from 'kysely'
import { kindOf, type Tracing } from './tracing.ts'

/**
 * The verb and the first table, such as `UPDATE wake_up`. The text of a statement has placeholders
 * instead of values, but is too long for a name.
 */
export function nameOf(sql: string): string {
  const verb = /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'SQL'
  const table = /\b(?:from|into|update|join)\s+"?([a-z_]\w*)"?(?!\w*\s*\()/i.exec(sql)?.[1]
  return table === undefined ? verb : `${verb} ${table}`
}

/** For Kysely's `log`, which is called after each statement, in the context of its caller. */
export const tracedStatements =
  (tracing: Tracing) =>
  (event: LogEvent): void => {
    const { sql } = event.query
    const name = nameOf(sql)
    tracing
      .child(name, {
        kind: 'client',
        attributes: {
          'db.system.name': 'postgresql',
          'db.query.summary': name,
          'db.query.text': sql,
        },
        agoMs: event.queryDurationMillis,
      })
      ?.end(event.level === 'error' ? kindOf(event.error) : undefined)
  }
