/**
 * Measures the cost of idle fleets of several sizes: how long the registration takes, the memory of the Node.js process
 * (without its database and the simulator), the processor time of contacts, and the time of a warm start.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../api-client.ts'
import { builtProgram, freePort, nodeFlags, run, scratch, usage } from '../processes.ts'
import { addSimulated } from '../simulated.ts'

interface Options {
  admin: { email: string; password: string }
  fleets: readonly number[]
  say: (what: string, value: string, bar?: string) => void
}

/** Budgets by number of servers. Other numbers of servers have no budget. */
export const bars: Readonly<Record<number, { memory: string; processor: string }>> = {
  1000: { memory: 'at most 150 MB', processor: 'at most 3 %' },
  10_000: { memory: 'at most 250 MB', processor: 'at most 20 %' },
}
/** `sweepMs`: time in which every idle server is contacted once. `settleMs`: time for the memory to settle after the registration. */
const sweepMs = 120_000
const settleMs = 150_000

/** What a registration takes of each server in calls and in bytes of all answers, so that the floor does as much. */
const callsPerServer = 15
const bytesPerCall = 1_200

/** Plain Node with as many handshakes, requests and bytes as a registration, and nothing else. */
async function floor(servers: number, say: Options['say']): Promise<void> {
  const port = String(await freePort())
  const server = await run(process.execPath, ['tools/bench/plain-machines.ts', 'serve', port, String(bytesPerCall)], /^ready/)
  const client = await run(process.execPath, ['tools/bench/plain-machines.ts', 'dial', port, String(servers), String(callsPerServer)], /^ready/)
  const [dialled, answered] = [client, server].map(({ child }) => ((usage(child.pid!).cpuSeconds * 1000) / servers).toFixed(2))
  say('  floor: as many handshakes and calls of plain Node', `${(client.readyAfterMs / 1000).toFixed(1)} s`)
  say('  floor: processor time of its client and its server, per server', `${dialled} + ${answered} ms`)
  await client.stop()
  await server.stop()
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

export async function machineBudgets({ admin, fleets, say }: Options): Promise<void> {
  for (const servers of fleets) {
    const data = scratch()
    const port = String(await freePort())
    const url = `http://127.0.0.1:${port}`
    const simulator = await run(
      process.execPath,
      ['simulator/src/main.ts', '--servers', String(servers), '--data', join(data.path, 'simulator')],
      /^Simulator is ready/,
    )
    const env = {
      PORT: port,
      STEELYARD_DATA: data.path,
      STEELYARD_SIMULATE: String(servers),
      STEELYARD_DIAL_NETWORKS: '127.20.0.0/14',
      STEELYARD_ADMIN_EMAIL: admin.email,
      STEELYARD_ADMIN_PASSWORD: admin.password,
      LOG_LEVEL: 'error',
      NODE_COMPILE_CACHE: join(data.path, 'compiled'),
    }
    const start = () => run(process.execPath, [...nodeFlags, builtProgram, 'serve'], /^Steelyard is ready/, { env })
    // Fills the compile cache, as `start.mjs` does before the first start.
    await (await run(process.execPath, [...nodeFlags, builtProgram, 'compile'], /^Compiled/, { env })).stop()
    let program = await start()
    const caller = async () => apiClient(url, (await apiClient(url).call(authorize, { body: admin })).accessToken).call
    try {
      const processes = {
        program: () => usage(program.child.pid!).cpuSeconds,
        database: () => treeSeconds(Number.parseInt(readFileSync(join(data.path, 'postgres', 'postmaster.pid'), 'utf8'))),
        simulator: () => usage(simulator.child.pid!).cpuSeconds,
      }
      const used = () => Object.entries(processes).map(([name, seconds]) => [name, seconds()] as const)
      const call = await caller()
      const earlier = used()
      const began = performance.now()
      await addSimulated(call, join(data.path, 'simulator', 'control.sock'))
      const seconds = (performance.now() - began) / 1000
      const later = used()
      const { total } = await call(serverList, { query: { per_page: 1 } })
      if (total !== servers) throw new Error(`${total} of ${servers} servers are registered`)
      say(`${servers} servers registered by address`, `${seconds.toFixed(1)} s`, servers === 10_000 ? 'at most 60 s' : '')
      for (const [i, [name, after]] of later.entries())
        say(`  processor time of the ${name}, per server`, `${(((after - earlier[i]![1]) * 1000) / servers).toFixed(2)} ms`)
      await floor(servers, say)

      await pause(settleMs)
      const before = usage(program.child.pid!)
      await pause(sweepMs)
      const after = usage(program.child.pid!)
      const percent = ((after.cpuSeconds - before.cpuSeconds) / sweepMs) * 100_000
      say('  idle: processor with contacts, share of a core', `${percent.toFixed(1)} %`, bars[servers]?.processor)
      say('  idle: memory of the Node process', `${after.memoryMB.toFixed(0)} MB`, bars[servers]?.memory)

      const starts: [ready: number, list: number][] = []
      for (let round = 0; round < 3; round++) {
        await program.stop()
        program = await start()
        const call = await caller()
        const asked = performance.now()
        await call(serverList, { query: { per_page: 100 } })
        starts.push([program.readyAfterMs, performance.now() - asked])
      }
      const median = (times: number[]) => (times.toSorted((a, b) => a - b)[1]! / 1000).toFixed(2)
      say('  warm start: ready, and first list of 100', `${median(starts.map(([r]) => r))} + ${median(starts.map(([, l]) => l))} s`, 'at most 0.70 + 0.05 s')
    } finally {
      await program.stop()
      await simulator.stop()
      data.remove()
    }
  }
}
