import { isIP } from 'node:net'
import type { IncomingHttpHeaders, SecureClientSessionOptions } from 'node:http2'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { createAsyncIterable } from '@connectrpc/connect/protocol'
import { create } from '@bufbuild/protobuf'
import { MetadataSchema, type Metadata } from '#talos/proto/gen/common/common_pb.ts'
import type { ActiveConfig } from '../machine/active.ts'
import type { Machine } from '../machine/machine.ts'
import { issue } from './certificates.ts'
import type { Act, Answer, Call, Fields } from './grpc.ts'
import { errorOf } from './peer.ts'

/**
 * Forwards calls from a control plane to other machines of its cluster, over real connections, with
 * its own certificate and the caller's roles (Talos: internal/app/apid/pkg/director/director.go,
 * internal/app/apid/pkg/backend/apid.go).
 */

/**
 * Target of a call: one machine, whose response is returned unchanged, or several machines, each
 * named in its part of the response.
 */
export type Route = { kind: 'one'; node: string } | { kind: 'many'; nodes: readonly string[] }

const MANY_NODES = new Set([
  'machine.MachineService',
  'cluster.ClusterService',
  'inspect.InspectService',
  'storage.StorageService',
  'time.TimeService',
])
const API_PORT = 50_000
const IDLE_MS = 1_000
const DAY_MS = 24 * 3_600_000

/** The values of a header with a list; null if the call hasn't the header. */
export const listed = (header: IncomingHttpHeaders, name: string): string[] | null => {
  const value = header[name]
  return value === undefined
    ? null
    : String(value)
        .split(',')
        .map((one) => one.trim())
}

/**
 * The route of a call; null if the call is for this machine. Throws Talos's error if this machine
 * doesn't forward the call.
 */
export const routeOf = (
  machine: Machine,
  method: string,
  header: IncomingHttpHeaders,
): Route | null => {
  // A machine in maintenance doesn't forward. talosctl sends an empty `node` in this case (Talos:
  // apid/pkg/director, skipRouting).
  if (header.proxyfrom !== undefined || machine.mode === 'maintenance') return null
  const node = listed(header, 'node')
  const nodes = listed(header, 'nodes')
  if (node && node.length !== 1)
    throw new ConnectError('node metadata must be single-valued', Code.InvalidArgument)
  const forwards = machine.config?.node?.role === 'controlplane'
  // A worker doesn't forward, but answers calls to itself.
  const isOwn = (asked: readonly string[] | null): boolean =>
    !forwards && asked?.length === 1 && isSelf(machine, asked[0]!)
  const refused = (): never => {
    throw new ConnectError('no request forwarding', Code.PermissionDenied)
  }
  if (nodes && !isOwn(nodes)) {
    if (!MANY_NODES.has(method.slice(0, method.indexOf('/'))))
      throw new ConnectError(
        `one-2-many proxying is not supported for method /${method}`,
        Code.InvalidArgument,
      )
    return forwards ? { kind: 'many', nodes } : refused()
  }
  if (node && !isOwn(node)) return forwards ? { kind: 'one', node: node[0]! } : refused()
  return null
}

/** Sends the call to its route. `local` answers on this machine. */
export const forward = (
  machine: Machine,
  roles: readonly string[],
  call: Call,
  route: Route,
  local: Act,
): Promise<Answer> => {
  const header = new Headers({ proxyfrom: machine.plan.address, 'talos-role': roles.join(',') })
  const to = (node: string): Act =>
    isSelf(machine, node)
      ? local
      : async (copy) => passed(await transportTo(machine, node), node, copy, header)
  if (route.kind === 'one') return to(route.node)(call)
  return call.method.methodKind === 'unary'
    ? manyAnswers(call, route.nodes, to)
    : manyStreams(call, route.nodes, to)
}

const isSelf = (machine: Machine, node: string): boolean =>
  [
    machine.plan.address,
    ...machine.virtualAddresses,
    machine.hostname,
    machine.hostname.split('.')[0],
    '127.0.0.1',
    '::1',
    'localhost',
  ].includes(node)

const passed = async (
  transport: Transport,
  node: string,
  { method, signal, message }: Call,
  header: Headers,
): Promise<Answer> => {
  try {
    if (method.methodKind === 'unary')
      return (await transport.unary(method, signal, undefined, header, message)).message
    return (
      await transport.stream(method, signal, undefined, header, createAsyncIterable([message]))
    ).message
  } catch (cause) {
    throw dialled(node, signal, cause)
  }
}

/** Go's error messages by the error codes of Node.js. */
const DIAL_FAILURES: Record<string, string> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'read: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ETIMEDOUT: 'i/o timeout',
}
/** Error codes of OpenSSL's verification and of the host name check in Node.js. */
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_CERT_)/

/**
 * Converts connection failures to the words of grpc-go. Other errors come from the other machine
 * and are returned unchanged.
 */
const dialled = (node: string, signal: AbortSignal, error: unknown): unknown => {
  // Node.js cancels the streams of a broken connection.
  if (error instanceof ConnectError && error.code === Code.Canceled && !signal.aborted)
    return errorOf('error reading from server: EOF', Code.Unavailable, error)
  const cause: unknown = error instanceof ConnectError ? error.cause : error
  const code =
    cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  const why = DIAL_FAILURES[code]
  if (why !== undefined) return unreachable(node, why, error)
  if (!UNTRUSTED.test(code)) return error
  const handshake =
    'authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority'
  return errorOf(`connection error: desc = "transport: ${handshake}"`, Code.Unavailable, error)
}

