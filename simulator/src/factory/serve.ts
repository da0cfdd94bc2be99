import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import * as z from 'zod/mini'
import { wholeBody } from '../body.ts'
import { isObject } from '../config/shape.ts'
import { readState, writeState } from '../store.ts'
import { assetOf, contentOf, contentType, pxeScript } from './assets.ts'
import { extensionsOf, Missing, VERSIONS, versionOf } from './catalogue.ts'
import { Invalid, readSchematic, type Schematic } from './schematic.ts'

/**
 * Faults of the factory, until cleared. `down`: nothing listens. `slow`: every response is delayed.
 * `nonsense`: the factory answers, but with an HTML page, half a JSON text, the id of another
 * schematic, or an endless body. `refuse`: every call gets the given status with a line of text.
 * `old`: it knows no `embeddedMachineConfiguration` (image-factory before 1.4.0).
 */
export const factoryFaultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('down') }),
  z.strictObject({
    kind: z.literal('slow'),
    ms: z._default(z.int().check(z.minimum(1), z.maximum(3_600_000)), 30_000),
  }),
  z.strictObject({
    kind: z.literal('nonsense'),
    what: z._default(z.enum(['page', 'half', 'other-id', 'endless']), 'page'),
  }),
  z.strictObject({
    kind: z.literal('refuse'),
    status: z._default(z.int().check(z.minimum(400), z.maximum(599)), 403),
  }),
  z.strictObject({ kind: z.literal('old') }),
])
export type FactoryFault = z.infer<typeof factoryFaultSchema>

interface Kept {
  port: number
  schematics: string[]
}

const MAX_BODY_BYTES = 1024 * 1024
/** Headers of every response, which show that this isn't a factory of Sidero Labs. */
const HEADERS = { 'x-simulated': 'steelyard-simulator', server: 'image-factory (simulated)' }

/**
 * Starts an image factory on 127.0.0.1. `file` stores the schematics and the port; without a file
 * both are lost on stop. The factory reuses its port on the next start, so that links keep working.
 * Rejects if a requested port is in use.
 */
export const startFactory = async (
  options: { file?: string; port?: number } = {},
): Promise<Factory> => {
  const kept = options.file === undefined ? null : (readState(options.file) as Kept | null)
  const factory = new Factory(options.file, kept?.schematics ?? [])
  await factory.start(options.port ?? kept?.port ?? 0, options.port !== undefined)
  return factory
}

export class Factory {
  /** Number of answered calls, and how many of them posted a schematic. */
  readonly counters = { calls: 0, schematics: 0 }
  readonly #file: string | undefined
  readonly #schematics = new Map<string, Schematic>()
  #server: Server | null = null
  #port = 0
  faulty: FactoryFault | null = null
  readonly #late = new Set<NodeJS.Timeout>()

  constructor(file: string | undefined, texts: readonly string[]) {
    this.#file = file
    // The schematic of plain Talos: a public factory already has it from other users.
    for (const text of ['customization: {}\n', ...texts]) this.#add(readSchematic(text))
  }

  /** The factory's URL without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** A stored schematic, or undefined. */
  schematic(id: string): Schematic | undefined {
    return this.#schematics.get(id)
  }

