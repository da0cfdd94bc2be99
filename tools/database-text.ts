/** Reads the database of a running installation, to search it for secrets. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'

/**
 * The folder of the socket on which the embedded PostgreSQL of a data folder listens: line 5 of its
 * lock file (PostgreSQL documentation, "Database File Layout").
 */
function socketOf(dataFolder: string): string {
  const lock = readdirSync(dataFolder, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('postmaster.pid'),
  )
  const socket =
    lock === undefined ? undefined : readFileSync(join(dataFolder, lock), 'utf8').split('\n')[4]
  if (!socket) throw new Error(`No PostgreSQL runs in ${dataFolder}`)
  return socket
}

/** All rows of all tables as text, by the name of the table. */
export async function databaseText(dataFolder: string): Promise<Record<string, string>> {
  const client = new Client({ host: socketOf(dataFolder), user: 'steelyard', database: 'postgres' })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
    )
    const texts: Record<string, string> = {}
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(
        `select t::text as text from ${name} as t`,
      )
      texts[`table ${name}`] = rows.map(({ text }) => text).join('\n')
    }
    return texts
  } finally {
    await client.end()
  }
}
