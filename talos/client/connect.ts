/**
 * Connections to Talos's API: one TLS connection per client, which is never reopened after
 * `close()`. The certificate of a machine in maintenance is read first and then pinned. A
 * configured machine requires a client certificate and presents a certificate that its cluster's
 * authority has signed.
 */
import { createHash, type X509Certificate } from 'node:crypto'
import { connect as connectHttp2 } from 'node:http2'
import { isIP } from 'node:net'
import {
  connect as connectTls,
  type ConnectionOptions,
  createSecureContext,
  type TLSSocket,
} from 'node:tls'
import { certificatesIn, type Credentials } from '../pki/certificates.ts'
import { standardKey } from '../pki/keys.ts'
import { talosClient, type TalosClient } from './client.ts'
import { endedBy, TalosError, talosError } from './errors.ts'
import type { OpenStream } from './grpc.ts'
import { demandSigned, refusalOf } from './skew.ts'
import { lateBy } from '#contract/connections/causes.ts'

/** Address of Talos's API. `host` is an IP literal, so dialling needs no name lookup. */
export interface Target {
  host: string
  port?: number | undefined
}

export interface ConnectOptions {
  /** Default deadline for connecting and for each call. */
  deadlineMs?: number | undefined
  /** When aborted, closes the connection and ends all calls on it. */
  signal?: AbortSignal | undefined
  /** Called before any packet is sent. Throws if the address must not be dialled. */
  dial?: ((host: string, port: number) => void | Promise<void>) | undefined
  /**
   * The connection carries only what a machine in maintenance tells anyone who asks, see
   * `publicContext`.
   */
  isPublic?: boolean | undefined
  /** Wraps how the streams of calls are opened, to observe them. */
  around?: ((open: OpenStream) => OpenStream) | undefined
}

export const apiPort = 50_000
const defaultDeadlineMs = 10_000
const minVersion = 'TLSv1.2'
/** Milliseconds for reading data that arrived before the end of a connection. */
const lastWordsMs = 100
/**
 * Subject of a maintenance certificate (Talos `pkg/machinery/constants`:
 * `MaintenanceServiceCommonName`).
 */
const maintenanceName = 'maintenance-service.talos.dev'

export type ReadCertificate = ReturnType<typeof shownBy>

// Shared, because creating a secure context costs more than a handshake.
const context = createSecureContext({ minVersion, ca: [] })
/**
 * Without OpenSSL's default key exchange X25519MLKEM768, whose key takes a third of the processor
 * time of a connection with one short call. It would protect against a later quantum computer what
 * anyone in the machine's network may read today. X25519 and P-256 are in Go's defaults
 * (`crypto/tls`, CurvePreferences).
 */
const publicContext = createSecureContext({ minVersion, ca: [], ecdhCurve: 'X25519:P-256' })
/** TLS options that accept any certificate. */
const unbelieving = ({ isPublic = false }: ConnectOptions): ConnectionOptions => ({
  rejectUnauthorized: false,
  secureContext: isPublic ? publicContext : context,
})

/** Reads the certificate of a server without verifying it. Throws TalosError. */
export async function readCertificate(
  target: Target,
  options: { timeoutMs?: number; signal?: AbortSignal; dial?: ConnectOptions['dial'] } = {},
): Promise<ReadCertificate> {
  const socket = await openTls(target, unbelieving({ isPublic: true }), {
    ...options,
    deadlineMs: options.timeoutMs,
  })
  try {
    return shownBy(socket)
  } finally {
    socket.destroy()
  }
}

/**
 * Like `readCertificate`, but also returns a client on the same connection, whose peer has proved
 * that it has the certificate's key. The client is null if the machine is configured and requires a
 * client certificate. Throws TalosError.
 */
