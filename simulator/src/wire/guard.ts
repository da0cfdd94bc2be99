import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Machine } from '../machine/machine.ts'
import { forward, routeOf } from './forwarding.ts'
import { answersInMaintenance, mayCall } from './roles.ts'
import { PEER, type Peer } from './peer.ts'

/** Checks every call: mode, permission and route. Also applies the scenario's faults. */
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
  // Handlers check roles too. For a forwarded call these are the roles of the first caller.
  request.contextValues.set(PEER, { ...peer, roles })
  const own = async (call: typeof request): Promise<Awaited<ReturnType<typeof next>>> => {
    if (!mayCall(roles, method)) throw new ConnectError('not authorized', Code.PermissionDenied)
    return answered(machine, method, call.stream, () => next(call))
  }
  const route = routeOf(machine, method, request.header)
  const response = await (route ? forward(machine, roles, request, route, own) : own(request))
  if (machine.strike('lost-reply', (fault) => fault.method === request.method.name)) return lose(peer)
  // After the reply has been sent.
  if (request.method.name === 'ApplyConfiguration' && machine.strike('close-after-apply')) peer.session.close(() => machine.ports.apid.cut())
  return response
}

/** Logs a call in machined's log (Talos: pkg/grpc/middleware/log/log.go). */
const answered = async <T>(machine: Machine, method: string, isStream: boolean, act: () => Promise<T>): Promise<T> => {
  const begun = performance.now()
  const log = (code: string, message: string): void =>
    machine.journal.called(`${code} [/${method}] ${(performance.now() - begun).toFixed(3)}ms ${isStream ? 'stream' : 'unary'} ${message} ()`)
  try {
    const answer = await act()
    log('OK', 'Success')
    return answer
  } catch (error) {
    log(error instanceof ConnectError ? Code[error.code] : 'Unknown', error instanceof Error ? error.message : String(error))
    throw error
  }
}

/** The caller's roles. A forwarding API has os:impersonator and names the roles of its caller. */
const effectiveRoles = (peer: Peer, header: Headers): readonly string[] => {
  const asked = header.get('talos-role')
  return peer.roles.includes('os:impersonator') && asked !== null ? asked.split(',').map((role) => role.trim()) : peer.roles
}

const lose = async (peer: Peer): Promise<never> => {
  peer.machine.ports.apid.cut()
  throw new ConnectError('transport is closing', Code.Unavailable)
}
