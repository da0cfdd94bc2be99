/**
 * Requests over HTTP. They do what `fetch` does, and know authorities from a file and proxies,
 * which the `fetch` of Node 20 doesn't.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import * as tls from 'node:tls'
import { OutOfTime, ProxyRefused } from '#contract/connections/causes.ts'
import { connectionReason } from '#contract/connections/words.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine } from '../text.ts'
import { proxyFor } from './proxy.ts'

/** How long a connection may take, in ms: much shorter than some calls work. */
const connectMs = 30_000

interface Request {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}
export type Transport = (url: string, request: Request) => Promise<Response>

/**
 * The authorities of Node.js and those of a file. Throws CliError if the file has no certificate.
 */
async function authorities(file: string): Promise<string[]> {
  const text = await readText(file)
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new CliError('usage', `${oneLine(file)} has no certificate in PEM form`)
  // Node 20 lacks the function.
  const { getCACertificates }: Partial<Pick<typeof tls, 'getCACertificates'>> = tls
  const known: readonly string[] = getCACertificates?.('default') ?? tls.rootCertificates
  return [...known, text]
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')
const isTlsUrl = (url: URL): boolean => url.protocol === 'https:'
const authorization = ({ username, password }: URL) =>
  username === ''
    ? {}
    : {
        'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`,
      }

const refusedBy = (proxy: URL, { statusCode = 0, headers }: IncomingMessage): ProxyRefused =>
  new ProxyRefused(statusCode, [headers['proxy-authenticate'] ?? ''], proxy.username !== '')

/** A connection to the host and port of `url` through a proxy (RFC 9110 §9.3.6). */
function tunnel(
  proxy: URL,
  url: URL,
  ca: string[] | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const target = `${url.hostname}:${url.port || '443'}`
  return new Promise((resolve, reject) => {
    const asked = (isTlsUrl(proxy) ? requestHttps : requestHttp)({
      host: hostOf(proxy),
      port: proxy.port || (isTlsUrl(proxy) ? 443 : 80),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...authorization(proxy) },
      agent: false,
      ca,
    })
    const end = () => asked.destroy(signal.reason as Error)
    signal.addEventListener('abort', end, { once: true })
    const done = () => signal.removeEventListener('abort', end)
    asked.once('connect', (answer, socket) => {
      done()
      if (answer.statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(refusedBy(proxy, answer))
    })
    asked.once('error', (cause) => {
      done()
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new CliError(
              'unreachable',
              `The proxy ${proxy.origin} could not be reached: ${connectionReason(cause)}`,
              {
                cause,
                hint: 'HTTPS_PROXY names the proxy, and NO_PROXY the hosts that are reached without it',
              },
            ),
      )
    })
    asked.end()
  })
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
  return headers
}

/** @param caFile PEM file of further authorities */
export function openTransport(env: Terminal['env'], caFile: string | undefined): Transport {
  let known: Promise<string[]> | undefined
  return async (address, { method = 'GET', headers = {}, body, signal }) => {
    signal.throwIfAborted()
    const url = new URL(address)
    const isTls = isTlsUrl(url)
    const ca = caFile !== undefined && isTls ? await (known ??= authorities(caFile)) : undefined
    const proxy = proxyFor(url, env)
    const socket = proxy && isTls ? await tunnel(proxy, url, ca, signal) : undefined
    const overTunnel = socket && {
      createConnection: () =>
        tls.connect({
          socket,
          host: hostOf(url),
          ...(isIP(hostOf(url)) === 0 && { servername: hostOf(url) }),
          ca,
        }),
    }
    // Without TLS the proxy gets the whole address and the request (RFC 9112 §3.2.2).
    const direct = proxy && !isTls ? proxy : url
    return new Promise((resolve, reject) => {
      const request = (isTls ? requestHttps : requestHttp)({
        host: hostOf(direct),
        port: direct.port || (isTls ? 443 : 80),
        path: direct === url ? `${url.pathname}${url.search}` : url.href,
        method,
        headers: {
          ...headers,
          ...(direct !== url && { host: url.host, ...authorization(direct) }),
        },
        ...(isTls && { ca }),
        ...overTunnel,
      })
      let answered: IncomingMessage | undefined
      const abort = () => {
        answered?.destroy(signal.reason as Error)
        request.destroy(signal.reason as Error)
      }
      signal.addEventListener('abort', abort, { once: true })
      request.once('close', () => signal.removeEventListener('abort', abort))
      request.on('error', reject)
      request.once('socket', (socket) => {
        if (!socket.connecting) return
        const late = () => request.destroy(new OutOfTime(connectMs))
        const timer = setTimeout(late, connectMs)
        const done = () => clearTimeout(timer)
        socket.once('connect', done).once('close', done)
      })
      request.once('response', (message) => {
        answered = message
        try {
          const status = message.statusCode ?? 0
          // Of the proxy itself, because a server answers with 401.
          if (status === 407 && direct !== url) throw refusedBy(direct, message)
          const isEmpty = status === 204 || status === 304
          if (isEmpty) message.resume()
          resolve(
            new Response(isEmpty ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>), {
              status,
              headers: headersOf(message),
            }),
          )
        } catch (error) {
          request.destroy()
          reject(error)
        }
      })
      request.end(body)
    })
  }
}
