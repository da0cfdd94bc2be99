/**
 * Files that are served from a list made at the start, so that no path leads out of their folder.
 */
import { createHash } from 'node:crypto'
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
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasTag } from '../tags.ts'

export type ServedFile = NonNullable<ReturnType<typeof fileOf>>

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

/** The bytes of a file: in memory, or in the open file, which `close` releases. */
interface Content {
  bytes?: Buffer
  read: () => Buffer | Promise<Buffer>
  close?: () => void
}

const unzip = promisify(gunzip)
const readOpened = promisify(readFrom)
const statOpened = promisify(fstat)

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

/** The paths of all files below a folder, which may be absent. */
const filesBelow = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map(({ parentPath, name }) => path.join(parentPath, name))
    : []

const hashOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest('base64url').slice(0, 22)

interface Kind {
  /** Browsers keep the file for good, because its name contains a hash of its content. */
  readonly isLasting?: boolean
  /** Whether to read the file at each request, to save memory. */
  readonly isOnDisk?: boolean
  /** Headers in addition to those of every response, or instead of them. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A file; undefined if its type isn't served.
 * @param beside the paths of all files that the build wrote
 */
export function fileOf(
  file: string,
  { isLasting = false, isOnDisk = isLasting, headers = {} }: Kind = {},
  beside: ReadonlySet<string> = new Set(),
) {
  const type = types[path.extname(file)]
  if (!type) return undefined
  const contentOf = isOnDisk ? onDisk : inMemory
  const compressed = (ending: string) =>
    beside.has(file + ending) ? contentOf(file + ending) : undefined
  const br = compressed('.br')
  const gzip = compressed('.gz')
  // Nearly all clients accept gzip, so the plain bytes would only take memory.
  const plain = gzip ? undefined : contentOf(file)
  const tag = isLasting ? path.basename(file) : hashOf((gzip ?? plain)?.bytes ?? readFileSync(file))
  return { type, plain, br, gzip, etag: `"${tag}"`, isLasting, headers }
}

/**
 * The files below a folder by their path in it, such as `/assets/index-abc.js`.
 * @param kindOf undefined for a file that isn't served
 */
export function filesOf(
  folder: string,
  kindOf: (name: string) => Kind | undefined,
): Map<string, ServedFile> {
  const built = new Set(filesBelow(folder))
  const files = new Map<string, ServedFile>()
  for (const file of built) {
    const name = `/${path.relative(folder, file).split(path.sep).join('/')}`
    const kind = kindOf(name)
    const found = kind && fileOf(file, kind, built)
    if (found) files.set(name, found)
  }
  return files
}

const acceptingOf = (encoding: string) =>
  new RegExp(`(?:^|,)\\s*${encoding}\\s*(?:$|[,;](?!\\s*q=0(?:\\.0*)?(?:$|,)))`)
const accepting = { br: acceptingOf('br'), gzip: acceptingOf('gzip') } as const

/**
 * Whether the client accepts the encoding (RFC 9110 §12.5.3). Only encodings given by name count;
 * `*` is ignored.
 */
export const accepts = (request: FastifyRequest, encoding: keyof typeof accepting): boolean =>
  accepting[encoding].test(request.headers['accept-encoding'] ?? '')

/** Sends a file, compressed if the client accepts it, or 304 if the client has it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: ServedFile,
): Promise<FastifyReply> {
  void reply
    .headers(file.headers)
    .header('etag', file.etag)
    .header('vary', 'accept-encoding')
    .header('cache-control', file.isLasting ? 'public, max-age=31536000, immutable' : 'no-cache')
  if (hasTag(request.headers['if-none-match'], file.etag)) return reply.status(304).send()
  const encoding = (['br', 'gzip'] as const).find((one) => file[one] && accepts(request, one))
  if (encoding) void reply.header('content-encoding', encoding)
  const bytes = encoding
    ? await file[encoding]!.read()
    : file.plain
      ? await file.plain.read()
      : await unzip(await file.gzip!.read())
  return reply.type(file.type).send(bytes)
}
