import { createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { Drip } from './drip.ts'

/** How a listening port misbehaves towards whoever connects. `refuse` closes it. */
export type PortTrouble = 'refuse' | 'hang' | 'drip' | 'garbage' | null

/** Takes a connected stream over and speaks TLS on it. */
export interface Speaker {
  emit(event: 'connection', stream: Duplex): boolean
}

const IDLE_MS = 1_000
/** Talos stops its API gracefully; a reply on loopback needs far less than this. */
const GRACE_MS = 150

/**
 * One listening socket of a simulated server. The TLS side is made when somebody first connects and dropped after a while without anybody, so that a thousand
 * idle servers cost a thousand sockets and nothing else.
 */
export class Port {
  #address: string
  readonly port: number
  readonly #servers = new Map<string, Server>()
  #shared: readonly string[] = []
  #makeSpeaker: (() => Promise<Speaker>) | null = null
  #speaker: Promise<Speaker> | null = null
  #trouble: PortTrouble = null
  readonly #sockets = new Set<Socket>()
  #idle: NodeJS.Timeout | undefined

  constructor(address: string, port: number) {
    this.#address = address
    this.port = port
  }

  get address(): string {
    return this.#address
  }

  /** From now on it is that of another address. To be called while it is closed. */
  move(address: string): void {
    this.#address = address
  }

  /** Whether whoever connects now is accepted. */
  get isOpen(): boolean {
    return this.#servers.get(this.address)?.listening === true
  }

  /** Rejects with the system's error when the address can't be had, without ever answering there. */
  async probe(): Promise<void> {
    const server = createServer()
    await started(server, this.port, this.address)
    server.close()
    await once(server, 'close')
  }

  /**
   * Starts to answer. Whoever is connected to what answered before keeps the connection for a moment, so that a reply under way arrives.
   * Rejects with the system's error when the address can't be had.
   */
  async open(makeSpeaker: () => Promise<Speaker>): Promise<void> {
    this.#retire()
    this.#makeSpeaker = makeSpeaker
    this.#speaker = null
    await this.#listen()
  }

  /** New connections get a new TLS side, with whatever certificate is right then; those under way stay. */
  renew(): void {
    this.#speaker = null
  }

  /** Stops to answer: at once, as when power is lost, or after a moment for replies under way. */
  close({ gently = false } = {}): void {
    this.#makeSpeaker = null
    this.#speaker = null
    if (gently) this.#retire()
    else this.#cut()
    this.#shared = []
    this.#unlisten()
  }

  /** Answers at these addresses too, as long as it is open and nobody else has them; the virtual addresses of a control plane. */
  async share(addresses: readonly string[]): Promise<void> {
    this.#shared = this.#makeSpeaker ? addresses : []
    for (const [address, server] of this.#servers) {
      if (address === this.address || this.#shared.includes(address)) continue
      server.close()
      this.#servers.delete(address)
    }
    await this.#listen()
  }

  async trouble(trouble: PortTrouble): Promise<void> {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#cut()
    if (trouble === 'refuse') this.#unlisten()
    else await this.#listen()
  }

  /** Ends all connections without a word, as a pulled cable or a lost route would after a while. */
  cut(): void {
    this.#cut()
  }

  async #listen(): Promise<void> {
    if (!this.#makeSpeaker || this.#trouble === 'refuse') return
    for (const address of [this.address, ...this.#shared]) {
      if (this.#servers.has(address)) continue
      const server = createServer((socket) => void this.#accept(socket))
      this.#servers.set(address, server)
      try {
        await started(server, this.port, address)
      } catch (cause) {
        if (this.#servers.get(address) === server) this.#servers.delete(address)
        if (address === this.address) throw cause
      }
      // Closed while it was about to open.
      if (this.#servers.get(address) !== server) server.close()
    }
  }

  #unlisten(): void {
    for (const server of this.#servers.values()) server.close()
    this.#servers.clear()
  }

  #retire(): void {
    const leaving = [...this.#sockets]
    if (leaving.length > 0) setTimeout(() => leaving.forEach((socket) => socket.destroy()), GRACE_MS).unref()
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
    clearTimeout(this.#idle)
  }

  async #accept(socket: Socket): Promise<void> {
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
    if (this.#trouble === 'hang') return void socket.resume()
    if (this.#trouble === 'garbage') return void socket.end('HTTP/1.1 418 I am a simulated printer\r\n\r\n\u0000\u0001\u0002garbage')
    try {
      this.#speaker ??= this.#makeSpeaker?.() ?? null
      const speaker = await this.#speaker
      if (!speaker || socket.destroyed) return void socket.destroy()
      speaker.emit('connection', this.#trouble === 'drip' ? new Drip(socket) : socket)
    } catch {
      this.#speaker = null
      socket.destroy()
    }
  }
}

/** Resolves when the server listens or was closed again before it could. */
const started = (server: Server, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('listening', resolve)
    server.once('close', resolve)
    server.once('error', reject)
    server.listen(port, address)
  })
