/** `localhost` has two addresses, and the limits on sockets apply to both. */
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { startBackend } from '../testing/backend.ts'
import { silent } from '../log.ts'
import { listen } from './listen.ts'

const backend = await startBackend()
const all = Object.values(networkInterfaces()).flatMap((of) => (of ?? []).map((i) => i.address))
/** The second address of `localhost`; on a machine without IPv6, another IPv4 loopback address. */
const second = all.includes('::1') ? '::1' : '127.0.0.2'
const stop = await listen(backend.app, { host: 'localhost', port: 0 }, silent, async () => [
  '127.0.0.1',
  second,
])
afterAll(() => stop())
const ports = backend.app
  .addresses()
  .map((a) => new URL(`http://${typeof a === 'string' ? a : `x:${a.port}`}`).port)

/** Sends requests in one packet. Returns the number of answers. */
async function pipeline(host: string, count: number): Promise<number> {
  const socket = connect(Number(ports[0]), host)
  let seen = ''
  socket.on('data', (piece: Buffer) => (seen += piece.toString()))
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count))
  await new Promise((resolve) => socket.once('close', resolve))
  return seen.split('HTTP/1.1 200').length - 1
}

test.each(['127.0.0.1', second])(
  'of 310 requests pipelined on a connection to %s, only the first 33 are answered',
  async (host) => {
    expect(await pipeline(host, 310)).toBe(33)
  },
)

test.each(['127.0.0.1', second.includes(':') ? `[${second}]` : second])(
  'the program answers at http://%s',
  async (host) => {
    expect((await fetch(`http://${host}:${ports[0]}/healthz`)).status).toBe(200)
  },
)

test('Fastify creates no second server for another address', () => {
  expect(ports).toHaveLength(1)
})
