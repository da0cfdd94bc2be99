import { randomBytes } from 'node:crypto'
import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'

/** One entry of the event stream. Put into bytes only for those who read it. */
export interface JournalEvent {
  id: string
  at: number
  actorId: string
  schema: DescMessage
  payload: MessageInitShape<DescMessage>
}

/** As the stream carries it: Talos puts its own prefix before the name, not that of Google's types. */
export const packed = ({ schema, payload }: JournalEvent): { typeUrl: string; value: Uint8Array } => ({
  typeUrl: `talos/runtime/${schema.typeName}`,
  value: toBinary(schema, create(schema, payload)),
})

const MAX_EVENTS = 1000
const MAX_LINES = 500

let counter = randomBytes(3).readUIntBE(0, 3)
const MACHINE_BYTES = randomBytes(5)
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

/** A 20 character id that sorts by time, in the form of github.com/rs/xid, which Talos uses for events. */
const xid = (now: number): string => {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(Math.floor(now / 1000), 0)
  MACHINE_BYTES.copy(bytes, 4)
  counter = (counter + 1) & 0xff_ff_ff
  bytes.writeUIntBE(counter, 9, 3)
  let bits = 0n
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte)
  bits <<= 4n
  return Array.from({ length: 20 }, (_, index) => ALPHABET.charAt(Number((bits >> BigInt(95 - index * 5)) & 31n))).join('')
}

/** `2026/11/20 21:57:48.573137`, as machined writes it (Talos: logging/circular.go, timeStampWriter: Go's log.LstdFlags with microseconds). */
const goTime = (now: number): string => {
  const [day = '', time = ''] = new Date(now).toISOString().split('T')
  return `${day.replaceAll('-', '/')} ${time.slice(0, 12)}000`
}

/** The newest entries of something endless, each with its number since the machine started. */
export class Ring<T> {
  #items: T[] = []
  #total = 0
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get total(): number {
    return this.#total
  }

  push(item: T): void {
    this.#items.push(item)
    this.#total++
    if (this.#items.length > this.#limit) this.#items.shift()
  }

  /** Entries from this number on that are still kept; all of them from 0. */
  since(number: number): T[] {
    return this.#items.slice(Math.max(0, this.#items.length - (this.#total - number)))
  }
}

/** What a server writes while it runs: events, kernel messages, logs of services. All of it lives in memory and is gone after a reboot, as on the real thing. */
export class Journal {
  #events = new Ring<JournalEvent>(MAX_EVENTS)
  #kernel = new Ring<string>(MAX_LINES)
  #logs = new Map<string, Ring<string>>()
  readonly #now: () => number
  readonly #watchers = new Set<() => void>()
  #bootedAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Forgets everything: the machine starts anew. */
  restart(): void {
    this.#events = new Ring(MAX_EVENTS)
    this.#kernel = new Ring(MAX_LINES)
    this.#logs = new Map()
    this.#bootedAt = this.#now()
    this.changed()
  }

  event<Desc extends DescMessage>(schema: Desc, payload: MessageInitShape<Desc>, actorId = ''): void {
    const at = this.#now()
    this.#events.push({ id: xid(at), at, actorId, schema, payload })
    this.changed()
  }

  kernel(message: string, facility: 'kern' | 'user' = 'user', priority = 'warning'): void {
    this.#kernel.push(`${facility}: ${priority.padStart(7)}: [${new Date(this.#now()).toISOString()}]: ${message}`)
    // What machined says goes to both (Talos: v1alpha1_controller.go, kmsg.SetupLogger).
    if (message.startsWith('[talos] ') || message.startsWith('level=')) this.log('machined', message)
    else this.changed()
  }

  log(service: string, message: string): void {
    this.#write(service, message)
    this.changed()
  }

  /** A call of the API, as it stands in machined's log and nowhere else. It wakes nobody: otherwise whoever watches would be woken by having been answered. */
  called(message: string): void {
    this.#write('machined', `machined ${message}`)
  }

  #write(service: string, message: string): void {
    let lines = this.#logs.get(service)
    if (!lines) this.#logs.set(service, (lines = new Ring(MAX_LINES)))
    lines.push(`${service === 'machined' ? goTime(this.#now()) : new Date(this.#now()).toISOString()} ${message}`)
  }

  get events(): Ring<JournalEvent> {
    return this.#events
  }

  get kernelLines(): Ring<string> {
    return this.#kernel
  }

  get logNames(): string[] {
    return [...this.#logs.keys()]
  }

  logLines(service: string): Ring<string> | undefined {
    return this.#logs.get(service)
  }

  get bootedAt(): number {
    return this.#bootedAt
  }

  /** Calls back after each change until the answer is called. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }

  /** Wakes everybody who follows something of this machine, its resources included. */
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
