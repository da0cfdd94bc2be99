// Chooses the test files for the run on a second PostgreSQL. That run checks that all SQL statements work on the oldest supported version as well as on the
// embedded one. So it needs only the fastest files that together send every statement of the first run (`backend/src/testing/statements.ts`), without the slow
// tests that wait for machines.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The files to run again. `folder` has the statements of each file, `milliseconds` the time that each file took. Files are left out, slowest first, if the
 * other files still send all statements.
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
