/** Programs of this and of an older checkout, each with its own flags and database, and the processor time of what belongs to one. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtProgram, environment, freePort, nodeFlags, run, type Running, usage } from '../processes.ts'
import { nodeOf } from './browser.ts'

export interface Admin {
  email: string
  password: string
}
/** A checkout with its database for a fleet. */
export interface Place {
  name: 'now' | 'other'
  checkout: string
  data: string
  servers: number
}

/** Flags and environment of a checkout. Checkouts before `config` in `package.json` have their flags in `start.mjs`. */
function settingsOf(checkout: string): { flags: readonly string[]; variables: NodeJS.ProcessEnv } {
  if (checkout === '.') return { flags: nodeFlags, variables: environment }
  const { config } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    config?: { nodeFlags?: string[]; environment?: Record<string, string> }
  }
  const inStart = readFileSync(join(checkout, 'start.mjs'), 'utf8').match(/(?<=')--(?:max|heap)-[\w-]+=\d+(?=')/g) ?? []
  // `run` adds this checkout's environment.
  const without = Object.fromEntries(Object.keys(environment).map((name) => [name, undefined]))
  return { flags: config?.nodeFlags ?? inStart, variables: { ...without, ...config?.environment } }
}

/** Starts the program of a checkout. `command`: `serve`, or `compile`, which fills the compile cache as `start.mjs` does before the first start. */
export async function startOf(
  { checkout, data, servers }: Place,
  admin: Admin,
  command: 'serve' | 'compile' = 'serve',
): Promise<{ url: string; program: Running }> {
  const port = String(await freePort())
  const { flags, variables } = settingsOf(checkout)
  const env = {
    ...variables,
    PORT: port,
    STEELYARD_DATA: data,
    STEELYARD_SIMULATE: String(servers),
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/14',
    STEELYARD_ADMIN_EMAIL: admin.email,
    STEELYARD_ADMIN_PASSWORD: admin.password,
    LOG_LEVEL: 'error',
    NODE_COMPILE_CACHE: join(data, 'compiled'),
  }
  // Older checkouts run from their sources.
  const main = existsSync(join(checkout, builtProgram)) ? builtProgram : 'backend/src/main.ts'
  const ready = { serve: /^Steelyard is ready/, compile: /^Compiled/ }[command]
  return { url: `http://127.0.0.1:${port}`, program: await run(nodeOf(checkout), [...flags, main, command], ready, { cwd: checkout, env }) }
}

/** CPU seconds of a process with its running and ended children (Linux). */
function treeSeconds(pid: number): number {
  const fieldsOf = (id: string) => {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
      return stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
    } catch {
      return []
    }
  }
  const children = readdirSync('/proc').filter((id) => /^\d+$/.test(id) && fieldsOf(id)[1] === pid)
  const seconds = (fields: number[], last: number) => fields.slice(11, last).reduce((sum, ticks) => sum + ticks, 0) / 100
  return seconds(fieldsOf(String(pid)), 15) + children.reduce((sum, id) => sum + seconds(fieldsOf(id), 13), 0)
}

/** CPU seconds of a program, its database and the simulator. */
export const processorTimes = (program: Running, { data }: Place, simulator: Running) => ({
  program: usage(program.child.pid!).cpuSeconds,
  database: treeSeconds(Number.parseInt(readFileSync(join(data, 'postgres', 'postmaster.pid'), 'utf8'))),
  simulator: usage(simulator.child.pid!).cpuSeconds,
})
