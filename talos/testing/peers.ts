/**
 * Peers for protocol tests: secrets of two clusters, certificates of a configured machine and of a
 * machine in maintenance, and servers and clients that are closed after each test.
 */
import { X509Certificate } from 'node:crypto'
import type { ConnectRouter } from '@connectrpc/connect'
import { afterEach, beforeAll } from 'vitest'
import type { TalosClient } from '../client/client.ts'
import { connectMaintenance } from '../client/connect.ts'
import { issueCertificate } from '../pki/certificates.ts'
import { generateKey, type KeyPair } from '../pki/keys.ts'
import { generateSecrets, type SecretsBundle } from '../secrets/bundle.ts'
import { readyKeys } from './keys.ts'
import { startServer, type TestServer, type Tls } from './server.ts'

export const hourMs = 3_600_000

export interface Peers {
  now: Date
  bundle: SecretsBundle
  /** Secrets of another cluster. */
  other: SecretsBundle
  /** Certificate of a configured machine of `bundle`, for 127.0.0.1. */
  node: KeyPair
  /**
   * Certificate of a machine in maintenance: signed by an authority that exists only inside the
   * machine and isn't sent.
   */
  leaf: KeyPair
  /** Functions to call after the test, last added first. */
  undo: (() => Promise<void> | void)[]
  serve: (tls: Tls, routes?: (router: ConnectRouter) => void) => Promise<TestServer>
  closing: (client: TalosClient) => TalosClient
  /** Connects a client to a machine in maintenance whose server is already listening. */
  reach: (server: TestServer, deadlineMs?: number) => Promise<TalosClient>
  /** A machine in maintenance with these handlers, and a client of it. */
  maintenance: (
    routes: (router: ConnectRouter) => void,
    deadlineMs?: number,
  ) => Promise<{ server: TestServer; client: TalosClient }>
}

/** The pin of a certificate in PEM. */
export const pinOf = (pem: string) => ({ sha256: new X509Certificate(pem).fingerprint256 })

export const target = (server: TestServer) => ({ host: '127.0.0.1', port: server.port })

/** Call it once, at the top of a test file. */
export function usePeers(): Peers {
  const now = new Date()
  const undo: Peers['undo'] = []
  const peers = { now, undo } as Peers
  peers.serve = async (tls, routes = () => {}) => {
    const server = await startServer(tls, routes)
    undo.push(() => server.stop())
    return server
  }
  peers.closing = (client) => {
    undo.push(() => client.close())
    return client
  }
  peers.reach = async (server, deadlineMs = 30_000) =>
    peers.closing(await connectMaintenance(target(server), pinOf(peers.leaf.crt), { deadlineMs }))
  peers.maintenance = async (routes, deadlineMs) => {
    const server = await peers.serve(peers.leaf, routes)
    return { server, client: await peers.reach(server, deadlineMs) }
  }
  beforeAll(async () => {
    const keys = await readyKeys()
    peers.bundle = await generateSecrets({ now, keys })
    peers.other = await generateSecrets({
      now,
      keys: { ...keys, os: await generateKey('ed25519') },
    })
    const server = {
      usages: ['server'],
      now,
      names: { addresses: ['127.0.0.1'] },
      lifetimeMs: 24 * hourMs,
    } as const
    peers.node = await issueCertificate(peers.bundle.certs.os, {
      ...server,
      subject: { commonName: 'node-1' },
    })
    peers.leaf = await issueCertificate(peers.other.certs.os, {
      ...server,
      subject: { commonName: 'maintenance-service.talos.dev' },
    })
  })
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step()
  })
  return peers
}