const unreachable = (node: string, why: string, cause?: unknown): ConnectError =>
  errorOf(
    `connection error: desc = "transport: Error while dialing: dial tcp ${node}:${API_PORT}: ${why}"`,
    Code.Unavailable,
    cause,
  )

interface Connections {
  identity: ReturnType<typeof issue>
  transports: Map<string, Transport>
}

/** Connections by configuration, because a new configuration may have another authority. */
const connections = new WeakMap<ActiveConfig, Connections>()

const transportTo = async (machine: Machine, node: string): Promise<Transport> => {
  const config = machine.config
  const ca = config?.node?.talosCa
  if (!config?.node || !ca) throw new ConnectError('no request forwarding', Code.PermissionDenied)
  const address = addressOf(machine, node)
  let own = connections.get(config)
  if (!own) {
    const identity = issue(ca, {
      commonName: '',
      organizations: ['os:impersonator'],
      usages: ['clientAuth'],
      lifetimeMs: DAY_MS,
      now: machine.now(),
    })
    connections.set(config, (own = { identity, transports: new Map() }))
  }
  const { crt, key } = own.identity
  let transport = own.transports.get(address)
  if (!transport) {
    const baseUrl = `https://${address}:${API_PORT}`
    // Send from the machine's own address. The option is passed on to tls.connect.
    const tls: SecureClientSessionOptions & { localAddress: string } = {
      ca: [ca.crt, ...config.node.acceptedCas],
      cert: crt,
      key,
      localAddress: machine.plan.address,
    }
    const sessionManager = new Http2SessionManager(
      baseUrl,
      { idleConnectionTimeoutMs: IDLE_MS },
      tls,
    )
    own.transports.set(address, (transport = createGrpcTransport({ baseUrl, sessionManager })))
  }
  return transport
}

/**
 * The address of a node. Names are cluster members (Talos: hostDNS.resolveMemberNames). Only
 * addresses in the simulated network are dialled.
 */
const addressOf = (machine: Machine, node: string): string => {
  if (node.startsWith('127.20.') && isIP(node) === 4) return node
  if (isIP(node) !== 0)
    throw unreachable(isIP(node) === 6 ? `[${node}]` : node, 'connect: no route to host')
  const { id, secret } = machine.config!.node!.cluster
  const named = machine.world.machines.find(
    ({ config, hostname }) =>
      config?.node?.cluster.id === id &&
      config.node.cluster.secret === secret &&
      (hostname === node || hostname.split('.')[0] === node),
  )
  if (!named)
    throw new ConnectError(`name resolver error: produced zero addresses`, Code.Unavailable)
  return named.plan.address
}

interface Named {
  metadata?: Metadata | undefined
}

const name = (message: object, hostname: string): void =>
  void ((message as Named).metadata = create(MetadataSchema, { hostname }))

/** The error of one node as its part of the response, so that the other parts still arrive. */
const failure = (node: string, error: unknown): Metadata => {
  const { code, rawMessage } = ConnectError.from(error)
  return create(MetadataSchema, {
    hostname: node,
    error: `rpc error: code = ${Code[code]} desc = ${rawMessage}`,
    status: { code, message: rawMessage },
  })
}

const manyAnswers = async (
  call: Call,
  nodes: readonly string[],
  to: (node: string) => Act,
): Promise<Answer> => {
  const parts = await Promise.all(
    nodes.map(async (node) => {
      try {
        const { messages } = (await to(node)(call)) as { messages: Named[] }
        for (const part of messages) name(part, node)
        return messages
      } catch (error) {
        return [{ metadata: failure(node, error) }]
      }
    }),
  )
  return { messages: parts.flat() }
}

const manyStreams = async (
  call: Call,
  nodes: readonly string[],
  to: (node: string) => Act,
): Promise<Answer> => {
  async function* part(node: string): AsyncIterable<Fields> {
    try {
      for await (const message of (await to(node)(call)) as AsyncIterable<Fields>) {
        name(message, node)
        yield message
      }
    } catch (error) {
      yield { metadata: failure(node, error) }
    }
  }
  return merged(nodes.map(part))
}

/** Merges streams in order of arrival. */
async function* merged<T>(streams: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  const iterators = streams.map((stream) => stream[Symbol.asyncIterator]())
  const next = (
    iterator: AsyncIterator<T>,
  ): Promise<{ iterator: AsyncIterator<T>; result: IteratorResult<T> }> =>
    iterator.next().then((result) => ({ iterator, result }))
  const waiting = new Map(iterators.map((iterator) => [iterator, next(iterator)]))
  try {
    while (waiting.size > 0) {
      const { iterator, result } = await Promise.race(waiting.values())
      if (result.done) waiting.delete(iterator)
      else {
        waiting.set(iterator, next(iterator))
        yield result.value
      }
    }
  } finally {
    for (const iterator of waiting.keys()) void iterator.return?.()
  }
}
