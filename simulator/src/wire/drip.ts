import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

const BYTE_EVERY_MS = 1_000

/** A connection that sends one byte per second of real time. */
export class Drip extends Duplex {
  readonly #socket: Socket
  #timer: NodeJS.Timeout | undefined

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    let sent = 0
    const next = (): void => {
      if (this.destroyed || this.#socket.destroyed) return done(new Error('the connection is closed'))
      if (sent >= chunk.length) return done()
      this.#socket.write(chunk.subarray(sent, ++sent))
      this.#timer = setTimeout(next, BYTE_EVERY_MS)
    }
    next()
  }

  override _final(done: () => void): void {
    this.#socket.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#socket.destroy()
    done(error)
  }
}
