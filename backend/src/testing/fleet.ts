import path from 'node:path'
import { type Simulator, type SimulatorOptions, startSimulator } from '#simulator/src/start.ts'
import { files } from '#simulator/src/store.ts'

/**
 * Starts a simulator on a free block of addresses, so that two checkouts can test at the same time.
 * It keeps its state in memory.
 */
export async function startFleet({ dataDir, ...options }: SimulatorOptions): Promise<Simulator> {
  files.areWritten = false
  for (let tries = 1; ; tries++) {
    try {
      return await startSimulator({
        ...options,
        dataDir: path.join(dataDir, String(tries)),
        subnetOffset: 8 + Math.floor(Math.random() * 232),
      })
    } catch (error) {
      if (tries === 20 || !String(error).includes('EADDRINUSE')) throw error
    }
  }
}
