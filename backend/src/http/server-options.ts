/** Limits and TLS of the HTTP server, whatever it answers. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Config } from '../config.ts'
import type { TlsPair } from '../config-files.ts'
import { limitSockets, oneAtATime } from './load/sockets.ts'

/**
 * TLS 1.3 if the client supports it; in TLS 1.2 only ciphers with forward secrecy and authenticated
 * encryption (RFC 9325, 4.2): no RSA key exchange or CBC.
 */
const tlsRules = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    ...['AES256-GCM-SHA384', 'CHACHA20-POLY1305', 'AES128-GCM-SHA256'].flatMap((suite) => [
      `ECDHE-ECDSA-${suite}`,
      `ECDHE-RSA-${suite}`,
    ]),
  ].join(':'),
} as const

/** What the server uses of TLS: the pair, and which versions and ciphers. */
export const tlsOptions = (pair: TlsPair) => ({
  ...pair,
  ...tlsRules,
})

const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000
const keepAliveMs = 10_000
/** How often Node.js checks sockets for expired header and request timeouts. */
const slowCheckMs = 5_000
const largestBodyBytes = 256 * 1024
const largestHeadersBytes = 16 * 1024
const mostHeaders = 64

/**
 * The contract checks what calls get and send, so no route has a schema of Fastify, and Fastify
 * doesn't load the compilers of its schemas.
 */
const noSchemas = (): never => {
  throw new Error('A route has a schema of Fastify')
}

/** Reads the certificate and its key. */
export function serverOptions(config: Config) {
  const tls =
    config.tls &&
    tlsOptions({
      cert: readFileSync(config.tls.certFile),
      key: readFileSync(config.tls.keyFile),
    })
  const sockets = {
    maxHeaderSize: largestHeadersBytes,
    connectionsCheckingInterval: slowCheckMs,
    headersTimeout: headersTimeoutMs,
    // `refuseAmbiguous` checks the Host header instead, so that the error response has the usual
    // headers.
    requireHostHeader: false,
  }
  return {
    ...(tls && { https: { ...tls, ...sockets } }),
    http: sockets,
    bodyLimit: largestBodyBytes,
    requestTimeout: requestTimeoutMs,
    handlerTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    connectionTimeout: 0,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    logger: false,
    trustProxy:
      config.trustedProxies.length > 0
        ? (address: string) => config.trustedProxies.some((p) => p.contains(address))
        : false,
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
  } as const
}

export function limitServer(server: Server, { trustedProxies }: Config): void {
  server.maxHeadersCount = mostHeaders
  limitSockets(server, { trusted: trustedProxies })
  oneAtATime(server)
}
