import { createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { Duplex } from 'node:stream'

const BYTE_EVERY_MS = 1_000

/** A connection that sends one byte per second of real time. */
class Drip extends Duplex {
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

  override _write(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    let sent = 0
    const next = (): void => {
      if (this.destroyed || this.#socket.destroyed)
        return done(new Error('the connection is closed'))
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

/** Fault of a listening port. `refuse` closes the port. */
export type PortTrouble = 'refuse' | 'hang' | 'drip' | 'garbage' | null

/** Speaks TLS on a connected stream. */
export interface Speaker {
  emit(event: 'connection', stream: Duplex): boolean
}

const IDLE_MS = 1_000
/** Time that pending responses get when the API stops. */
const GRACE_MS = 150

/**
 * A listening port of a simulated server. It drops its TLS server soon after the last connection,
 * so that an idle server costs little more than its sockets. The maintenance API keeps its own.
 */
export class Port {
  #address: string
  readonly port: number
  readonly #servers = new Map<string, Server>()
  #shared: readonly string[] = []
  #makeSpeaker: (() => Speaker) | null = null
  #speaker: Speaker | null = null
  /**
   * Whether the machine's firewall lets new connections from an address in. Connections that exist
   * go on (Talos: nftables_chain_config.go, the state `established`).
   */
  admits: (from: string) => boolean = () => true
  #trouble: PortTrouble = null
  #isHidden = false
  readonly #sockets = new Set<Socket>()
  #idle: NodeJS.Timeout | undefined

  constructor(address: string, port: number) {
    this.#address = address
    this.port = port
  }

  get address(): string {
    return this.#address
  }

  /** Whether the port accepts connections. */
  get isOpen(): boolean {
    return this.#servers.get(this.address)?.listening === true
  }

  /**
   * Checks that the address is available, without answering on it. Rejects with the system's error
   * if it isn't.
   */
  async probe(): Promise<void> {
    const server = createServer()
    await started(server, this.port, this.address)
    server.close()
    await once(server, 'close')
  }

  /**
   * Starts to answer. Existing connections stay open for a moment, so that pending responses
   * arrive. Rejects with the system's error if the address isn't available.
   */
  async open(makeSpeaker: () => Speaker): Promise<void> {
    this.#retire()
    this.#makeSpeaker = makeSpeaker
    this.#speaker = null
    await this.#listen()
  }

  /** Uses a new TLS server, and thus the current certificate, for new connections. */
  renew(): void {
    this.#speaker = null
  }

  /** Closes the port: at once, like a power cut, or gently after pending responses. */
  close({ gently = false } = {}): void {
    this.#makeSpeaker = null
    this.#speaker = null
    if (gently) this.#retire()
    else this.cut()
    this.#shared = []
    this.#unlisten()
  }

  /**
   * Also answers at these virtual addresses while the port is open, unless another machine uses
   * them.
   */
  async share(addresses: readonly string[]): Promise<void> {
    this.#shared = this.#makeSpeaker ? addresses : []
    for (const [address, server] of this.#servers) {
      if (address === this.address || this.#shared.includes(address)) continue
      server.close()
      this.#servers.delete(address)
    }
    await this.#listen()
  }

  /** Answers at another address. The response to the call that led to this is still sent. */
  async move(address: string): Promise<void> {
    if (address === this.#address) return
    this.#address = address
    if (this.#servers.size > 0) this.#retire()
    this.#unlisten()
    await this.#listen()
  }

  /** Stops to answer while the machine doesn't have its address. */
  async hide(isHidden: boolean): Promise<void> {
    if (isHidden === this.#isHidden) return
    this.#isHidden = isHidden
    if (isHidden) {
      // The response to the call is still sent before the connections end.
      this.#retire()
      this.#unlisten()
    } else await this.#listen()
  }

  async trouble(trouble: PortTrouble): Promise<void> {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.cut()
    if (trouble === 'refuse') this.#unlisten()
    else await this.#listen()
  }

  async #listen(): Promise<void> {
    if (!this.#makeSpeaker || this.#isHidden || this.#trouble === 'refuse') return
    for (const address of [this.address, ...this.#shared]) {
      if (this.#servers.has(address)) continue
      const server = createServer((socket) => this.#accept(socket))
      this.#servers.set(address, server)
      try {
        await started(server, this.port, address)
      } catch (cause) {
        if (this.#servers.get(address) === server) this.#servers.delete(address)
        if (address === this.address) throw cause
      }
      // The port was closed in the meantime.
      if (this.#servers.get(address) !== server) server.close()
    }
  }

  #unlisten(): void {
    for (const server of this.#servers.values()) server.close()
    this.#servers.clear()
  }

  #retire(): void {
    const leaving = [...this.#sockets]
    if (leaving.length > 0)
      setTimeout(() => leaving.forEach((socket) => socket.destroy()), GRACE_MS).unref()
  }

  /** Ends all connections, like a pulled cable. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
    clearTimeout(this.#idle)
  }

  #accept(socket: Socket): void {
    clearTimeout(this.#idle)
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#sockets.size === 0) {
        this.#idle = setTimeout(() => (this.#speaker = null), IDLE_MS)
        this.#idle.unref()
      }
    })
    if (this.#trouble === 'hang' || !this.admits(socket.remoteAddress ?? ''))
      return void socket.resume()
    if (this.#trouble === 'garbage')
      return void socket.end(
        'HTTP/1.1 418 I am a simulated printer\r\n\r\n\u0000\u0001\u0002garbage',
      )
    try {
      this.#speaker ??= this.#makeSpeaker?.() ?? null
      if (!this.#speaker) return void socket.destroy()
      this.#speaker.emit('connection', this.#trouble === 'drip' ? new Drip(socket) : socket)
    } catch {
      this.#speaker = null
      socket.destroy()
    }
  }
}

/** Resolves when the server listens, or when it is closed before that. */
const started = (server: Server, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('listening', resolve)
    server.once('close', resolve)
    server.once('error', reject)
    server.listen(port, address)
  })
