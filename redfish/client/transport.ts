/**
 * HTTPS to one BMC. The certificate is compared with the pinned one after the handshake, before a
 * byte of the request is sent: with `rejectUnauthorized: false` Node never calls
 * `checkServerIdentity`, and with the pinned certificate as the authority an expired one fails.
 * Every request has a connection of its own, because many BMCs cut reused ones. No redirect is
 * followed, no proxy used, nothing decompressed.
 */
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls'
import { connectionReason } from '#contract/connections/words.ts'
import { RedfishError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import { printable } from './paths.ts'

export interface Place {
  /** A literal IP address. */
  readonly address: string
  readonly port: number
}

/** What a BMC shows before anything is sent. */
export interface Certificate {
  /** SHA-256 of the certificate: 32 bytes in hexadecimal, with colons. */
  readonly fingerprint: string
  readonly subject: string
  readonly issuer: string
  /** ISO 8601; null if the certificate has no readable time. */
  readonly validFrom: string | null
  readonly validTo: string | null
}

export interface Question {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | undefined
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<{
    etag?: string | undefined
    location?: string | undefined
    'retry-after'?: string | undefined
    'x-auth-token'?: string | undefined
  }>
  readonly bytes: Uint8Array<ArrayBuffer>
}

const nameIn = (part: PeerCertificate['subject'] | undefined): string => {
  const name = part?.CN ?? part?.O ?? ''
  return printable(Array.isArray(name) ? name.join(', ') : name, 100)
}
const timeIn = (text: string | undefined): string | null => {
  const at = Date.parse(text ?? '')
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

const certificateOf = (socket: TLSSocket): Certificate => {
  const shown = socket.getPeerCertificate()
  if (!shown?.fingerprint256) throw new RedfishError('unreachable', 'The BMC shows no certificate')
  return {
    fingerprint: shown.fingerprint256,
    subject: nameIn(shown.subject),
    issuer: nameIn(shown.issuer),
    validFrom: timeIn(shown.valid_from),
    validTo: timeIn(shown.valid_to),
  }
}

const late = (limitMs: number, what: string) =>
  new RedfishError('unreachable', `${what} within ${limitMs / 1000} s`)

/** Why there is no connection. */
const noConnection = (error: unknown, { address, port }: Place): RedfishError =>
  error instanceof RedfishError
    ? error
    : new RedfishError(
        'unreachable',
        `The BMC at ${address}:${port} does not answer: ${connectionReason(error)}`,
        { cause: error },
      )

/** Connects; nothing but the handshake is sent. @throws RedfishError */
function connect(place: Place, { connectMs }: Limits, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const socket = connectTls({
      host: place.address,
      port: place.port,
      rejectUnauthorized: false,
      // A name of the certificate is not known, and an address is no name (RFC 6066).
      ...(isIP(place.address) === 0 && { servername: place.address }),
      ALPNProtocols: ['http/1.1'],
    })
    const fail = (error: unknown): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      socket.destroy()
      reject(signal.aborted ? (signal.reason as Error) : noConnection(error, place))
    }
    const aborted = (): void => fail(signal.reason)
    const timer = setTimeout(
      () => fail(late(connectMs, `${place.address}:${place.port} does not answer`)),
      connectMs,
    )
    signal.addEventListener('abort', aborted, { once: true })
    socket.once('error', fail)
    socket.once('close', () => fail(new RedfishError('unreachable', 'The BMC cut the connection')))
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      socket.removeAllListeners('close')
      socket.off('error', fail)
      // Until somebody else listens: an error without a listener would end the process.
      socket.on('error', () => undefined)
      resolve(socket)
    })
  })
}

/** The certificate that a BMC shows. Nothing is sent but the handshake. @throws RedfishError */
export async function readCertificate(
  place: Place,
  limits: Limits,
  signal: AbortSignal,
): Promise<Certificate> {
  const socket = await connect(place, limits, signal)
  try {
    return certificateOf(socket)
  } finally {
    socket.destroy()
  }
}

/** The most informational answers (1xx) before an answer. */
const mostInformational = 16

