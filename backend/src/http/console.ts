/**
 * Serves the console's files from a list made at the start. Other paths are not files, so no path
 * leads out of the folder. Browsers cache files with a hash in their name permanently; index.html
 * is generated for each response, with its own nonce.
 */
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstat,
  openSync,
  readdirSync,
  readFileSync,
  read as readFrom,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { contentPolicy } from './headers.ts'
import { hasTag } from './tags.ts'

type File = NonNullable<ReturnType<typeof fileOf>>
export type ConsoleFiles = ReturnType<typeof consoleFiles>

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
}

/** A file that the build writes for the server. It is never served. */
const buildFile = 'build.json'
const indexFile = 'index.html'
const noncePlaceholder = '__NONCE__'
const eventPlaceholder = '__LAST_EVENT__'

/** The bytes of a file: in memory, or in the open file, which `close` releases. */
interface Content {
  bytes?: Buffer
  read: () => Buffer | Promise<Buffer>
  close?: () => void
}

const unzip = promisify(gunzip)
const readOpened = promisify(readFrom)
const statOpened = promisify(fstat)

const read = (file: string): Buffer | undefined =>
  existsSync(file) ? readFileSync(file) : undefined

function inMemory(file: string): Content {
  const bytes = readFileSync(file)
  return { bytes, read: () => bytes }
}

/**
 * Reads from the open file, so that the bytes stay those of the start, also after a new build has
 * deleted the file.
 */
function onDisk(file: string): Content {
  const opened = openSync(file, 'r')
  return {
    read: async () => {
      const { size } = await statOpened(opened)
      const { bytesRead, buffer } = await readOpened(
        opened,
        Buffer.allocUnsafeSlow(size),
        0,
        size,
        0,
      )
      if (bytesRead < size) throw new Error(`${file} was changed while it was read`)
      return buffer
    },
    close: () => closeSync(opened),
  }
}

/** `beside`: the paths of all files that the build wrote. */
function fileOf(file: string, name: string, beside: ReadonlySet<string>) {
  const type = types[path.extname(name)]
  if (!type) return undefined
  // Files in `assets` are named after their content, so they never change, and browsers read them
  // once. In memory they would take 1.5 MB.
  const isLasting = name.startsWith('/assets/')
  const contentOf = isLasting ? onDisk : inMemory
  const compressed = (ending: string) =>
    beside.has(file + ending) ? contentOf(file + ending) : undefined
  const br = compressed('.br')
  const gzip = compressed('.gz')
  // Nearly all clients accept gzip, so the plain bytes would only take memory.
  const plain = gzip ? undefined : contentOf(file)
  const bytes = (gzip ?? plain)?.bytes
  const tag = bytes
    ? createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    : path.basename(name)
  return { type, plain, br, gzip, etag: `"${tag}"`, isLasting }
}

/** Reads the folder of the build, if it exists, and the CLI's bundle. */
export function consoleFiles(folder: string, cliFile: string) {
  const files = new Map<string, File>()
  const entries = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
    : []
  const built = new Set(
    entries
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name)),
  )
  for (const file of built) {
    const name = `/${path.relative(folder, file).split(path.sep).join('/')}`
    const found =
      name === `/${buildFile}` || name === `/${indexFile}` ? undefined : fileOf(file, name, built)
    if (found) files.set(name, found)
  }
  if (existsSync(cliFile)) files.set('/cli', fileOf(cliFile, '/cli.mjs', new Set())!)
  const index = read(path.join(folder, indexFile))?.toString('utf8')
  const build = read(path.join(folder, buildFile))
  const connects = build ? connectedOrigins(build) : []
  return {
    /** Files by path, such as `/assets/index-abc.js`. */
    files,
    /** Other origins that the console calls. */
    connects,
    isBuilt: index !== undefined,
    sendIndex(reply: FastifyReply, lastEvent: number | undefined): FastifyReply {
      if (index === undefined)
        throw new Problem('not_found', 'The console has not been built: npm run build')
      const nonce = randomBytes(16).toString('base64url')
      return reply
        .header('content-security-policy', contentPolicy(connects, nonce))
        .header('cache-control', 'no-cache')
        .type(types['.html']!)
        .send(
          index
            .replaceAll(noncePlaceholder, nonce)
            .replace(eventPlaceholder, String(lastEvent ?? '')),
        )
    },
  }
}

