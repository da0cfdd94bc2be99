// Checks that the oldest supported PostgreSQL takes every statement that the tests of the backend
// have sent to the embedded one (`backend/src/testing/statements.ts`), without running the tests
// again: it parses and plans each.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** PostgreSQL's `PREPARE` takes these statements. */
const canBePrepared = /^\s*(?:select|insert|update|delete|merge|with|values)\b/i

/**
 * A text for each shape of statement: lists of different lengths and names with different numbers
 * are one shape.
 */
export function recordedStatements(folder) {
  const shapes = new Map()
  for (const name of readdirSync(folder))
    for (const text of JSON.parse(readFileSync(join(folder, name), 'utf8'))) {
      const plain = text.replaceAll(/[0-9a-f]{12,}/g, 'x').replaceAll(/\$\d+/g, '$')
      if (canBePrepared.test(text))
        shapes.set(
          plain.replaceAll(/\$(?:, ?\$)+/g, '$').replaceAll(/\(\$\)(?:, ?\(\$\))+/g, '($)'),
          text,
        )
    }
  return [...shapes.values()]
}

/**
 * Lets a PostgreSQL parse and plan statements in the template of the test databases. Returns a
 * sentence for each statement that it refuses.
 */
export async function prepareAll(url, texts) {
  const { default: pg } = await import('pg')
  const open = async (database) => {
    const { searchParams, username } = new URL(url)
    const client = new pg.Client({ host: searchParams.get('host'), user: username, database })
    await client.connect()
    return client
  }
  const server = await open('postgres')
  const { rows } = await server.query(
    "select datname from pg_database where datistemplate and datname like 'steelyard%'",
  )
  await server.end()
  const client = await open(rows[0].datname)
  const refused = []
  for (const text of texts) {
    try {
      await client.query(`prepare one as ${text}`)
      const types = await client.query(
        "select cardinality(parameter_types) as count from pg_prepared_statements where name = 'one'",
      )
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
