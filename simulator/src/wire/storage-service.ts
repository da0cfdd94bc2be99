import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Disk_DiskType, type StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import type { TimeService } from '#talos/proto/gen/time/time_pb.ts'
import { PEER } from './peer.ts'

const TIME_SERVER = 'time.cloudflare.com'

export const storageService: ServiceImpl<typeof StorageService> = {
  disks(_request, context) {
    const { machine } = context.values.get(PEER)!
    const disks = machine.hardware.disks.map((disk) => ({
      size: BigInt(disk.sizeBytes),
      model: disk.model,
      deviceName: `/dev/${disk.name}`,
      name: disk.model,
      serial: disk.serial,
      wwid: disk.wwid,
      type: disk.transport === 'nvme' ? Disk_DiskType.NVME : disk.rotational ? Disk_DiskType.HDD : Disk_DiskType.SSD,
      busPath: disk.busPath,
      systemDisk: disk.name === machine.systemDisk,
      subsystem: '/sys/class/block',
    }))
    return { messages: [{ disks }] }
  },

  blockDeviceWipe({ devices }, context) {
    const { machine, mode, roles } = context.values.get(PEER)!
    if (mode !== 'maintenance' && !roles.includes('os:admin')) throw new ConnectError('not authorized', Code.PermissionDenied)
    for (const { device, skipVolumeCheck } of devices) {
      if (!machine.hardware.disks.some(({ name }) => name === device)) throw new ConnectError(`blockdevice "${device}" not found`, Code.NotFound)
      if (device !== machine.systemDisk) continue
      if (!skipVolumeCheck) throw new ConnectError(`blockdevice "${device}" is in use by volume "META"`, Code.FailedPrecondition)
      if (mode !== 'maintenance') throw new ConnectError(`block device "${device}" is mounted or in use`, Code.FailedPrecondition)
    }
    for (const { device } of devices) {
      machine.journal.kernel(`[talos] wiping block device "${device}" with fast method`)
      machine.disk.change((state) => {
        if (device === machine.systemDisk) Object.assign(state, { installed: null, config: null, meta: {}, half: false })
        if (state.contents) delete state.contents[device]
        state.wiped = [...(state.wiped ?? []), device]
      })
    }
    machine.journal.changed()
    return { messages: [{}] }
  },
}

export const timeService: ServiceImpl<typeof TimeService> = {
  time(_request, context) {
    const now = timestampFromMs(context.values.get(PEER)!.machine.world.clock.now())
    return { messages: [{ server: TIME_SERVER, localtime: now, remotetime: now }] }
  },
  timeCheck({ server }, context) {
    const now = timestampFromMs(context.values.get(PEER)!.machine.world.clock.now())
    return { messages: [{ server, localtime: now, remotetime: now }] }
  },
}
