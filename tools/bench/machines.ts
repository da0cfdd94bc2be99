/**
 * Measures the cost of idle fleets of several sizes: how long the registration takes, the memory of the Node.js process
 * (without its database and the simulator), the processor time of contacts, and the time of a warm start.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../api-client.ts'
import { freePort, nodeFlags, run, scratch, usage } from '../processes.ts'
import { addSimulated } from '../simulated.ts'

interface Options {
  admin: { email: string; password: string }
  fleets: readonly number[]
  say: (what: string, value: string, bar?: string) => void
}

/** Budgets by number of servers. Other numbers of servers have no budget. */
const bars: Record<number, { memory: string; processor: string }> = {
  1000: { memory: 'at most 150 MiB', processor: 'at most 3 %' },
  10_000: { memory: 'at most 250 MiB', processor: 'at most 20 %' },
}
/** `sweepMs`: time in which every idle server is contacted once. `settleMs`: time for the memory to settle after the registration. */
const sweepMs = 120_000
const settleMs = 150_000

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
    const start = () => run(process.execPath, [...nodeFlags, 'backend/src/main.ts', 'serve'], /^Steelyard is ready/, { env })
    // Fills the compile cache, as `start.mjs` does before the first start.
    await (await run(process.execPath, [...nodeFlags, 'backend/src/main.ts', 'compile'], /^Compiled/, { env })).stop()
    let program = await start()
    const caller = async () => apiClient(url, (await apiClient(url).call(authorize, { body: admin })).accessToken).call
    try {
      const began = performance.now()
      await addSimulated(await caller(), join(data.path, 'simulator', 'control.sock'))
      const seconds = (performance.now() - began) / 1000
      say(`${servers} servers registered by address`, `${seconds.toFixed(0)} s`, servers === 10_000 ? 'at most 60 s' : '')

      await pause(settleMs)
      const before = usage(program.child.pid!)
      await pause(sweepMs)
      const after = usage(program.child.pid!)
      const percent = ((after.cpuSeconds - before.cpuSeconds) / sweepMs) * 100_000
      say('  idle: processor with contacts, share of a core', `${percent.toFixed(1)} %`, bars[servers]?.processor)
      say('  idle: memory of the Node process', `${after.memoryMiB.toFixed(0)} MiB`, bars[servers]?.memory)

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
