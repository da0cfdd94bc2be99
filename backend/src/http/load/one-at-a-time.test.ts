import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { oneAtATime } from './sockets.ts'

let running = 0
let most = 0
const answer = async (request: IncomingMessage, response: ServerResponse) => {
  running += 1
  most = Math.max(most, running)
  await pause(1)
  running -= 1
  response.end(`[${request.url}]`)
}
const server = createServer((request, response) => void answer(request, response))
oneAtATime(server)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
afterAll(() => void server.close())

/** Sends requests in one packet. Returns the answered paths in order. */
async function pipeline(count: number): Promise<string[]> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let seen = ''
  socket.on('data', (piece: Buffer) => (seen += piece.toString()))
  const last = (i: number) => (i === count - 1 ? 'Connection: close\r\n' : '')
  socket.write(
    Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: x\r\n${last(i)}\r\n`).join(
      '',
    ),
  )
  await new Promise((resolve) => socket.once('close', resolve))
  return [...seen.matchAll(/\[\/(\d+)\]/g)].map(([, path]) => path!)
}

test('pipelined requests are answered one after another', async () => {
  expect(await pipeline(20)).toEqual(Array.from({ length: 20 }, (_, i) => String(i)))
  expect(most).toBe(1)
})

test('if there are too many pipelined requests, the first are answered, then the connection is closed', async () => {
  expect(await pipeline(310)).toEqual(Array.from({ length: 33 }, (_, i) => String(i)))
})

test('a client that waits for each response can send further requests', async () => {
  const asked = ['/a', '/b', '/c'].map(async (path) =>
    (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)).text(),
  )
  expect(await Promise.all(asked)).toEqual(['[/a]', '[/b]', '[/c]'])
})
