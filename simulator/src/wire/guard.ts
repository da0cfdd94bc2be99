import type { IncomingHttpHeaders } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Machine } from '../machine/machine.ts'
import { forward, listed, routeOf } from './forwarding.ts'
import type { Act, Answer, Call } from './grpc.ts'
import type { Peer } from './peer.ts'
import { hasFeature } from '../config/versions.ts'

/**
 * Roles that may make a call (Talos: internal/app/machined/pkg/system/services/machined.go). Calls
 * that aren't listed need os:admin.
 */
const READER = ['os:admin', 'os:operator', 'os:reader']
const OPERATOR = ['os:admin', 'os:operator']
const BACKUP = 'os:etcd:backup'

const machine = (names: string): string[] =>
  names.split(' ').map((name) => `machine.MachineService/${name}`)

const RULES = new Map<string, readonly string[]>([
  ...[
    ...machine(
      'CPUInfo CPUFreqStats Containers DiskStats DiskUsage Dmesg Events Hostname ImageList List LoadAvg Logs LogsContainers Memory Mounts NetworkDeviceStats Netstat Processes ServiceList Stats SystemStat Version',
    ),
    'cluster.ClusterService/HealthCheck',
    'machine.ImageService/List',
    'storage.StorageService/Disks',
    'time.TimeService/Time',
    'time.TimeService/TimeCheck',
    'cosi.resource.State/Get',
    'cosi.resource.State/List',
    'cosi.resource.State/Watch',
    // Readers may make these calls only in maintenance, which the handlers check.
    'machine.MachineService/ApplyConfiguration',
    'storage.StorageService/BlockDeviceWipe',
    'machine.LVMService/LogicalVolumeRemove',
    'machine.LVMService/VolumeGroupRemove',
    'machine.LVMService/PhysicalVolumeRemove',
    'machine.MDService/Destroy',
  ].map((method) => [method, READER] as const),
  ...machine('EtcdAlarmList EtcdMemberList EtcdStatus').map(
    (method) => [method, [...READER, BACKUP]] as const,
  ),
  ...machine('EtcdSnapshot').map((method) => [method, [...OPERATOR, BACKUP]] as const),
  ...[
    ...machine(
      'EtcdAlarmDisarm EtcdDefragment ImagePull PacketCapture Reboot Restart ServiceRestart ServiceStart ServiceStop Shutdown',
    ),
    'machine.ImageService/Pull',
  ].map((method) => [method, OPERATOR] as const),
  ...machine('MetaWrite MetaDelete').map(
    (method) => [method, ['os:admin', 'os:meta:writer']] as const,
  ),
])

/** `method` is the gRPC path without its first slash. */
const mayCall = (roles: readonly string[], method: string): boolean =>
  (RULES.get(method) ?? ['os:admin']).some((role) => roles.includes(role))

const OLD_MAINTENANCE =
  /^(?:machine\.MachineService\/ApplyConfiguration|storage\.StorageService\/(?:Disks|BlockDeviceWipe)|cosi\.resource\.State\/(?:Get|List|Watch))$/

/**
 * Whether a call exists in maintenance. Talos up to 1.12 has only a few calls, Talos 1.13 and newer
 * the whole API.
 */
const answersInMaintenance = (talosMinor: number, method: string): boolean =>
  hasFeature(talosMinor, 'readerInMaintenance') || OLD_MAINTENANCE.test(method)

/** Checks every call: mode, permission and route. Also applies the scenario's faults. */
export const guard = async (asked: Call, next: Act): Promise<Answer> => {
  const { peer, header } = asked
  const { machine } = peer
  const method = `${asked.method.parent.typeName}/${asked.method.name}`
  if (peer.mode !== machine.mode) throw new ConnectError('transport is closing', Code.Unavailable)

  for (const fault of machine.disk.state.faults)
    if (fault.kind === 'delay') await machine.world.clock.sleep(fault.ms)
  if (machine.plan.slowness > 1) await machine.world.clock.sleep(40 * machine.plan.slowness)

  if (peer.mode === 'maintenance' && !answersInMaintenance(machine.talosMinor, method))
    throw new ConnectError('API is not implemented in maintenance mode', Code.Unimplemented)
  const roles = effectiveRoles(peer, header)
  // Handlers check roles too. For a forwarded call these are the roles of the original caller.
  const call = { ...asked, peer: { ...peer, roles } }
  const own: Act = async (one) => {
    if (!mayCall(roles, method)) throw new ConnectError('not authorized', Code.PermissionDenied)
    return answered(machine, method, call.method.methodKind, () => next(one))
  }
  const route = routeOf(machine, method, header)
  const answer = await (route ? forward(machine, roles, call, route, own) : own(call))
  if (machine.strike('lost-reply', (fault) => fault.method === call.method.name)) return lose(peer)
  // The connection is cut only after the response has been sent.
  if (call.method.name === 'ApplyConfiguration' && machine.strike('close-after-apply'))
    peer.session.close(() => machine.ports.apid.cut())
  return answer
}

/** Logs a call in machined's log (Talos: pkg/grpc/middleware/log/log.go). */
const answered = async <T>(
  machine: Machine,
  method: string,
  kind: Call['method']['methodKind'],
  act: () => Promise<T>,
): Promise<T> => {
  const begun = performance.now()
  const log = (code: string, message: string): void =>
    machine.journal.called(
      `${code} [/${method}] ${(performance.now() - begun).toFixed(3)}ms ${kind === 'unary' ? 'unary' : 'stream'} ${message} ()`,
    )
  try {
    const answer = await act()
    log('OK', 'Success')
    return answer
  } catch (error) {
    log(
      error instanceof ConnectError ? Code[error.code] : 'Unknown',
      error instanceof Error ? error.message : String(error),
    )
    throw error
  }
}

/** The caller's roles. A forwarding API has os:impersonator and names the roles of its caller. */
const effectiveRoles = (peer: Peer, header: IncomingHttpHeaders): readonly string[] =>
  (peer.roles.includes('os:impersonator') && listed(header, 'talos-role')) || peer.roles

const lose = async (peer: Peer): Promise<never> => {
  peer.machine.ports.apid.cut()
  throw new ConnectError('transport is closing', Code.Unavailable)
}
