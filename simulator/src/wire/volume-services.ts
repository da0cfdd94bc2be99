import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { LVMService, MDService } from '#talos/proto/gen/machine/volumes_pb.ts'
import { hasFeature } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import { PEER } from './peer.ts'

/**
 * The services that remove LVM volumes and RAID arrays, since Talos 1.14. A simulated machine has
 * none, so that they find nothing (Talos: internal/app/lvmd, mdd, and the errors of
 * internal/pkg/lvm and md).
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

/** Talos answers with the kind of the error, and logs what the program said. */
const failed = (
  machine: Machine,
  service: 'lvmd' | 'mdd',
  { op, error, code = Code.NotFound }: { op: string; error: string; code?: Code },
): never => {
  const what = service === 'lvmd' ? 'lvm remove failed' : 'md operation failed'
  machine.journal.kernel(
    `[talos] ${what} {"component": "machined", "service": "${service}", "op": "${op}", "error": "${error}"}`,
  )
  throw new ConnectError(error, code)
}

const noLvm = 'lvm: resource not found'

export const lvmService: ServiceImpl<typeof LVMService> = {
  logicalVolumeRemove({ volumeGroup, logicalVolume }, context) {
    const machine = mayRemove(context)
    demand(
      volumeGroup !== '' && logicalVolume !== '',
      'volume_group and logical_volume must be set',
    )
    return failed(machine, 'lvmd', { op: 'lvremove', error: noLvm })
  },

  volumeGroupRemove({ volumeGroup }, context) {
    const machine = mayRemove(context)
    demand(volumeGroup !== '', 'volume_group must be set')
    return failed(machine, 'lvmd', { op: 'vgremove', error: noLvm })
  },

  physicalVolumeRemove({ device }, context) {
    const machine = mayRemove(context)
    demand(device !== '', 'device must be set')
    const op = 'pvremove'
    const disk = machine.hardware.disks.find(({ name }) => device === `/dev/${name}`)
    if (!disk) return failed(machine, 'lvmd', { op, error: noLvm })
    // `pvremove` says "device is partitioned", or "No PV found on device", for which Talos has no
    // kind of error.
    if (disk.name === machine.systemDisk)
      return failed(machine, 'lvmd', {
        op,
        error: 'lvm: device is partitioned',
        code: Code.FailedPrecondition,
      })
    return failed(machine, 'lvmd', { op, error: 'lvm operation failed', code: Code.Internal })
  },
}

export const mdService: ServiceImpl<typeof MDService> = {
  destroy({ device }, context) {
    const machine = mayRemove(context)
    demand(device !== '', 'device must be set')
    demand(device.startsWith('/dev/'), 'device must be a full /dev path')
    return failed(machine, 'mdd', { op: 'destroy', error: 'md: array not found' })
  },
}
