/**
 * A proxy in front of an installation that can hold traffic back. The browser then sees a server
 * that accepts connections but never answers.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  url: string
  /**
   * Holds back all traffic in both directions. Connections stay open, and new connections are
   * accepted.
   */
  shut(): void
  /** Sends the traffic that was held back, and lets traffic through again. */
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
