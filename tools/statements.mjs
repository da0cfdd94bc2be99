// Which test files are run on a second PostgreSQL. It is there for the statements: they must hold on the oldest supported version as well as on the embedded one.
// So it gets the quickest files that together send every statement which the first run sent (`backend/src/testing/statements.ts`), and not the waiting for machines a second time.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The files to run again, from the folder of statements and the milliseconds that each file took. Files are left out longest first, where the others
 * still send all that it sends.
 */
export function filesForAllStatements(folder, milliseconds) {
  const files = readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    .toSorted((a, b) => (milliseconds.get(b.file) ?? 0) - (milliseconds.get(a.file) ?? 0))
  const senders = new Map()
  for (const { statements } of files) for (const text of statements) senders.set(text, (senders.get(text) ?? 0) + 1)
  const kept = []
  for (const { file, statements } of files) {
    if (statements.some((text) => senders.get(text) === 1)) kept.push(file)
    else for (const text of statements) senders.set(text, senders.get(text) - 1)
  }
  return { kept, count: senders.size }
}
