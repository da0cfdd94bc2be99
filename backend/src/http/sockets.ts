/** Sockets that one address may hold open: a thousand slow ones must not shut everybody else out. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Network } from '../network.ts'
import { countedSource } from '../network.ts'

const mostSockets = 1_000
const mostPerAddress = 50

export function limitSockets(server: Server, { trusted }: { trusted: readonly Network[] }): void {
  server.maxConnections = mostSockets
  const perAddress = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const source = socket.remoteAddress && countedSource(socket.remoteAddress, trusted)
    if (!source) return
    const open = (perAddress.get(source) ?? 0) + 1
    if (open > mostPerAddress) {
      socket.destroy()
      return
    }
    perAddress.set(source, open)
    socket.once('close', () => {
      const left = perAddress.get(source)! - 1
      if (left === 0) perAddress.delete(source)
      else perAddress.set(source, left)
    })
  })
}
