/** Spans of database statements. */
import type { LogEvent } from 'kysely'
import { kindOf, type Tracing } from './tracing.ts'

/** Not the name of a function, nor `update` in `on conflict do update set` and `for update of`. */
const table =
  /\binto\s+"?([a-z_]\w*)|\b(?:from|join|update)\s+(?!set\b|of\b|skip\b)"?([a-z_]\w*)"?(?!\w*\s*\()/i

/**
 * The verb and the first table, such as `UPDATE wake_up`. The text of a statement has placeholders
 * instead of values, but is too long for a name.
 */
export function nameOf(sql: string): string {
  const verb = /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'SQL'
  const found = table.exec(sql)
  const name = found?.[1] ?? found?.[2]
  return name === undefined ? verb : `${verb} ${name}`
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
