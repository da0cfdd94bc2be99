import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { freshDatabase } from '../testing/databases.ts'
import { tableTypes } from '../testing/table-types.ts'
import { connect } from './db.ts'

test('the generated table types match the migrated database (npm run generate:tables updates them)', async () => {
  const declared = readFileSync(new URL('columns.ts', import.meta.url), 'utf8').matchAll(
    /^ {2}'(?<key>\w+\.\w+)':/gm,
  )
  const connection = await freshDatabase()
  const database = connect({ connection })
  try {
    const text = await tableTypes(
      database.db as never,
      new Set(Array.from(declared, (m) => m.groups!.key!)),
    )
    await expect(text).toMatchFileSnapshot('tables.gen.ts')
  } finally {
    await database.close()
  }
})