export async function connectUnknown(
  target: Target,
  options: ConnectOptions = {},
): Promise<{ shown: ReadCertificate; client: TalosClient | null }> {
  const socket = await openTls(target, unbelieving(options), options)
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

function shownBy(socket: TLSSocket) {
  const certificate = peerCertificate(socket)
  const mode: 'maintenance' | 'secured' =
    certificate.subject === `CN=${maintenanceName}` ? 'maintenance' : 'secured'
  return {
    /** SHA-256 of the whole certificate. */
    sha256: certificate.fingerprint256,
    /**
     * Base64 of the SHA-256 of the public key (SubjectPublicKeyInfo), as Talos prints it on the
     * machine's console.
     */
    fingerprint: fingerprintOf(certificate),
    mode,
    validFrom: certificate.validFromDate,
    validTo: certificate.validToDate,
  }
}

/**
 * Returns an error that is more specific than `error`, if the certificates explain why a connection
 * ended before the first response.
 */
type Refusal = (error?: unknown) => TalosError | undefined

const lost: Refusal = (error) =>
  error === undefined ? new TalosError('unavailable', 'the connection was closed') : undefined

/**
 * A client for a machine in maintenance. Throws TalosError, with kind `certificate` if the machine
 * presents another certificate than `pinned`. The handshake proves that the machine has the key of
 * the presented certificate. Nothing else is verified: the authority that signed the certificate
 * exists only inside the machine, and the clock of a machine without NTP may be wrong.
 */
export async function connectMaintenance(
  target: Target,
  pinned: { sha256: string },
  options: ConnectOptions = {},
): Promise<TalosClient> {
  return open(target, unbelieving(options), options, (socket) => {
    if (peerCertificate(socket).fingerprint256 !== pinned.sha256)
      throw new TalosError('certificate', 'the server shows another certificate than before')
    return lost
  })
}

/**
 * A client for a configured machine, over mutual TLS. Throws TalosError: kind `certificate` if the
 * server presents an unexpected certificate, `clock` if the certificate is expired or not yet
 * valid. The client's calls throw kind `refused` or `clock` if the server doesn't accept our
 * certificate.
 */
export async function connectSecure(
  target: Target,
  credentials: Credentials,
  options: ConnectOptions = {},
): Promise<TalosClient> {
  const { ca, crt, key } = credentials
  const authorities = certificatesIn(ca)
  // The callback verifies the certificate, because `rejectUnauthorized: false` accepts any. Nothing
  // is sent before the callback has run.
  const tls = { ca, cert: crt, key: standardKey(key), rejectUnauthorized: false }
  return open(target, tls, options, (socket) => {
    const shown = peerCertificate(socket)
    // While an authority is rotated, machines have certificates of the old or of the new one.
    const authority =
      authorities.find((one) => shown.checkIssued(one) && shown.verify(one.publicKey)) ??
      authorities[0]!
    demandSigned(socket, shown, authority, target.host)
    return (error) => refusalOf(error, shown, authority)
  })
}

async function open(
  target: Target,
  tls: ConnectionOptions,
  options: ConnectOptions,
  check: (socket: TLSSocket) => Refusal,
): Promise<TalosClient> {
  const socket = await openTls(target, tls, options)
  try {
    return clientOn(target, socket, options, check(socket))
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/**
 * A client on a socket whose peer was checked. Throws TalosError, and only before HTTP/2 takes over
 * the socket: destroying the socket after that aborts the whole process (nodejs/node,
 * Http2Session::Consume).
 */
function clientOn(
  target: Target,
  socket: TLSSocket,
  options: ConnectOptions,
  refusal: Refusal,
): TalosClient {
  if (socket.alpnProtocol !== 'h2')
    throw new TalosError('invalid_data', 'server does not speak HTTP/2')
  const session = startSession(target, socket, refusal)
  const close = () => {
    options.signal?.removeEventListener('abort', close)
    session.close()
  }
  options.signal?.addEventListener('abort', close)
  return talosClient({
    open: options.around?.(session.open) ?? session.open,
    close,
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    failure: session.failure,
    ended: session.ended,
    signal: options.signal,
    target: { host: target.host, port: target.port ?? apiPort },
  })
}

/** Dials and finishes the TLS handshake. `tls` and the caller decide whether to trust the peer. */
async function openTls(
  target: Target,
  tls: ConnectionOptions,
  options: ConnectOptions,
): Promise<TLSSocket> {
  const port = target.port ?? apiPort
  const { signal, deadlineMs = defaultDeadlineMs } = options
  if (isIP(target.host) === 0)
    throw new TalosError('invalid_argument', `${target.host} is not an IP address`)
  try {
    await options.dial?.(target.host, port)
  } catch (error) {
    throw error instanceof TalosError
      ? error
      : new TalosError('unreachable', error instanceof Error ? error.message : String(error), {
          cause: error,
        })
  }
  return new Promise<TLSSocket>((resolve, reject) => {
    if (signal?.aborted === true) return reject(endedBy(signal))
    const socket = connectTls({
      ...tls,
      host: target.host,
      port,
      ALPNProtocols: ['h2'],
      minVersion,
    })
    // Detects a peer without power: after 5 s of silence the kernel sends 10 probes, one per
    // second.
    socket.setKeepAlive(true, 5_000)
    const timer = setTimeout(() => fail(new TalosError('timeout', lateBy(deadlineMs))), deadlineMs)
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
    const cancel = () => fail(endedBy(signal!))
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

/** Shared, because a contact closes its client every time, and a new error records a stack. */
const closedByUs = new TalosError('cancelled', 'the client was closed')

const ignore = (): void => undefined

/**
 * One HTTP/2 session on a connected socket. The session isn't reopened: after its end, calls fail.
 * `refusal` explains an end before the first response.
 */
function startSession(target: Target, socket: TLSSocket, refusal: Refusal) {
  const host = isIP(target.host) === 6 ? `[${target.host}]` : target.host
  const authority = `https://${host}:${target.port ?? apiPort}`
  const session = connectHttp2(authority, {
    createConnection: () => socket,
    settings: { enablePush: false },
  })
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
    // A broken session doesn't always release its socket, so the socket is destroyed one turn of
    // the event loop later.
    setImmediate(() => socket.destroy())
  }
  /**
   * Drops what the listeners refer to. Only a major garbage collection frees the native part of a
   * closed connection, so everything that it still refers to moves to the old generation: 12 kB for
   * each contact with these listeners, 7 kB without.
   */
  const release = () => {
    for (const one of [session, socket]) {
      one.removeAllListeners()
      one.on('error', ignore)
    }
  }
  const end = () => {
    if (ended.signal.aborted) return release()
    if (greeted) fail(new TalosError('unavailable', 'the connection was closed'))
    else broken()
    // Leaves time to read a response that arrived just before the end, as when a configured machine
    // answers and then restarts its API.
    setTimeout(() => {
      ended.abort(failure)
      release()
    }, lastWordsMs)
  }
  // The socket's error may be more specific than the session's, such as a TLS alert.
  socket.on('error', broken)
  socket.once('close', end)
  session.on('error', (error) => {
    broken(error)
    tearDown()
  })
  session.once('remoteSettings', () => (greeted = true))
  session.on('goaway', () => {
    const closing = new TalosError('unavailable', 'the server is closing the connection')
    // Some servers send their HTTP/2 settings before they verify our certificate, so these don't
    // count as a response.
    fail(isServed ? closing : (refusal(closing) ?? closing))
  })
  return {
    open: ((headers) => {
      if (failure !== undefined) throw failure
      const stream = session.request(headers)
      stream.once('response', () => (isServed = true))
      return stream
    }) satisfies OpenStream,
    /** Why the connection ended, or undefined. */
    failure: () => failure,
    /** Aborted when the connection has ended. */
    ended: ended.signal,
    close: () => {
      fail(closedByUs)
      ended.abort(closedByUs)
      // One turn later the streams of ended calls are closed. Destroying a session with open
      // streams creates an error with a stack for each.
      setImmediate(tearDown)
    },
  }
}

function peerCertificate(socket: TLSSocket): X509Certificate {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined)
    throw new TalosError('certificate', 'the server shows no certificate')
  return certificate
}

function fingerprintOf(certificate: X509Certificate): string {
  return createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')
}
