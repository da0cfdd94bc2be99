/**
 * A gRPC server on loopback for tests: TLS settings like Talos's, with handlers of the test, or raw
 * HTTP/2 if the server must misbehave.
 */
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { ConnectRouter } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { standardKey } from '../pki/keys.ts'

export interface TestServer {
  port: number
  /** Number of open connections. */
  open: () => number
  /** Number of connections since the start. */
  accepted: () => number
  stop: () => Promise<void>
}

/** Listens on a free port of 127.0.0.1 and counts connections. */
export async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    accepted: () => accepted,
    stop: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

export interface Tls {
  key: string
  crt: string
  /** The authority of client certificates. If set, every client must present a certificate. */
  clientCa?: string
}

/** A well-behaved gRPC server. */
export async function startServer(
  tls: Tls,
  routes: (router: ConnectRouter) => void,
): Promise<TestServer> {
  const adapter = connectNodeAdapter({ routes, connect: false, grpcWeb: false })
  return start(tls, (server) => {
    server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) =>
      adapter(request, response),
    )
  })
}

/** A server that calls `answer` with the stream of every call. */
export async function startRawServer(
  tls: Tls,
  answer: (stream: ServerHttp2Stream, path: string) => void,
  onSession: (session: ServerHttp2Session) => void = () => {},
): Promise<TestServer> {
  return start(tls, (server) => {
    server.on('session', onSession)
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => {})
      answer(stream, String(headers[':path']))
    })
  })
}

async function start(
  tls: Tls,
  prepare: (server: ReturnType<typeof createSecureServer>) => void,
): Promise<TestServer> {
  const server = createSecureServer({
    key: standardKey(tls.key),
    cert: tls.crt,
    ...(tls.clientCa === undefined
      ? {}
      : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
  })
  server.on('sessionError', () => {})
  server.on('tlsClientError', () => {})
  prepare(server)
  return listen(server)
}

/** A gRPC frame; `flag` is its compressed flag. */
export function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flag, 0)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