/** Collects bytes in one buffer: many small pieces would take more memory than they have bytes. */
function collector(most: number) {
  let bytes = Buffer.allocUnsafeSlow(Math.min(most, 16_384))
  let length = 0
  return {
    /** False if there would be more bytes than the maximum. */
    take(piece: Buffer): boolean {
      const needed = length + piece.length
      if (needed > most) return false
      if (needed > bytes.length) {
        const longer = Buffer.allocUnsafeSlow(Math.min(most, Math.max(2 * bytes.length, needed)))
        bytes.copy(longer, 0, 0, length)
        bytes = longer
      }
      piece.copy(bytes, length)
      length = needed
      return true
    },
    bytes: (): Uint8Array<ArrayBuffer> => new Uint8Array(bytes.subarray(0, length)),
  }
}

function exchange(
  socket: TLSSocket,
  { address, port }: Place,
  { method, path, headers, body, signal }: Question,
  { documentBytes, readMs }: Limits,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sent = requestHttp({
      createConnection: () => socket,
      method,
      path,
      headers: {
        Host: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
        Accept: 'application/json',
        // A tag of a compressed document is a weak one on some BMCs.
        'Accept-Encoding': 'identity',
        'OData-Version': '4.0',
        Connection: 'close',
        'User-Agent': 'Steelyard',
        ...(text !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(text)),
        }),
        ...headers,
      },
    })
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      sent.destroy()
      socket.destroy()
    }
    const fail = (error: unknown): void => {
      end()
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : error instanceof RedfishError
            ? error
            : new RedfishError('unreachable', 'The BMC cut the connection', { cause: error }),
      )
    }
    const aborted = (): void => fail(signal.reason)
    const timer = setTimeout(() => fail(late(readMs, 'The BMC did not answer')), readMs)
    signal.addEventListener('abort', aborted, { once: true })
    let informational = 0
    sent.on('information', () => {
      if (++informational > mostInformational)
        fail(new RedfishError('unreadable', 'The BMC sends informational answers without end'))
    })
    sent.once('error', fail)
    sent.once('response', (answer: IncomingMessage) => {
      const encoding = answer.headers['content-encoding'] ?? 'identity'
      if (encoding !== 'identity')
        return fail(
          new RedfishError('unreadable', `The BMC answers compressed (${printable(encoding, 20)})`),
        )
      const collected = collector(documentBytes)
      answer.on('data', (piece: Buffer) => {
        if (!collected.take(piece))
          fail(
            new RedfishError(
              'unreadable',
              `The BMC sent a document of more than ${documentBytes / 1024 / 1024} MiB`,
            ),
          )
      })
      answer.once('error', fail)
      answer.once('close', () =>
        fail(new RedfishError('unreachable', 'The BMC cut the connection in its answer')),
      )
      answer.once('end', () => {
        end()
        const {
          etag,
          location,
          'retry-after': retryAfter,
          'x-auth-token': token,
        } = {
          'x-auth-token': undefined,
          ...answer.headers,
        } as Record<string, string | undefined>
        resolve({
          status: answer.statusCode ?? 0,
          headers: { etag, location, 'retry-after': retryAfter, 'x-auth-token': token },
          bytes: collected.bytes(),
        })
      })
    })
    sent.end(text)
  })
}

export interface Transport extends Place {
  /** @throws RedfishError `certificate` before anything is sent; `unreachable`, `unreadable` */
  readonly ask: (question: Question) => Promise<Reply>
}

/**
 * @param place with the pinned fingerprint, without which nothing is sent
 */
export function transport(
  { address, port, fingerprint }: Place & { readonly fingerprint: string },
  limits: Limits,
): Transport {
  const place = { address, port }
  let running = 0
  const waiting: (() => void)[] = []
  const turn = async (): Promise<void> => {
    if (running >= limits.atOnce) await new Promise<void>((go) => waiting.push(go))
    else running++
  }
  const over = (): void => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  return {
    ...place,
    async ask(question) {
      await turn()
      try {
        const socket = await connect(place, limits, question.signal)
        const shown = certificateOf(socket).fingerprint
        if (shown !== fingerprint) {
          socket.destroy()
          throw new RedfishError(
            'certificate',
            `The BMC shows another certificate (${shown}) than the confirmed one`,
          )
        }
        const reply = await exchange(socket, place, question, limits)
        if (reply.status >= 300 && reply.status < 400 && reply.status !== 304)
          throw new RedfishError(
            'unreadable',
            `The BMC redirects ${question.path}${reply.headers.location ? ` to ${printable(reply.headers.location, 80)}` : ''}: redirects are not followed`,
            { status: reply.status },
          )
        return reply
      } finally {
        over()
      }
    },
  }
}
