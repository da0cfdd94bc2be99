import { Code, ConnectError, type Interceptor, type StreamResponse, type UnaryResponse } from '@connectrpc/connect'
import { create, isMessage } from '@bufbuild/protobuf'
import { MetadataSchema, type Metadata } from '#talos/proto/gen/common/common_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { answersInMaintenance, mayCall } from './roles.ts'
import { PEER, type Peer } from './peer.ts'

const MANY_NODES = new Set(['machine.MachineService', 'cluster.ClusterService', 'inspect.InspectService', 'storage.StorageService', 'time.TimeService'])

/** What stands before every call: is it answered in this mode, is the caller allowed, is it meant for this machine; and the troubles that a scenario wants. */
export const guard: Interceptor = (next) => async (request) => {
  const peer = request.contextValues.get(PEER)
  if (!peer) throw new ConnectError('transport is closing', Code.Unavailable)
  const { machine } = peer
  const method = `${request.service.typeName}/${request.method.name}`
  if (peer.mode !== machine.mode) throw new ConnectError('transport is closing', Code.Unavailable)

  for (const fault of machine.disk.state.faults) if (fault.kind === 'delay') await machine.world.clock.sleep(fault.ms)
  if (machine.plan.slowness > 1) await machine.world.clock.sleep(40 * machine.plan.slowness)

  if (peer.mode === 'maintenance' && !answersInMaintenance(machine.talosMinor, method))
    throw new ConnectError('API is not implemented in maintenance mode', Code.Unimplemented)
  if (!mayCall(effectiveRoles(peer, request.header), method)) throw new ConnectError('not authorized', Code.PermissionDenied)
  const hostname = peer.mode === 'maintenance' ? null : routed(machine, request.service.typeName, request.header)

  const response = await answered(machine, method, request.stream, () => next(request))
  if (machine.strike('lost-reply', (fault) => fault.method === request.method.name)) return lose(peer)
  // Once the reply has been sent, however long that takes.
  if (request.method.name === 'ApplyConfiguration' && machine.strike('close-after-apply')) peer.session.close(() => machine.ports.apid.cut())
  return hostname === null ? response : named(response, hostname)
}

/** Each call stands in machined's log (Talos: pkg/grpc/middleware/log/log.go). */
const answered = async <T>(machine: Machine, method: string, isStream: boolean, act: () => Promise<T>): Promise<T> => {
  const begun = performance.now()
  const told = (code: string, message: string): void =>
    machine.journal.called(`${code} [/${method}] ${(performance.now() - begun).toFixed(3)}ms ${isStream ? 'stream' : 'unary'} ${message} ()`)
  try {
    const answer = await act()
    told('OK', 'Success')
    return answer
  } catch (error) {
    told(error instanceof ConnectError ? Code[error.code] : 'Unknown', error instanceof Error ? error.message : String(error))
    throw error
  }
}

/** Holders of os:impersonator name the roles they act with: so an API forwards calls to another. */
const effectiveRoles = (peer: Peer, header: Headers): readonly string[] => {
  const asked = header.get('talos-role')
  return peer.roles.includes('os:impersonator') && asked !== null ? asked.split(',').map((role) => role.trim()) : peer.roles
}

/** The name to put into the replies, or null. A simulated server answers for itself only; workers of real clusters don't forward either. */
const routed = (machine: Machine, service: string, header: Headers): string | null => {
  const node = header.get('node')
  const nodes =
    header
      .get('nodes')
      ?.split(',')
      .map((name) => name.trim()) ?? []
  const isSelf = (name: string): boolean => [machine.plan.address, machine.hostname, '127.0.0.1', 'localhost'].includes(name)
  if (nodes.length > 0 && !MANY_NODES.has(service)) throw new ConnectError('one-2-many proxying is not supported for this API', Code.InvalidArgument)
  for (const name of node === null ? nodes : [node]) {
    if (isSelf(name)) continue
    if (machine.config?.node?.role === 'worker') throw new ConnectError('no request forwarding', Code.PermissionDenied)
    throw new ConnectError(`rpc error: simulated servers forward no requests: ask ${name} itself`, Code.Unavailable)
  }
  return nodes[0] ?? null
}

const lose = async (peer: Peer): Promise<never> => {
  peer.machine.ports.apid.cut()
  throw new ConnectError('transport is closing', Code.Unavailable)
}

interface Carrier {
  metadata?: Metadata | undefined
}
const carries = (message: object): message is { messages: Carrier[] } => 'messages' in message && Array.isArray(message.messages)

const named = (response: UnaryResponse | StreamResponse, hostname: string): UnaryResponse | StreamResponse => {
  const name = (message: object): void => {
    if (carries(message)) for (const part of message.messages) part.metadata = create(MetadataSchema, { hostname })
    else if (isMessage(message)) (message as Carrier).metadata = create(MetadataSchema, { hostname })
  }
  if (!response.stream) {
    name(response.message)
    return response
  }
  return { ...response, message: namedEach(response.message, name) }
}

async function* namedEach<T extends object>(messages: AsyncIterable<T>, name: (message: T) => void): AsyncIterable<T> {
  for await (const message of messages) {
    name(message)
    yield message
  }
}
