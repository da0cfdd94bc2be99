import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import { defaultLimits } from '../limits.ts'

const first = await startBackend()
const size = 24_000_000
mkdirSync(path.join(first.config.dataFolder, 'console'), { recursive: true })
// A file that exceeds the kernel's socket buffers on both sides.
writeFileSync(path.join(first.config.dataFolder, 'console', 'large.txt'), Buffer.alloc(size, 'x'))
const backend = await startBackend({ beside: first, limits: { ...defaultLimits, stalledMs: 600 } })
const port = Number(new URL(await backend.listen()).port)
const large = 'GET /large.txt HTTP/1.1\r\nHost:x\r\nConnection: close\r\n\r\n'

/** Opens a connection. `closed` resolves when the server has closed its end. */
async function open(bytes: string): Promise<{ socket: Socket; closed: Promise<void> }> {
  const accepted = new Promise<Socket>((resolve) => backend.app.server.once('connection', resolve))
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(bytes)
  const theirs = await accepted
  return { socket, closed: new Promise((resolve) => theirs.once('close', () => resolve())) }
}

test('a connection is closed if the client reads nothing of a response, even if the client keeps sending', async () => {
  const { socket, closed } = await open(large)
  const sending = setInterval(() => socket.writable && socket.write('GET'), 100)
  const began = performance.now()
  await closed
  clearInterval(sending)
  expect(performance.now() - began).toBeGreaterThan(300)
  socket.destroy()
})

test('a client that reads slowly gets the whole response', async () => {
  const { socket } = await open(large)
  const began = performance.now()
  let read = 0
  socket.on('data', (piece: Buffer) => {
    read += piece.length
    if (performance.now() - began > 1_500) return
    socket.pause()
    void pause(5).then(() => socket.resume())
  })
  socket.resume()
  await new Promise((resolve) => socket.once('end', resolve))
  expect(performance.now() - began).toBeGreaterThan(1_200)
  expect(read).toBeGreaterThan(size)
})
