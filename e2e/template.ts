/**
 * The data folder that a test's installation starts with: a migrated database and the first user.
 * Each run makes it once, and each installation copies it, because making one takes more processor
 * time than a start with an existing one.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'
import { datacenterCreate } from '#contract/datacenters.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../tools/api-client.ts'
import { admin, processesOf, startProgram, temporaryFolder } from './faults/processes.ts'

declare module 'vitest' {
  interface ProvidedContext {
    template: Template
  }
}

interface Template {
  readonly data: string
  /** Has the data of installations that test files share. These end with the run. */
  readonly shared: string
  /** The only datacenter. Null in the browser tests, whose demo creates its own. */
  readonly datacenterId: string | null
}

/** For vitest's `globalSetup`, after the program was built. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { folder, remove } = temporaryFolder()
  const data = join(folder, 'data')
  const program = await startProgram(data)
  let datacenterId: string | null = null
  if (project.name === 'faults') {
    const { accessToken } = await apiClient(program.url).call(authorize, { body: admin })
    const body = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' }
    datacenterId = (await apiClient(program.url, accessToken).call(datacenterCreate, { body })).id
  }
  const code = await program.stop()
  if (code !== 0)
    throw new Error(
      `The program that makes the data folder of the tests ended with ${code}:\n${program.log()}`,
    )
  // The data needs to survive kills of processes, but no loss of power, so nothing waits for the
  // disk. The program's own settings don't name fsync.
  appendFileSync(join(data, 'postgres/postgresql.conf'), '\nfsync = off\n')
  const shared = join(folder, 'shared')
  mkdirSync(shared, { mode: 0o711 })
  project.provide('template', { data, shared, datacenterId })
  return async () => {
    await endAll(shared)
    remove()
  }
}

/**
 * Ends the installations whose data is below a folder, as Ctrl-C does.
 * @throws Error with what still runs after a minute. It is killed when this process exits.
 */
async function endAll(folder: string): Promise<void> {
  for (const line of processesOf(folder))
    if (line.includes('tools/demo.ts')) process.kill(Number.parseInt(line, 10), 'SIGTERM')
  for (const until = Date.now() + 60_000; Date.now() < until; await pause(100))
    if (processesOf(folder).length === 0) return
  throw new Error(`Still running: ${processesOf(folder).join('; ')}`)
}

/**
 * Copies the template to a folder, which may exist. Keeps owners, because under root the database
 * has its own account.
 */
export function copyTemplate({ data }: Template, to: string): void {
  execFileSync('cp', ['-Rp', `${data}/.`, to])
}
