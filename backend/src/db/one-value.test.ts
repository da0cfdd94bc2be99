import { expect, test, vi } from 'vitest'
import { isDatabaseAway } from '../causes/causes.ts'
import { freshDatabase } from '../testing/databases.ts'
import { connect, sqlState } from './db.ts'
import { oneValue, valueStatement } from './one-value.ts'

test('a statement for one value is prepared once per connection, its errors reach the caller, and the next statement works', async () => {
  const connection = await freshDatabase()
  const { pool, close } = connect({ connection, poolSize: 1 })
  const prepare = vi.spyOn((await import('pg')).Connection.prototype, 'parse')
  const count = valueStatement('count', "select 'ü' || count(*) from pg_prepared_statements")
  const ask = (text: string) =>
    oneValue(pool, valueStatement(text, text)).catch((error: unknown) => error)
  expect([await oneValue(pool, count), await oneValue(pool, count)]).toEqual(['ü1', 'ü1'])
  expect(prepare).toHaveBeenCalledTimes(1)

  for (const [text, code] of [
    ['select (1 / (select 0))::text', '22012'],
    ["select substring('a' from 1 for (select -1))", '22011'],
  ] as const) {
    const refused = await ask(text)
    expect([sqlState(refused), isDatabaseAway(refused)]).toEqual([code, false])
  }
  expect(isDatabaseAway(await ask('select pg_terminate_backend(pg_backend_pid())::text'))).toBe(
    true,
  )
  expect(await oneValue(pool, count)).toBe('ü1')
  await close()
})
