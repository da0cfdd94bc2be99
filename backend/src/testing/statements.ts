/**
 * Records the SQL statements that are sent in a test file, in the folder `TEST_STATEMENTS`. `npm
 * test` prepares them on the oldest supported PostgreSQL (`tools/statements.mjs`).
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { env } from 'node:process'
import { Client } from 'pg'
import { afterAll } from 'vitest'

/**
 * A test file that sends such a statement has a schema of its own, so its statements mean nothing
 * in another database.
 */
const changesTables = /\b(?:create|drop) (?:table|schema)\b/i
const folder = env['TEST_STATEMENTS']
if (folder) {
  const texts = new Set<string>()
  const send = Reflect.get(Client.prototype, 'query') as (
    this: Client,
    ...args: unknown[]
  ) => unknown
  Client.prototype.query = function query(this: Client, ...args: unknown[]) {
    const [first] = args
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text
    if (typeof text === 'string') texts.add(text)
    return send.apply(this, args)
  } as typeof Client.prototype.query
  afterAll(() => {
    Reflect.set(Client.prototype, 'query', send)
    if ([...texts].some((text) => changesTables.test(text))) return
    writeFileSync(path.join(folder, `${randomUUID()}.json`), JSON.stringify([...texts]))
  })
}
