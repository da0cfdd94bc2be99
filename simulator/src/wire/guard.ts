import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Machine } from '../machine/machine.ts'
import { forward, routeOf } from './forwarding.ts'
import { answersInMaintenance, mayCall } from './roles.ts'
import { PEER, type Peer } from './peer.ts'

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
  const roles = effectiveRoles(peer, request.header)
  // Handlers check roles too: for a forwarded call those of its first caller.
  request.contextValues.set(PEER, { ...peer, roles })
  const own = async (call: typeof request): Promise<Awaited<ReturnType<typeof next>>> => {
    if (!mayCall(roles, method)) throw new ConnectError('not authorized', Code.PermissionDenied)
    return answered(machine, method, call.stream, () => next(call))
  }
  const route = routeOf(machine, method, request.header)
  const response = await (route ? forward(machine, roles, request, route, own) : own(request))
  if (machine.strike('lost-reply', (fault) => fault.method === request.method.name)) return lose(peer)
  // Once the reply has been sent, however long that takes.
  if (request.method.name === 'ApplyConfiguration' && machine.strike('close-after-apply')) peer.session.close(() => machine.ports.apid.cut())
  return response
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

const lose = async (peer: Peer): Promise<never> => {
  peer.machine.ports.apid.cut()
  throw new ConnectError('transport is closing', Code.Unavailable)
}
