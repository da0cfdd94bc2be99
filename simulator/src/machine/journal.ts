import { randomBytes } from 'node:crypto'
import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'

/** An entry of the event stream, encoded only when read. */
export interface JournalEvent {
  id: string
  at: number
  actorId: string
  schema: DescMessage
  payload: MessageInitShape<DescMessage>
}

/** Encodes an event. Talos uses its own prefix for the type URL. */
export const packed = ({
  schema,
  payload,
}: JournalEvent): { typeUrl: string; value: Uint8Array } => ({
  typeUrl: `talos/runtime/${schema.typeName}`,
  value: toBinary(schema, create(schema, payload)),
})

/**
 * Events that a reader gets: the capacity of the stream minus a gap (Talos: v1alpha1_controller.go,
 * NewEvents(1000, 10)).
 */
const MAX_EVENTS = 990
const MAX_LINES = 500

let counter = randomBytes(3).readUIntBE(0, 3)
const MACHINE_BYTES = randomBytes(5)

/** A 20-character id that sorts by time, like github.com/rs/xid, which Talos uses for events. */
const xid = (now: number): string => {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(Math.floor(now / 1000), 0)
  MACHINE_BYTES.copy(bytes, 4)
  counter = (counter + 1) & 0xff_ff_ff
  bytes.writeUIntBE(counter, 9, 3)
  // 12 bytes are 96 bits: twenty digits of five bits, the last with four zeros.
  return (BigInt(`0x${bytes.toString('hex')}`) << 4n).toString(32).padStart(20, '0')
}

/**
 * `2026/11/20 21:57:48.573137`, as machined writes it (Talos: logging/circular.go, timeStampWriter:
 * Go's log.LstdFlags with microseconds).
 */
const goTime = (now: number): string => {
  if (now !== timeOf.now)
    timeOf = {
      now,
      text: `${new Date(now).toISOString().slice(0, 23).replace('T', ' ').replaceAll('-', '/')}000`,
    }
  return timeOf.text
}
/**
 * The last time that was written, because calls that arrive together end in the same millisecond.
 */
let timeOf = { now: Number.NaN, text: '' }

/** A ring buffer of entries, numbered since the machine started. */
export class Ring<T> {
  #items: T[] = []
  /** Number of entries since the start. */
  total = 0
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: T): void {
    this.#items.push(item)
    this.total++
    if (this.#items.length > this.#limit) this.#items.shift()
  }

  /** The kept entries from this number on. */
  since(number: number): T[] {
    return this.#items.slice(Math.max(0, this.#items.length - (this.total - number)))
  }
}

/**
 * Events, kernel messages and service logs of a server. In memory and lost on reboot, as on a real
 * server.
 */
export class Journal {
  events = new Ring<JournalEvent>(MAX_EVENTS)
  kernelLines = new Ring<string>(MAX_LINES)
  #logs = new Map<string, Ring<string>>()
  readonly #now: () => number
  readonly #watchers = new Set<() => void>()
  bootedAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Clears everything, for a new boot. */
  restart(): void {
    this.events = new Ring(MAX_EVENTS)
    this.kernelLines = new Ring(MAX_LINES)
    this.#logs = new Map()
    this.bootedAt = this.#now()
    this.changed()
  }

  event<Desc extends DescMessage>(
    schema: Desc,
    payload: MessageInitShape<Desc>,
    actorId = '',
  ): void {
    const at = this.#now()
    this.events.push({ id: xid(at), at, actorId, schema, payload })
    this.changed()
  }

  kernel(message: string, facility: 'kern' | 'user' = 'user', priority = 'warning'): void {
    this.kernelLines.push(
      `${facility}: ${priority.padStart(7)}: [${new Date(this.#now()).toISOString()}]: ${message}`,
    )
    // machined's messages go to the kernel's log and to machined's own log (Talos:
    // v1alpha1_controller.go, kmsg.SetupLogger).
    if (message.startsWith('[talos] ') || message.startsWith('level='))
      this.log('machined', message)
    else this.changed()
  }

  log(service: string, message: string): void {
    this.#write(service, message)
    this.changed()
  }

  /**
   * Logs an API call, only to machined's log and without notifying watchers: otherwise a watcher
   * would wake itself by its own call.
   */
  called(message: string): void {
    this.#write('machined', `machined ${message}`)
  }

  #write(service: string, message: string): void {
    let lines = this.#logs.get(service)
    if (!lines) this.#logs.set(service, (lines = new Ring(MAX_LINES)))
    lines.push(
      `${service === 'machined' ? goTime(this.#now()) : new Date(this.#now()).toISOString()} ${message}`,
    )
  }

  get logNames(): string[] {
    return [...this.#logs.keys()]
  }

  logLines(service: string): Ring<string> | undefined {
    return this.#logs.get(service)
  }

  /** Calls `onChange` after each change. Returns a function that removes `onChange`. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }

  /** Notifies all watchers of this machine, including those of its resources. */
  changed(): void {
    for (const onChange of this.#watchers) onChange()
  }

  /** Resolves after the next change, or when the signal aborts. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#watchers.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      if (signal.aborted) return resolve()
      this.#watchers.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
