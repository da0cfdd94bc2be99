/** Addresses for the simulated servers of a test. */
import { createServer, type Server } from 'node:net'

/** Listens there, or answers null where somebody else does. Keeps no process alive. */
const listen = (host: string): Promise<Server | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null)).listen(50_000, host, () => resolve(server.unref()))
  })

/**
 * The number before the first of the blocks 127.20.N.0/24 that no other simulator's servers stand in; each datacenter takes one.
 * A block is taken by listening at its address 0, which no server has, until this process ends: two tests that begin at the same moment never get the same.
 */
export async function freeBlock(datacenters: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const first = 8 + Math.floor(Math.random() * 200)
    const blocks = Array.from({ length: datacenters }, (_, i) => `127.20.${first + i + 1}`)
    const taken = await Promise.all(blocks.map((block) => listen(`${block}.0`)))
    // Where nobody took the block, there may be servers of a demo in it.
    const servers = await Promise.all(blocks.map((block) => listen(`${block}.1`)))
    for (const server of servers) server?.close()
    if ([...taken, ...servers].every(Boolean)) return first
    for (const server of taken) server?.close()
  }
  throw new Error('No free block of addresses for the simulated servers')
}
