/**
 * The bundled program for tests that run it as a process. Builds it only if a source has changed,
 * as `start.mjs` does and with the same stamp.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { buildProgram } from '../backend/build.ts'
import { builtProgram } from './processes.ts'
import { hashOfProgram } from './sources.mjs'

const stamp = 'node_modules/.steelyard/program'

/** The name that vitest calls before the tests. */
export async function setup(): Promise<void> {
  const sources = hashOfProgram()
  if (existsSync(builtProgram) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources)
    return
  await buildProgram()
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, sources)
}
