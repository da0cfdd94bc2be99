/**
 * Connections to Talos's API: one TLS connection per client, closed for good by `close()`, never reopened by itself.
 * Two ways in: a machine in maintenance shows a certificate that nobody vouches for, which is read first and then pinned; a configured one
 * demands a client certificate and shows one of its cluster's authority.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { connect as connectHttp2 } from 'node:http2'
import { isIP } from 'node:net'
import { connect as connectTls, type ConnectionOptions, createSecureContext, type TLSSocket } from 'node:tls'
import { createGrpcTransport, type GrpcTransportOptions } from '@connectrpc/connect-node'
import type { Credentials } from '../pki/clients.ts'
import { standardKey } from '../pki/keys.ts'
import { maxMessageBytes } from './bounds.ts'
import { readWholeAnswer } from './call-stream.ts'
import { talosClient, type TalosClient } from './client.ts'
import { TalosError, talosError, tooLate } from './errors.ts'
import { demandSigned, refusalOf } from './skew.ts'

/** Where Talos's API listens. `host` is an IP literal: no name is looked up when dialling. */
export interface Target {
  host: string
  port?: number | undefined
}

export interface ConnectOptions {
  /** For connecting, and for each call that has no deadline of its own. */
  deadlineMs?: number | undefined
  /** Ends the connection and every call on it. */
  signal?: AbortSignal | undefined
  /** Asked before a packet leaves; throws where the address must not be dialled. */
  dial?: ((host: string, port: number) => void | Promise<void>) | undefined
}

export const apiPort = 50_000
const defaultDeadlineMs = 10_000
const minVersion = 'TLSv1.2'
/** How long what arrived before the end of a connection may still be read. */
const lastWordsMs = 100
/** Subject of a maintenance certificate (Talos `pkg/machinery/constants`: `MaintenanceServiceCommonName`). */
const maintenanceName = 'maintenance-service.talos.dev'

export interface ReadCertificate {
  pem: string
  /** As Talos prints it on the machine's console: base64 of SHA-256 of the certificate's public key (SubjectPublicKeyInfo). */
  fingerprint: string
  mode: 'maintenance' | 'secured'
}

/** For those whom nobody vouches for, made once: a context of its own for each of a thousand machines costs more than its handshake. */
const unbelieving: ConnectionOptions = { rejectUnauthorized: false, secureContext: createSecureContext({ minVersion }) }

/** The certificate that a server shows, without believing it. Throws TalosError. */
export async function readCertificate(
  target: Target,
  options: { timeoutMs?: number; signal?: AbortSignal; dial?: ConnectOptions['dial'] } = {},
): Promise<ReadCertificate> {
  const socket = await openTls(target, unbelieving, { ...options, deadlineMs: options.timeoutMs })
  try {
    return shownBy(socket)
  } finally {
    socket.destroy()
  }
}

/**
 * The same, with a client on the very connection that the certificate was shown on: whoever holds its key is who answers there, as long as it lasts. Null
 * where the machine is configured and wants to know who asks. Throws TalosError.
 */
