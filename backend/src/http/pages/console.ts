/**
 * Serves the files of the console and of the documentation. Browsers cache files with a hash in
 * their name permanently; index.html is generated for each response, with its own nonce.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { fileOf, filesOf, type ServedFile, sendFile } from './files.ts'
import { contentPolicy, docsPolicy } from '../headers.ts'
import { searchFiles } from './docs-search.ts'

export type ConsoleFiles = ReturnType<typeof consoleFiles>

/** A file that the build writes for the server. It is never served. */
const buildFile = 'build.json'
const indexFile = 'index.html'
const noncePlaceholder = '__NONCE__'
const eventPlaceholder = '__LAST_EVENT__'

/** Browsers save the command line, and don't show it. */
const download = { 'content-disposition': 'attachment; filename="steelyard.mjs"' }

const read = (file: string): Buffer | undefined =>
  existsSync(file) ? readFileSync(file) : undefined

export interface Folders {
  /** Folder of the console's build, and the CLI's bundle; either may be absent. */
  readonly consoleFolder: string
  readonly cliFile: string
  /** Folder of the built documentation, which may be absent (`tools/docs`). */
  readonly docsFolder: string
}

/** Pages of the documentation are at `/docs/NAME`, the index at `/docs`. */
function docsFiles(folder: string): [string, ServedFile][] {
  const kind = { isOnDisk: true, headers: { 'content-security-policy': docsPolicy } }
  return [...filesOf(folder, (name) => (searchFiles.has(name) ? undefined : kind))].flatMap(
    ([name, file]) => {
      const url = `/docs${name.replace(/(?:\/index)?\.html$/, '')}`
      return url === '/docs'
        ? [
            [url, file],
            [`${url}/`, file],
          ]
        : [[url, file]]
    },
  )
}

/** Reads the folders of the builds, as far as they exist. */
export function consoleFiles({ consoleFolder: folder, cliFile, docsFolder }: Folders) {
  const files = filesOf(folder, (name) =>
    name === `/${buildFile}` || name === `/${indexFile}`
      ? undefined
      : // In memory these would take 1.5 MB. Browsers read them once.
        { isLasting: name.startsWith('/assets/') },
  )
  for (const [url, file] of docsFiles(docsFolder)) files.set(url, file)
  if (existsSync(cliFile)) files.set('/cli', fileOf(cliFile, { headers: download })!)
  const index = read(path.join(folder, indexFile))?.toString('utf8')
  const build = read(path.join(folder, buildFile))
  const about = build ? (JSON.parse(build.toString('utf8')) as Record<string, unknown>) : {}
  const connects = connectedOrigins(about)
  const pages = pagesOf(about)
  return {
    /** Files by path, such as `/assets/index-abc.js`. */
    files,
    /** Other origins that the console calls. */
    connects,
    isBuilt: index !== undefined,
    /** Whether the console has a page at this path. An object that the page shows may be missing. */
    isPage: (path: string): boolean => pages.test(path) && isReadable(path),
    /** Sends the console, which shows its page at the request's path, or "Page Not Found". */
    sendIndex(
      { url }: Pick<FastifyRequest, 'url'>,
      reply: FastifyReply,
      lastEvent: number | undefined,
    ): FastifyReply {
      if (index === undefined)
        throw new Problem('not_found', 'The console has not been built: npm run build')
      const nonce = randomBytes(16).toString('base64url')
      return reply
        .status(this.isPage(pathIn(url)) ? 200 : 404)
        .header('content-security-policy', contentPolicy(connects, `nonce-${nonce}`))
        .header('cache-control', 'no-cache')
        .type('text/html; charset=utf-8')
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
function connectedOrigins({ reporting_origin, api_origin }: Record<string, unknown>): string[] {
  // Validated, because the origins become part of the content policy.
  const isOrigin = (origin: unknown) =>
    typeof origin === 'string' &&
    /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?$/i.test(origin)
  return [reporting_origin, api_origin].filter(isOrigin) as string[]
}

/**
 * Matches the paths of the console's pages. The build lists them, such as `/infra/servers/$id`, as
 * the console's router reads them: case and a slash at the end make no difference.
 */
function pagesOf({ pages }: Record<string, unknown>): RegExp {
  const paths = Array.isArray(pages) ? pages.map(String) : []
  const patterns = paths.map((path) =>
    path.replaceAll('.', String.raw`\.`).replaceAll(/\$\w+/g, '[^/]+'),
  )
  return new RegExp(`^(?:${['/', ...patterns].join('|')})/?$`, 'i')
}

const pathIn = (url: string): string => url.split('?', 1)[0]!

function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/**
 * Whether a browser asks for a page. Such a request is answered with the console, whatever its path
 * and query: its own screen says what can't be found or read. Below the paths of programs an error
 * is what a browser wants to read.
 */
export const isForPage = ({
  method,
  url,
  headers,
}: Pick<FastifyRequest, 'method' | 'url' | 'headers'>): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept ?? '').includes('text/html') &&
  !/^\/(?:v1|join)(?:[/?]|$)/.test(url)

export function serveConsole(
  app: FastifyInstance,
  built: ConsoleFiles,
  lastEvent: () => number | undefined,
): void {
  const { files } = built
  app.addHook('onClose', async () => {
    // A file may have several paths.
    for (const { plain, br, gzip } of new Set(files.values()))
      for (const content of [plain, br, gzip]) content?.close?.()
  })
  // One route for each folder: a route for each of five hundred files takes a tenth of the time of
  // a start.
  const places = new Set(Array.from(files.keys(), (name) => name.replace(/(?<=^\/[^/]+\/).*/, '*')))
  for (const place of places) {
    app.get(place, { config: { open: true } }, async (request, reply) => {
      const file = files.get(place.replace('*', (request.params as { '*'?: string })['*'] ?? ''))
      if (!file) {
        if (built.isBuilt && isForPage(request)) return built.sendIndex(request, reply, lastEvent())
        throw new Problem('not_found', 'There is no such path')
      }
      return sendFile(request, reply, file)
    })
  }
}
