import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { LVMService, MDService } from '#talos/proto/gen/machine/volumes_pb.ts'
import { hasFeature } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import {
  destroyArray,
  type Refusal,
  removeLogicalVolume,
  removePhysicalVolume,
  removeVolumeGroup,
} from '../machine/volumes/settle.ts'
import { PEER } from './peer.ts'

/**
 * The services that remove LVM volumes and RAID arrays, since Talos 1.14 (Talos:
 * internal/app/lvmd, mdd, and the errors of internal/pkg/lvm and md).
 */

/** The machine, for callers that may remove volumes: readers only in maintenance. */
const mayRemove = (context: HandlerContext): Machine => {
  const { machine, mode, roles } = context.values.get(PEER)!
  if (!hasFeature(machine.talosMinor, 'volumeServices'))
    throw new ConnectError('unknown service', Code.Unimplemented)
  if (mode !== 'maintenance' && !roles.includes('os:admin'))
    throw new ConnectError('not authorized', Code.PermissionDenied)
  return machine
}

const demand = (isGiven: boolean, message: string): void => {
  if (!isGiven) throw new ConnectError(message, Code.InvalidArgument)
}

type Service = 'lvmd' | 'mdd'

const ERRORS: Record<Service, Record<Refusal, readonly [Code, string]>> = {
  lvmd: {
    'not-found': [Code.NotFound, 'lvm: resource not found'],
    'in-use': [Code.FailedPrecondition, 'lvm: resource in use'],
    'is-partitioned': [Code.FailedPrecondition, 'lvm: device is partitioned'],
    failed: [Code.Internal, 'lvm operation failed'],
  },
  mdd: {
    'not-found': [Code.NotFound, 'md: array not found'],
    'in-use': [Code.FailedPrecondition, 'md: resource in use'],
    'is-partitioned': [Code.Internal, 'md operation failed'],
    failed: [Code.Internal, 'md operation failed'],
  },
}

/** Removes something, and logs it. Talos answers with the kind of an error only. */
const removed = (
  machine: Machine,
  service: Service,
  fields: { op: string } & Readonly<Record<string, string>>,
  remove: () => Refusal | null,
) => {
  const say = (message: string, more: object = {}): void =>
    machine.journal.kernel(
      `[talos] ${message} ${JSON.stringify({ component: 'machined', service, ...fields, ...more })}`,
    )
  say(service === 'lvmd' ? 'removing LVM resource' : 'destroying MD array')
  const refusal = remove()
  if (refusal === null) return {}
  const [code, error] = ERRORS[service][refusal]
  say(service === 'lvmd' ? 'lvm remove failed' : 'md operation failed', { error })
  throw new ConnectError(error, code)
}

export const lvmService: ServiceImpl<typeof LVMService> = {
  logicalVolumeRemove({ volumeGroup, logicalVolume }, context) {
    const machine = mayRemove(context)
    demand(
      volumeGroup !== '' && logicalVolume !== '',
      'volume_group and logical_volume must be set',
    )
    return removed(machine, 'lvmd', { op: 'lvremove', vg: volumeGroup, lv: logicalVolume }, () =>
      removeLogicalVolume(machine, volumeGroup, logicalVolume),
    )
  },

  volumeGroupRemove({ volumeGroup }, context) {
    const machine = mayRemove(context)
    demand(volumeGroup !== '', 'volume_group must be set')
    return removed(machine, 'lvmd', { op: 'vgremove', vg: volumeGroup }, () =>
      removeVolumeGroup(machine, volumeGroup),
    )
  },

  physicalVolumeRemove({ device }, context) {
    const machine = mayRemove(context)
    demand(device !== '', 'device must be set')
    return removed(machine, 'lvmd', { op: 'pvremove', device }, () =>
      removePhysicalVolume(machine, device),
    )
  },
}

export const mdService: ServiceImpl<typeof MDService> = {
  destroy({ device }, context) {
    const machine = mayRemove(context)
    demand(device !== '', 'device must be set')
    demand(device.startsWith('/dev/'), 'device must be a full /dev path')
    return removed(machine, 'mdd', { op: 'destroy', device }, () => destroyArray(machine, device))
  },
}
