/**
 * Records the SQL statements that the product sends in a test file, in the folder `TEST_STATEMENTS`. `npm test` uses the records to
 * choose the test files of its second run, on another PostgreSQL (`tools/statements.mjs`).
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { env } from 'node:process'
import { Client } from 'pg'
import { afterAll, expect } from 'vitest'

/** Whether product code sent the statement, not the test: the first file of this repository in the stack is product code. */
function isProduct(): boolean {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 100
  const stack = new Error().stack ?? ''
  Error.stackTraceLimit = before
  const nearest = stack.split('\n').find((line) => /\.tsx?[:?]/.test(line) && !line.includes('node_modules') && !line.includes('testing/statements.ts'))
  return nearest === undefined || !/\.test\.ts|\/testing\//.test(nearest)
}

/** Splits a statement into the parts to record. Lists of different lengths give the same part; each column of an update is a part. */
function parts(text: string): string[] {
  const same = text.replaceAll(/[0-9a-f]{12,}/g, 'x').replaceAll(/\$\d+/g, '$')
  const plain = same.replaceAll(/\$(?:, ?\$)+/g, '$').replaceAll(/\(\$\)(?:, ?\(\$\))+/g, '($)')
  const update = /^(update "\w+" set )(.+?)( where .+)$/s.exec(plain)
  if (!update) return [plain]
  const [, head, columns, rest] = update
  return [`${head}… ${rest}`, ...columns!.split(/, (?=")/).map((column) => `${head}${column}`)]
}

const folder = env['TEST_STATEMENTS']
if (folder) {
  const texts = new Set<string>()
  /** A statement with each part. */
  const seen = new Map<string, string>()
  const send = Reflect.get(Client.prototype, 'query') as (this: Client, ...args: unknown[]) => unknown
  Client.prototype.query = function query(this: Client, ...args: unknown[]) {
    const [first] = args
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text
    if (typeof text === 'string' && !texts.has(text) && isProduct()) {
      texts.add(text)
      for (const part of parts(text)) seen.set(part, text)
    }
    return send.apply(this, args)
  } as typeof Client.prototype.query
  afterAll(() => {
    Reflect.set(Client.prototype, 'query', send)
    const file = path.relative('.', expect.getState().testPath ?? '')
    writeFileSync(
      path.join(folder, `${file.replaceAll('/', '+')}.json`),
      JSON.stringify({ file, statements: [...seen].map(([part, text]) => ({ part, text })) }),
    )
  })
}
