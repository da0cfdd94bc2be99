// Chooses the test files for the run on a second PostgreSQL. That run checks that all SQL statements work on the oldest supported version as well as on the
// embedded one. So it needs only the fastest files that together send every statement of the first run (`backend/src/testing/statements.ts`). A statement that
// only a slow file sends is parsed and planned there instead.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file that takes longer isn't run again for the sake of statements that can be prepared. */
const longestMs = 5_000
/** PostgreSQL's `PREPARE` takes these statements. */
const canBePrepared = /^\s*(?:select|insert|update|delete|with|values)\b/i

/**
 * The files to run again, and the statements that only files left out have sent. `folder` has the statements of each file, `milliseconds` the time that each
 * file took. Files are left out, slowest first, if the other files still send all statements.
 */
export function filesForAllStatements(folder, milliseconds) {
  const took = (file) => milliseconds.get(file) ?? 0
  const files = readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    .toSorted((a, b) => took(b.file) - took(a.file))
  const senders = new Map()
  for (const { statements } of files) for (const { part } of statements) senders.set(part, (senders.get(part) ?? 0) + 1)
  const kept = []
  const toPrepare = new Set()
  for (const { file, statements } of files) {
    const own = statements.filter(({ part }) => senders.get(part) === 1)
    if (own.length > 0 && !(took(file) > longestMs && own.every(({ text }) => canBePrepared.test(text)))) {
      kept.push(file)
      continue
    }
    for (const { text } of own) toPrepare.add(text)
    for (const { part } of statements) senders.set(part, senders.get(part) - 1)
  }
  return { kept, toPrepare: [...toPrepare], count: senders.size }
}

/** Lets a PostgreSQL parse and plan statements in the template of the test databases. Returns a sentence for each statement that it refuses. */
export async function prepareAll(url, texts) {
  const { default: pg } = await import('pg')
  const open = async (database) => {
    const { searchParams, username } = new URL(url)
    const client = new pg.Client({ host: searchParams.get('host'), user: username, database })
    await client.connect()
    return client
  }
  const server = await open('postgres')
  const { rows } = await server.query("select datname from pg_database where datistemplate and datname like 'steelyard%'")
  await server.end()
  const client = await open(rows[0].datname)
  const refused = []
  for (const text of texts) {
    try {
      await client.query(`prepare one as ${text}`)
      const types = await client.query("select cardinality(parameter_types) as count from pg_prepared_statements where name = 'one'")
      const values = Array.from({ length: types.rows[0].count }, () => 'null').join()
      await client.query(`explain execute one${values === '' ? '' : `(${values})`}`)
    } catch (error) {
      refused.push(`${error.message}: ${text}`)
    }
    await client.query('deallocate all')
  }
  await client.end()
  return refused
}
