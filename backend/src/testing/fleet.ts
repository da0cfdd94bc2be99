import { createServer, type Server } from 'node:net'
import path from 'node:path'
import { type Simulator, type SimulatorOptions, startSimulator } from '#simulator/src/start.ts'
import { files } from '#simulator/src/store.ts'
import { whenOver } from './ending.ts'

/**
 * Reserves a block of addresses by listening at an address that no server
 * has; null if it is taken. `freeBlock` of the browser tests reserves in the same way. Without it,
 * another fleet could take the address of a server that is off.
 */
const reserve = (block: number): Promise<Server | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server
      .once('error', () => resolve(null))
      .listen(50_000, `127.20.${block}.0`, () => {
        resolve(server.unref())
      })
  })

/**
 * Starts a simulator on a free block of addresses, so that two checkouts can test at the same time.
 * It keeps its state in memory.
 */
export async function startFleet({ dataDir, ...options }: SimulatorOptions): Promise<Simulator> {
  files.areWritten = false
  for (let tries = 1; ; tries++) {
    const subnetOffset = 8 + Math.floor(Math.random() * 232)
    const held = await reserve(subnetOffset + 1)
    if (!held && tries < 20) continue
    whenOver(() => void held?.close())
    try {
      return await startSimulator({
        ...options,
        dataDir: path.join(dataDir, String(tries)),
        subnetOffset,
      })
    } catch (error) {
      if (tries === 20 || !String(error).includes('EADDRINUSE')) throw error
    }
  }
}
