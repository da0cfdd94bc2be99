import path from 'node:path'
import { type Simulator, type SimulatorOptions, startSimulator } from '#simulator/src/start.ts'
import { files } from '#simulator/src/store.ts'
import { reserveBlocks } from '../../../tools/testing/free-block.ts'
import { whenOver } from './ending.ts'

/**
 * Starts a simulator on a block of addresses of its own, so that two checkouts can test at the same
 * time. It keeps its state in memory.
 */
export async function startFleet({ dataDir, ...options }: SimulatorOptions): Promise<Simulator> {
  files.areWritten = false
  for (let tries = 1; ; tries++) {
    const { first, release } = await reserveBlocks(1)
    whenOver(release)
    try {
      return await startSimulator({
        ...options,
        dataDir: path.join(dataDir, String(tries)),
        subnetOffset: first,
      })
    } catch (error) {
      // A large fleet takes more than one block.
      if (tries === 20 || !String(error).includes('EADDRINUSE')) throw error
    }
  }
}
