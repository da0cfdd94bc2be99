/** Cuts connections whose peer doesn't read, so that their answers don't stay in memory. */
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** How long an answer or a live event may lie there without a byte of it being taken. */
export const stalledMs = 10_000

/** How often it is looked at meanwhile. */
const looks = 10

/** Bytes that the kernel has not taken yet. A large answer is one write, so only the handle knows how far it is: Node's own time limit on sockets asks it too. */
const queuedBytes = (socket: Socket): number => (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? socket.writableLength

/** Watches an answer that has been handed to its socket. What the peer sends is no sign that it reads: that alone counts which leaves the queue. */
export function cutWhereStalled(response: ServerResponse, withinMs: number): void {
  const { socket } = response
  // A request that a test injects has none.
  if (!(socket instanceof Socket) || socket.destroyed || response.writableFinished) return
  let left = queuedBytes(socket)
  let without = 0
  const timer = setInterval(() => {
    const now = queuedBytes(socket)
    without = now === left ? without + 1 : 0
    left = now
    if (without >= looks) socket.destroy()
  }, withinMs / looks)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}
