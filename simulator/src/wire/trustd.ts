import type { SecureClientSessionOptions } from 'node:http2'
import { timingSafeEqual } from 'node:crypto'
import { Code, ConnectError, createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { SecurityService } from '#talos/proto/gen/security/security_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { type Act, type Call, grpcServer } from './grpc.ts'
import { errorOf, PEER } from './peer.ts'
import {
  createRequest,
  fingerprintOf,
  issue,
  signRequest,
  type ServerIdentity,
} from './certificates.ts'

const DAY = 24 * 3_600_000

/** Allows calls with the machine token only. */
const withToken = (call: Call, next: Act): ReturnType<Act> => {
  const node = call.peer.machine.config?.node
  if (!node?.talosCa) throw new ConnectError('trustd is not ready', Code.Unavailable)
  const token = Buffer.from(String(call.header.token ?? ''))
  const wanted = Buffer.from(node.token)
  if (wanted.length === 0 || token.length !== wanted.length || !timingSafeEqual(token, wanted))
    throw new ConnectError('invalid token', Code.Unauthenticated)
  return next(call)
}

/**
 * trustd: signs the API certificates of workers with the machine token (Talos:
 * internal/app/trustd).
 */
const serve = grpcServer(
  [
    createServiceImplSpec<typeof SecurityService>(SecurityService, {
      certificate: async ({ csr }, context) => {
        const { machine, session } = context.values.get(PEER)!
        const ca = machine.config!.node!.talosCa!
        try {
          const crt = await signRequest(ca, new TextDecoder().decode(csr), machine.now())
          machine.journal.log(
            'trustd',
            `issued a server certificate to ${session.socket.remoteAddress ?? 'somebody'}`,
          )
          return { ca: new TextEncoder().encode(ca.crt), crt: new TextEncoder().encode(crt) }
        } catch (cause) {
          throw errorOf(
            `failed to sign CSR: ${cause instanceof Error ? cause.message : String(cause)}`,
            Code.InvalidArgument,
            cause,
          )
        }
      },
    }),
  ],
  withToken,
)

export const openTrustd = async (machine: Machine): Promise<void> => {
  if (!machine.hasAddress) return
  await machine.ports.trustd.open(() => {
    // Read the configuration again here, because the authority may have changed.
    const identity = issue(machine.config!.node!.talosCa!, {
      commonName: machine.hostname,
      names: machine.ownNames,
      usages: ['serverAuth'],
      lifetimeMs: DAY,
      now: machine.now(),
    })
    return serve({ cert: identity.crt, key: identity.key }, (session) => ({
      machine,
      mode: 'secured',
      roles: [],
      session,
    }))
  })
}

const CALL_TIMEOUT_MS = 5_000

/**
 * Addresses of trustd for a worker: the host of the cluster's endpoint, then the control planes
 * from discovery.
 */
const trustdAddresses = (machine: Machine): string[] => {
  const { cluster } = machine.config!.node!
  const host = new URL(cluster.endpoint).hostname
  const discovered = cluster.discovery
    ? machine.world.machines
        .filter(
          (other) =>
            other.config?.node?.role === 'controlplane' &&
            other.config.node.cluster.id === cluster.id &&
            other.config.node.cluster.secret === cluster.secret,
        )
        .map((other) => other.plan.address)
    : []
  return [...new Set([...(host.startsWith('127.20.') ? [host] : []), ...discovered])]
}

/**
 * Requests a certificate over the network from one trustd after another until one signs it. Null if
 * none does.
 */
export const askTrustd = async (
  machine: Machine,
  signal: AbortSignal,
): Promise<ServerIdentity | null> => {
  const node = machine.config!.node!
  const authorities = [...(node.talosCa ? [node.talosCa.crt] : []), ...node.acceptedCas]
  for (const address of trustdAddresses(machine)) {
    const baseUrl = `https://${address}:50001`
    // Send from the machine's own address. The option is passed on to tls.connect.
    const options: SecureClientSessionOptions & { localAddress: string } = {
      ca: authorities,
      localAddress: machine.plan.address,
    }
    const sessions = new Http2SessionManager(baseUrl, {}, options)
    try {
      const client = createClient(
        SecurityService,
        createGrpcTransport({ baseUrl, sessionManager: sessions }),
      )
      const { csr, key } = await createRequest(machine.ownNames)
      const reply = await client.certificate(
        { csr: new TextEncoder().encode(csr) },
        { headers: { token: node.token }, timeoutMs: CALL_TIMEOUT_MS, signal },
      )
      const crt = new TextDecoder().decode(reply.crt)
      machine.journal.log('machined', `received a certificate from trustd at ${address}`)
      return { crt, key, fingerprint: fingerprintOf(crt) }
    } catch (cause) {
      machine.journal.log(
        'machined',
        `trustd at ${address}: ${cause instanceof Error ? cause.message : String(cause)}`,
      )
    } finally {
      sessions.abort()
    }
  }
  return null
}
