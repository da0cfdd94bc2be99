/**
 * Where a demo listens: its port and the addresses of its simulated servers. Another demo may run on
 * this machine, so the first free ones are taken, and kept for the next start with the same data.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { isFree } from '../processes.ts'

/** Whether nothing listens at a port of a host. */
type Look = (port: number, host?: string) => Promise<boolean>

const kept = (file: string): number | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { kept: number }).kept : undefined
const keep = (file: string, value: number) => {
  writeFileSync(file, `${JSON.stringify({ kept: value })}\n`)
  return value
}

/** The servers of the simulator listen at this port. */
const serverPort = 50_000

/**
 * Reserves a block 127.20.N.0/24 until this process ends, by listening at its address 0, which no
 * server has. False if another process has it: of two demos that start at the same time, one gets it.
 * Other errors, such as a loopback interface without these addresses, are the simulator's to tell.
 */
export const reserveBlock = (block: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'))
      .listen(serverPort, `${block}.0`, () => {
        server.unref()
        resolve(true)
      })
  })

/**
 * The first block of addresses 127.20.N.0/24 of the simulated servers, minus one: that of the last
 * start, because the servers' disks belong to their addresses, or the first two that are free. 0 if
 * none is.
 */
export async function blockOfServers(
  file: string,
  look: Look = isFree,
  reserve: (block: string) => Promise<boolean> = reserveBlock,
): Promise<number> {
  // One block for each datacenter.
  const blocksOf = (offset: number) => [1, 2].map((n) => `127.20.${offset + n}`)
  const last = kept(file)
  if (last !== undefined) {
    await Promise.all(blocksOf(last).map(reserve))
    return last
  }
  for (let offset = 0; offset < 250; offset += 2) {
    const blocks = blocksOf(offset)
    const areFree = await Promise.all(blocks.map((block) => look(serverPort, `${block}.1`)))
    if (!areFree.every(Boolean)) continue
    if ((await Promise.all(blocks.map(reserve))).every(Boolean)) return keep(file, offset)
  }
  return 0
}

const mostTries = 100

/**
 * The port of the console and the API: that of the last start, or the first free one from 8080 on.
 * `block`: demos with different blocks begin to look at different ports. If somebody else listens at
 * the last one, the next free one is taken.
 */
export async function portOfDemo(
  file: string,
  block: number,
  look: Look = isFree,
): Promise<number> {
  const last = kept(file)
  if (last !== undefined && (await look(last))) return last
  const first = 8080 + block / 2
  for (let port = first; port < first + mostTries; port++)
    if (await look(port)) return keep(file, port)
  throw new Error(`No free port from ${first} to ${first + mostTries - 1}. Set PORT to another one`)
}