/**
 * The origins of the error-reporting service and of the API, if the console was built to call
 * others than its own.
 */
function connectedOrigins(build: Buffer): string[] {
  const { reporting_origin, api_origin } = JSON.parse(build.toString('utf8')) as {
    reporting_origin?: unknown
    api_origin?: unknown
  }
  // Validated, because the origins become part of the content policy.
  const isOrigin = (origin: unknown) =>
    typeof origin === 'string' &&
    /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?$/i.test(origin)
  return [reporting_origin, api_origin].filter(isOrigin) as string[]
}

/**
 * Whether a path can be that of a page: it is not below a path of files, or of answers for
 * programs.
 */
export const isPagePath = (path: string): boolean =>
  !/^\/(?:v1|join|assets|flags|cli)(?:[/?]|$)/.test(path)

/**
 * Whether a browser asks for a page. Such a request is answered with the console, whatever its path
 * and query: its own screen says what can't be read. A missing file is a page too, but below the
 * paths of programs an error is what a browser wants to read.
 */
export const isForPage = ({
  method,
  url,
  headers,
}: Pick<FastifyRequest, 'method' | 'url' | 'headers'>): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept ?? '').includes('text/html') &&
  !/^\/(?:v1|join)(?:[/?]|$)/.test(url)

const acceptingOf = (encoding: string) =>
  new RegExp(`(?:^|,)\\s*${encoding}\\s*(?:$|[,;](?!\\s*q=0(?:\\.0*)?(?:$|,)))`)
const accepting = { br: acceptingOf('br'), gzip: acceptingOf('gzip') } as const

/**
 * Whether the client accepts the encoding (RFC 9110 §12.5.3). Only encodings given by name count;
 * `*` is ignored.
 */
export const accepts = (request: FastifyRequest, encoding: keyof typeof accepting): boolean =>
  accepting[encoding].test(request.headers['accept-encoding'] ?? '')

export function serveConsole(
  app: FastifyInstance,
  built: ConsoleFiles,
  lastEvent: () => number | undefined,
): void {
  const { files } = built
  app.addHook('onClose', async () => {
    for (const { plain, br, gzip } of files.values())
      for (const content of [plain, br, gzip]) content?.close?.()
  })
  // One route for each folder: a route for each of five hundred files takes a tenth of the time of
  // a start.
  const places = new Set(Array.from(files.keys(), (name) => name.replace(/(?<=^\/[^/]+\/).*/, '*')))
  for (const place of places) {
    app.get(place, { config: { open: true } }, async (request, reply) => {
      const file = files.get(place.replace('*', (request.params as { '*'?: string })['*'] ?? ''))
      if (!file) {
        if (built.isBuilt && isForPage(request)) return built.sendIndex(reply, lastEvent())
        throw new Problem('not_found', 'There is no such path')
      }
      void reply
        .header('etag', file.etag)
        .header('vary', 'accept-encoding')
        .header(
          'cache-control',
          file.isLasting ? 'public, max-age=31536000, immutable' : 'no-cache',
        )
      if (hasTag(request.headers['if-none-match'], file.etag)) return reply.status(304).send()
      const encoding = (['br', 'gzip'] as const).find((one) => file[one] && accepts(request, one))
      if (encoding) void reply.header('content-encoding', encoding)
      const bytes = encoding
        ? await file[encoding]!.read()
        : file.plain
          ? await file.plain.read()
          : await unzip(await file.gzip!.read())
      return reply.type(file.type).send(bytes)
    })
  }
}
