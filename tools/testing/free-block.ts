/** Addresses for the simulated servers of a test. */
import { createServer, type Server } from 'node:net'

/**
 * Listens at the address; null if another process already listens there. The listening socket
 * doesn't keep the process alive.
 */
const listen = (host: string): Promise<Server | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null)).listen(50_000, host, () => resolve(server.unref()))
  })

/**
 * Reserves consecutive free blocks 127.20.N.0/24, one for each datacenter, until `release` or the
 * end of this process. Listening at address 0 of a block, which no server has, reserves the block,
 * so two tests never get the same block, even while a server is off. `first` is the first N minus
 * 1, for the simulator's option --subnet-offset.
 */
export async function reserveBlocks(
  datacenters: number,
): Promise<{ first: number; release: () => void }> {
  for (let tries = 0; tries < 50; tries++) {
    const first = 8 + Math.floor(Math.random() * 200)
    const blocks = Array.from({ length: datacenters }, (_, i) => `127.20.${first + i + 1}`)
    const taken = await Promise.all(blocks.map((block) => listen(`${block}.0`)))
    const release = () => {
      for (const server of taken) server?.close()
    }
    // A running demo doesn't reserve its blocks, so also check that no server listens at address 1.
    const servers = await Promise.all(blocks.map((block) => listen(`${block}.1`)))
    for (const server of servers) server?.close()
    if ([...taken, ...servers].every(Boolean)) return { first, release }
    release()
  }
  throw new Error('No free block of addresses for the simulated servers')
}

/** The same, reserved until the end of this process. */
export const freeBlock = async (datacenters: number): Promise<number> =>
  (await reserveBlocks(datacenters)).first
