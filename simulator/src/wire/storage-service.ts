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
    for (const { device } of devices) {
      if (!machine.hardware.disks.some(({ name }) => name === device)) throw new ConnectError(`blockdevice "${device}" not found`, Code.NotFound)
      if (device === machine.systemDisk) throw new ConnectError(`blockdevice "${device}" is in use by the system`, Code.FailedPrecondition)
    }
    machine.disk.change((state) => {
      for (const { device } of devices) if (state.contents) delete state.contents[device]
    })
    machine.journal.kernel(`[talos] wiped ${devices.map(({ device }) => device).join(', ')}`)
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