  /** All stored schematics, the newest last. */
  get schematics(): Schematic[] {
    return [...this.#schematics.values()]
  }

  async start(port: number, isWanted: boolean): Promise<void> {
    try {
      await this.#listen(port)
    } catch (cause) {
      if (isWanted || port === 0) throw cause
      await this.#listen(0)
    }
    this.#write()
  }

  /** Sets a fault, or clears it with null. Resolves when the change is effective. */
  async fault(given: z.input<typeof factoryFaultSchema> | null): Promise<void> {
    this.faulty = given === null ? null : factoryFaultSchema.parse(given)
    if (this.faulty?.kind === 'down') await this.#close()
    else if (!this.#server) await this.#listen(this.#port)
  }

  async stop(): Promise<void> {
    for (const timer of this.#late) clearTimeout(timer)
    await this.#close()
  }

  async #listen(port: number): Promise<void> {
    const server = createServer((request, response) => void this.#handle(request, response))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
    const address = server.address()
    if (isObject(address)) this.#port = Number(address.port)
  }

  async #close(): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = null
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }

  #add(schematic: Schematic): void {
    this.#schematics.delete(schematic.id)
    this.#schematics.set(schematic.id, schematic)
  }

  #write(): void {
    if (this.#file !== undefined)
      writeState(this.#file, {
        port: this.#port,
        schematics: [...this.#schematics.values()].map(({ text }) => text),
      } satisfies Kept)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.counters.calls++
    const answer = await this.#answer(request)
    const fault = this.faulty
    if (fault?.kind !== 'slow') return send(request, response, answer)
    const timer = setTimeout(() => {
      this.#late.delete(timer)
      send(request, response, answer)
    }, fault.ms)
    this.#late.add(timer)
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const fault = this.faulty
    if (fault?.kind === 'refuse')
      return plain(fault.status, 'the simulated image factory refuses because of a fault')
    if (fault?.kind === 'nonsense' && fault.what !== 'other-id') return nonsense(fault.what)
    try {
      return await this.#route(request)
    } catch (cause) {
      const status = cause instanceof Missing ? 404 : cause instanceof Invalid ? 400 : 500
      return plain(status, cause instanceof Error ? cause.message : String(cause))
    }
  }

  async #route(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url)
    const [, noun = '', ...rest] = pathname.split('/').map(decodeURIComponent)
    const reads = request.method === 'GET'
    if (noun === 'schematics' && rest.length === 0)
      return request.method === 'POST'
        ? this.#create(
            await wholeBody(
              request,
              MAX_BODY_BYTES,
              () => new Invalid('the schematic is too large'),
            ),
          )
        : notAllowed
    if (noun === 'image' && rest.length === 3)
      return reads || request.method === 'HEAD'
        ? this.#image(rest, searchParams.get('filename'))
        : notAllowed
    if (!ROUTES.test(pathname)) return plain(404, '404 page not found')
    if (!reads) return notAllowed
    if (noun === 'healthz') return plain(200, '')
    if (noun === 'versions') return json(200, searchParams.get('broken') === 'true' ? [] : VERSIONS)
    if (noun === 'schematics') {
      const found = this.#schematics.get(rest[0] ?? '')
      return found
        ? { status: 200, type: 'application/yaml', body: found.text }
        : plain(404, 'schematic not found')
    }
    if (noun === 'version')
      return json(
        200,
        rest[1] === 'extensions'
          ? extensionsOf(versionOf(rest[0] ?? ''))
          : versionOf(rest[0] ?? '') && [],
      )
    const [id = '', version = '', path = ''] = rest
    const schematic = this.#known(id)
    const tag = versionOf(version)
    const asset = assetOf(`cmdline-${path}`)
    return {
      status: 200,
      type: 'text/plain; charset=utf-8',
      body: pxeScript(this.url, asset, schematic, tag),
    }
  }

  #known(id: string): Schematic {
    const found = this.#schematics.get(id)
    if (!found) throw new Missing(`schematic ID ${JSON.stringify(id)} not found`)
    return found
  }

  #create(body: Buffer): Answer {
    const schematic = readSchematic(body.toString('utf8'))
    if (this.faulty?.kind === 'old' && schematic.embedded !== '')
      throw new Invalid(
        'yaml: unmarshal errors:\n  line 2: field embeddedMachineConfiguration not found in type schematic.Customization',
      )
    this.#add(schematic)
    this.counters.schematics++
    this.#write()
    const isLying = this.faulty?.kind === 'nonsense'
    return json(201, {
      id: isLying ? schematic.id.split('').toReversed().join('') : schematic.id,
      schematic: schematic.text,
    })
  }

  #image([id = '', version = '', path = '']: string[], filename: string | null): Answer {
    if (/\.sha(?:256|512)$/.test(path))
      return plain(402, 'enterprise not enabled: checksum endpoint is not available')
    const schematic = this.#known(id)
    const tag = versionOf(version)
    const body = contentOf(assetOf(path), schematic, tag)
    const name = (filename ?? path).replaceAll(/[^\w.-]/g, '_')
    return {
      status: 200,
      type: contentType(path),
      body,
      headers: { 'content-disposition': `attachment; filename="${name}"` },
    }
  }
}

const ROUTES =
  /^\/(?:healthz|versions|schematics\/[^/]+|version\/[^/]+\/(?:extensions|overlays)\/official|pxe\/[^/]+\/[^/]+\/[^/]+)$/

interface Answer {
  status: number
  type: string
  body: string
  headers?: Record<string, string>
  endless?: boolean
}

const plain = (status: number, text: string): Answer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: text === '' ? '' : `${text}\n`,
})
const json = (status: number, value: unknown): Answer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(value)}\n`,
})
const notAllowed = plain(405, 'Method Not Allowed')

const nonsense = (what: 'page' | 'half' | 'endless'): Answer =>
  what === 'page'
    ? {
        status: 200,
        type: 'text/html',
        body: '<!doctype html><title>Simulated</title><p>This is not an image factory.</p>\n',
      }
    : { status: 200, type: 'application/json', body: '{"id":"3765', endless: what === 'endless' }

const send = (
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body, headers, endless }: Answer,
): void => {
  if (response.destroyed) return
  const length = endless === true ? {} : { 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, { ...HEADERS, 'content-type': type, ...length, ...headers })
  if (endless === true) return pour(response)
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Sends text until the client disconnects. */
const pour = (response: ServerResponse): void => {
  const more = (): void => {
    while (!response.destroyed && response.write('nonsense '.repeat(1000)));
  }
  response.on('drain', more)
  more()
}
