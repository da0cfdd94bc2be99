/**
 * Programs of this and of an older checkout, each with its own flags and database, and the
 * processor time of what belongs to one.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../api-client.ts'
import { builtProgram, freePort, run, type Running, usage } from '../processes.ts'
import { everyServer } from '../simulated.ts'

export interface Admin {
  email: string
  password: string
}
/** A checkout with its database for a fleet. */
export interface Place {
  checkout: string
  data: string
  servers: number
}

export const nodeOf = (checkout: string) => join(checkout, 'node_modules', '.bin', 'node')

/**
 * Flags and environment of a checkout. Old checkouts have their flags in `start.mjs`, or variables
 * of the environment in `package.json`.
 */
function settingsOf(checkout: string): { flags: readonly string[]; variables: NodeJS.ProcessEnv } {
  const { config } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    config?: { nodeFlags?: string[]; environment?: Record<string, string> }
  }
  const inStart = () =>
    readFileSync(join(checkout, 'start.mjs'), 'utf8').match(
      /(?<=')--(?:max|heap)-[\w-]+=\d+(?=')/g,
    ) ?? []
  return {
    flags: config?.nodeFlags ?? inStart(),
    variables: config?.environment ?? {},
  }
}

/**
 * Starts the program of a checkout. `command`: `serve`, or `compile`, which fills the compile cache
 * as `start.mjs` does before the first start.
 */
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
    // As `start.mjs` sets it. A process that ends writes its compiled code there.
    NODE_COMPILE_CACHE: join(data, 'compiled'),
  }
  // Older checkouts run from their sources.
  const main = existsSync(join(checkout, builtProgram)) ? builtProgram : 'backend/src/main.ts'
  const ready = { serve: /^Steelyard is ready/, compile: /^Compiled/ }[command]
  return {
    url: `http://127.0.0.1:${port}`,
    program: await run(nodeOf(checkout), [...flags, main, command], ready, { cwd: checkout, env }),
  }
}

/**
 * Waits until a program that has just started has done the work of its start: until it needs less
 * than a quarter of a core for three seconds.
 */
export async function whenIdle({ child }: Running): Promise<void> {
  const sampleMs = 3000
  for (
    let waitedMs = 0, before = usage(child.pid!).cpuSeconds;
    waitedMs < 180_000;
    waitedMs += sampleMs
  ) {
    await pause(sampleMs)
    const now = usage(child.pid!).cpuSeconds
    if ((now - before) * 1000 < sampleMs / 4) return
    before = now
  }
}

/**
 * Waits until 99 of 100 servers were contacted after the call, at most five minutes. Returns how
 * many were. `whole`: as in `everyServer`. After a start of the simulator the machines show new
 * certificates, as Talos does after a reboot, so each first contact changes its server.
 */
export async function whenContacted(call: Caller, whole = false): Promise<number> {
  const since = new Date().toISOString()
  const limitMs = 300_000
  for (const began = performance.now(); ;) {
    const servers = await everyServer(call, {}, whole)
    const contacted = servers.filter((s) => (s.talos.last_contact_at ?? '') > since).length
    if (contacted >= servers.length * 0.99 || performance.now() - began > limitMs) return contacted
    await pause(10_000)
  }
}

/** A client that signs in again before its token expires. */
export function callerOf(url: string, admin: Admin): Caller {
  let signedIn: { token: string; at: number } | undefined
  return async (operation, asked) => {
    if (signedIn === undefined || Date.now() - signedIn.at > 300_000)
      signedIn = {
        token: (await apiClient(url).call(authorize, { body: admin })).accessToken,
        at: Date.now(),
      }
    return apiClient(url, signedIn.token).call(operation, asked)
  }
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
  const seconds = (fields: number[], last: number) =>
    fields.slice(11, last).reduce((sum, ticks) => sum + ticks, 0) / 100
  return (
    seconds(fieldsOf(String(pid)), 15) +
    children.reduce((sum, id) => sum + seconds(fieldsOf(id), 13), 0)
  )
}

/** CPU seconds of a program, its database and the simulator. */
export const processorTimes = (program: Running, { data }: Place, simulator: Running) => ({
  program: usage(program.child.pid!).cpuSeconds,
  database: treeSeconds(
    Number.parseInt(readFileSync(join(data, 'postgres', 'postmaster.pid'), 'utf8')),
  ),
  simulator: usage(simulator.child.pid!).cpuSeconds,
})
