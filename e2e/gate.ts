/** A connection to an installation that can be held back: for its browser it is a server that takes questions and never answers. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  url: string
  /** From now on nothing passes in either direction; connections stay open, and new ones are taken. */
  shut(): void
  /** What was held back passes. */
  open(): void
  close(): Promise<void>
}

export async function gateTo(url: string): Promise<Gate> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let isShut = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (isShut) from.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, target.hostname, resolve))
  return {
    url: `http://${target.hostname}:${(server.address() as AddressInfo).port}`,
    shut() {
      isShut = true
      for (const socket of sockets) socket.pause()
    },
    open() {
      isShut = false
      for (const socket of sockets) socket.resume()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
