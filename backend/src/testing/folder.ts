import { rmSync } from 'node:fs'
import { whenFileIsOver } from './ending.ts'
import { makeFolder } from './postgres.ts'

/**
 * A temporary folder that the database's account can enter. It is removed at the end of the test
 * file.
 */
export function temporaryFolder(name: string): string {
  const folder = makeFolder(name)
  whenFileIsOver(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