export async function connectUnknown(target: Target, options: ConnectOptions = {}): Promise<{ shown: ReadCertificate; client: TalosClient | null }> {
  const socket = await openTls(target, unbelieving, options)
  try {
    const shown = shownBy(socket)
    if (shown.mode === 'secured') {
      socket.destroy()
      return { shown, client: null }
    }
    return { shown, client: clientOn(target, socket, options, lost) }
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function shownBy(socket: TLSSocket): ReadCertificate {
  const certificate = peerCertificate(socket)
  return {
    pem: certificate.toString(),
    fingerprint: fingerprintOf(certificate),
    mode: certificate.subject === `CN=${maintenanceName}` ? 'maintenance' : 'secured',
  }
}

/** What the end of a connection before the server's first word says, where it says more than its error. */
type Refusal = (error?: unknown) => TalosError | undefined

const lost: Refusal = (error) => (error === undefined ? new TalosError('unavailable', 'the connection was closed') : undefined)

/** A client for a machine in maintenance that shows exactly the certificate `pem`. Throws TalosError, kind `certificate` for any other. */
export async function connectMaintenance(target: Target, pinned: { pem: string }, options: ConnectOptions = {}): Promise<TalosClient> {
  const expected = new X509Certificate(pinned.pem)
  // The leaf itself is the anchor: the authority that signed it exists only inside the machine and isn't sent.
  const tls = { ca: pinned.pem, allowPartialTrustChain: true, rejectUnauthorized: false }
  const check = (socket: TLSSocket) => {
    // A machine without NTP may live in the wrong year: its time doesn't matter, its key does.
    const verdict: unknown = socket.authorizationError
    const reason = verdict instanceof Error && 'code' in verdict ? verdict.code : verdict
    const trusted = socket.authorized || reason === 'CERT_NOT_YET_VALID' || reason === 'CERT_HAS_EXPIRED' || reason === 'ERR_TLS_CERT_ALTNAME_INVALID'
    if (!trusted || !peerCertificate(socket).raw.equals(expected.raw)) {
      throw new TalosError('certificate', 'the server shows another certificate than before')
    }
    return lost
  }
  return open(target, tls, options, check)
}

/**
 * A client for a configured machine: mutual TLS. Throws TalosError: kind `certificate` where the server shows another one than expected, `clock` where it shows one out
 * of its time. The client's calls throw kind `refused` or `clock` where the server doesn't accept ours.
 */
export async function connectSecure(target: Target, credentials: Credentials, options: ConnectOptions = {}): Promise<TalosClient> {
  const { ca, crt, key } = credentials
  const authority = new X509Certificate(ca)
  // Judged by `check`, which sees the certificate that is refused; before it nothing is sent.
  const tls = { ca, cert: crt, key: standardKey(key), rejectUnauthorized: false }
  return open(target, tls, options, (socket) => {
    const shown = peerCertificate(socket)
    demandSigned(socket, shown, authority, target.host)
    return (error) => refusalOf(error, shown, authority)
  })
}

async function open(target: Target, tls: ConnectionOptions, options: ConnectOptions, check: (socket: TLSSocket) => Refusal): Promise<TalosClient> {
  const socket = await openTls(target, tls, options)
  try {
    return clientOn(target, socket, options, check(socket))
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** A client on a socket whose peer was looked at. Throws TalosError, and only before HTTP/2 takes the socket over: destroying it after that aborts the whole process (nodejs/node, Http2Session::Consume). */
function clientOn(target: Target, socket: TLSSocket, options: ConnectOptions, refusal: Refusal): TalosClient {
  if (socket.alpnProtocol !== 'h2') throw new TalosError('invalid_data', 'server does not speak HTTP/2')
  const session = startSession(target, socket, refusal)
  const transport = createGrpcTransport({
    baseUrl: session.authority,
    sessionManager: session,
    // No decompression: a few bytes could become gigabytes.
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    binaryOptions: { readUnknownFields: false },
  })
  const close = () => {
    options.signal?.removeEventListener('abort', close)
    session.close()
  }
  options.signal?.addEventListener('abort', close)
  return talosClient({
    transport,
    close,
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    failure: session.failure,
    ended: session.ended,
    signal: options.signal,
    target: { host: target.host, port: target.port ?? apiPort },
  })
}

/** Dials and finishes the TLS handshake; whether the peer is believed is for `tls` and the caller. */
async function openTls(target: Target, tls: ConnectionOptions, options: ConnectOptions): Promise<TLSSocket> {
  const port = target.port ?? apiPort
  const { signal, deadlineMs = defaultDeadlineMs } = options
  if (isIP(target.host) === 0) throw new TalosError('invalid_argument', `${target.host} is not an IP address`)
  try {
    await options.dial?.(target.host, port)
  } catch (error) {
    throw error instanceof TalosError ? error : new TalosError('unreachable', error instanceof Error ? error.message : String(error), { cause: error })
  }
  return new Promise<TLSSocket>((resolve, reject) => {
    if (signal?.aborted === true) return reject(new TalosError('cancelled', 'cancelled'))
    const socket = connectTls({ ...tls, host: target.host, port, ALPNProtocols: ['h2'], minVersion })
    // A peer that lost power answers nothing: the kernel notices after 5 s of silence and 10 probes of one second.
    socket.setKeepAlive(true, 5_000)
    const timer = setTimeout(() => fail(new TalosError('timeout', tooLate(deadlineMs))), deadlineMs)
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      socket.off('error', fail)
      socket.off('close', closed)
      socket.off('secureConnect', ready)
    }
    const fail = (error: unknown) => {
      settle()
      socket.on('error', () => {})
      socket.destroy()
      reject(talosError(error, deadlineMs, signal))
    }
    const cancel = () => fail(new TalosError('cancelled', 'cancelled'))
    const closed = () => fail(new TalosError('unavailable', 'the connection was lost'))
    const ready = () => {
      settle()
      resolve(socket)
    }
    socket.on('error', fail)
    socket.on('close', closed)
    socket.on('secureConnect', ready)
    signal?.addEventListener('abort', cancel)
  })
}

type SessionManager = NonNullable<GrpcTransportOptions['sessionManager']>

interface Session extends SessionManager {
  /** Why the connection ended, once it has. */
  failure: () => unknown
  /** Aborted when the connection has ended. */
  ended: AbortSignal
  close: () => void
}

/** One HTTP/2 session on a ready socket. It is not opened again when it ends: the next call fails. `refusal` says what an end before any word means. */
function startSession(target: Target, socket: TLSSocket, refusal: Refusal): Session {
  const host = isIP(target.host) === 6 ? `[${target.host}]` : target.host
  const authority = `https://${host}:${target.port ?? apiPort}`
  const session = connectHttp2(authority, { createConnection: () => socket, settings: { enablePush: false } })
  const ended = new AbortController()
  let failure: unknown
  let greeted = false
  let isServed = false
  const fail = (error: unknown) => {
    failure ??= error
  }
  const broken = (error?: unknown) => fail((greeted ? undefined : refusal(error)) ?? error)
  const tearDown = () => {
    session.destroy()
    // A session that broke doesn't always let go of its socket; a turn later its native part has, and the socket may go.
    setImmediate(() => socket.destroy())
  }
  const end = () => {
    if (greeted) fail(new TalosError('unavailable', 'the connection was closed'))
    else broken()
    // An answer may have come just before the end (a machine that restarts its API after taking a configuration): let it be read.
    setTimeout(() => ended.abort(), lastWordsMs)
  }
  // The socket knows what the session may not tell: a TLS alert, for one.
  socket.on('error', broken)
  socket.once('close', end)
  session.on('error', (error) => {
    broken(error)
    tearDown()
  })
  session.once('remoteSettings', () => (greeted = true))
  session.on('goaway', () => {
    const closing = new TalosError('unavailable', 'the server is closing the connection')
    // Some greet before they judge the certificate: refused is who is given no answer at all.
    fail(isServed ? closing : (refusal(closing) ?? closing))
  })
  return {
    authority,
    request: async (method, path, headers, options) => {
      if (failure !== undefined) throw failure
      const stream = session.request({ ...headers, ':method': method, ':path': path }, options)
      readWholeAnswer(stream)
      let answered = false
      stream.once('response', () => (answered = isServed = true))
      // A stream that ends without an error and without an answer is silently waited for by the library.
      stream.once('close', () => answered || stream.emit('error', new TalosError('unavailable', 'the server ended the call without an answer')))
      return stream
    },
    notifyResponseByteRead: () => {},
    failure: () => failure,
    ended: ended.signal,
    close: () => {
      fail(new TalosError('cancelled', 'the client was closed'))
      ended.abort()
      tearDown()
    },
  }
}

function peerCertificate(socket: TLSSocket): X509Certificate {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) throw new TalosError('certificate', 'the server shows no certificate')
  return certificate
}

function fingerprintOf(certificate: X509Certificate): string {
  return createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')
}
