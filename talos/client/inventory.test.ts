import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { State } from '../proto/gen/cosi/state_pb.ts'
import {
  DiscoveredVolumeSpecSchema,
  DiskSpecSchema,
  SystemDiskSpecSchema,
} from '../proto/gen/definitions/block_pb.ts'
import { LayerSchema } from '../proto/gen/definitions/extensions_pb.ts'
import {
  MemoryModuleSpecSchema,
  ProcessorSpecSchema,
  SystemInformationSpecSchema,
} from '../proto/gen/definitions/hardware_pb.ts'
import {
  AddressStatusSpecSchema,
  HostnameStatusSpecSchema,
  LinkStatusSpecSchema,
  NodeAddressSpecSchema,
  RouteStatusSpecSchema,
} from '../proto/gen/definitions/network_pb.ts'
import { MachineStatusSpecSchema, VersionSpecSchema } from '../proto/gen/definitions/runtime_pb.ts'
import { usePeers } from '../testing/peers.ts'
import type { TalosClient } from './client.ts'
import { readIdentity, readInventory, readStatus } from './inventory.ts'
import { resources } from './resources.ts'
import { processorMs } from '../../tools/testing/processor-time.ts'

const { undo, maintenance } = usePeers()
const invalid = { name: 'TalosError', kind: 'invalid_data' }

describe('an inventory', () => {
  const specs: Record<string, [string, Uint8Array][]> = {}
  const set = (type: string, ...items: [string, Uint8Array][]) => (specs[type] = items)

  /** A client of a machine that reports the resources in `specs`. */
  async function machine(): Promise<TalosClient> {
    const resource = (type: string, [id, protoSpec]: [string, Uint8Array]) => ({
      metadata: { type, id, version: '1', phase: 'running' },
      spec: { protoSpec },
    })
    const { client } = await maintenance((router) =>
      router.service(State, {
        get: ({ type, id }) => {
          const found = specs[type]?.find(([known]) => known === id)
          if (found === undefined)
            throw new ConnectError(`resource ${id} doesn't exist`, Code.NotFound)
          return { resource: resource(type, found) }
        },
        async *list({ type }) {
          for (const item of specs[type] ?? []) yield { resource: resource(type, item) }
        },
      }),
    )
    return client
  }

  afterEach(() => {
    for (const type of Object.keys(specs)) delete specs[type]
  })

  test('the inventory of a healthy machine is read', async () => {
    const ip = (...bytes: number[]) => new Uint8Array(bytes)
    set(resources.systemInformation.type, [
      'systeminformation',
      toBinary(
        SystemInformationSpecSchema,
        create(SystemInformationSpecSchema, {
          uuid: '4C4C4544-0044-4810-8052-B4C04F595032',
          serialNumber: 'ABC123',
          manufacturer: 'Dell Inc.',
          productName: 'PowerEdge R650',
        }),
      ),
    ])
    set(
      resources.processor.type,
      [
        'CPU1',
        toBinary(
          ProcessorSpecSchema,
          create(ProcessorSpecSchema, {
            socket: 'CPU1',
            manufacturer: 'Intel',
            productName: 'Xeon',
            coreCount: 28,
            threadCount: 56,
            maxSpeed: 4000,
          }),
        ),
      ],
      ['CPU2', new Uint8Array()],
    )
    set(
      resources.memoryModule.type,
      [
        'A1',
        toBinary(
          MemoryModuleSpecSchema,
          create(MemoryModuleSpecSchema, {
            size: 32768,
            deviceLocator: 'A1',
            manufacturer: 'Micron',
          }),
        ),
      ],
      ['A2', new Uint8Array()],
    )
    const disk = (init: MessageInitShape<typeof DiskSpecSchema>) =>
      toBinary(
        DiskSpecSchema,
        create(DiskSpecSchema, {
          size: 480_000_000_000n,
          ioSize: 512n,
          prettySize: '480 GB',
          ...init,
        }),
      )
    set(
      resources.disk.type,
      [
        'nvme0n1',
        disk({ transport: 'nvme', model: 'PM9A3', wwid: 'eui.0025', serial: 'S6', readonly: true }),
      ],
      ['sda', disk({ transport: 'sata' })],
      ['sdb', disk({ transport: 'sas', rotational: true })],
      ['vda', disk({})],
      ['mmcblk0', disk({ transport: 'mmc' })],
      ['loop0', disk({})],
      ['sr0', disk({ cdrom: true })],
      ['zram0', disk({})],
    )
    set(resources.discoveredVolume.type, [
      'nvme0n1',
      toBinary(
        DiscoveredVolumeSpecSchema,
        create(DiscoveredVolumeSpecSchema, { name: 'extfs', label: 'data', type: 'disk' }),
      ),
    ])
    const link = (init: MessageInitShape<typeof LinkStatusSpecSchema>) =>
      toBinary(
        LinkStatusSpecSchema,
        create(LinkStatusSpecSchema, {
          type: 1,
          hardwareAddr: ip(2, 0, 0, 0, 0, 9),
          driver: 'ice',
          linkState: true,
          ...init,
        }),
      )
    set(
      resources.link.type,
      [
        'eno1',
        link({ permanentAddr: ip(0xb4, 0x96, 0x91, 1, 2, 3), vendor: 'Intel', product: 'E810' }),
      ],
      ['bond0', link({ kind: 'bond' })],
      ['lo', link({ type: 772 })],
    )
    const address = (linkName: string, bytes: Uint8Array, prefixLength: number) =>
      toBinary(
        AddressStatusSpecSchema,
        create(AddressStatusSpecSchema, { linkName, address: { ip: bytes, prefixLength } }),
      )
    const v6 = ip(0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)
    set(
      resources.address.type,
      ['a', address('eno1', ip(10, 0, 0, 7), 24)],
      ['b', address('eno1', v6, 64)],
      ['c', address('__proto__', ip(10, 9, 9, 9), 32)],
    )
    set(
      resources.route.type,
      [
        'r',
        toBinary(
          RouteStatusSpecSchema,
          create(RouteStatusSpecSchema, {
            gateway: { ip: ip(10, 0, 0, 1) },
            outLinkName: 'eno1',
            priority: 1024,
          }),
        ),
      ],
      ['s', new Uint8Array()],
    )
    set(resources.nodeAddress.type, [
      'routed',
      toBinary(
        NodeAddressSpecSchema,
        create(NodeAddressSpecSchema, {
          addresses: [
            { ip: ip(10, 0, 0, 7), prefixLength: 24 },
            { ip: v6, prefixLength: 64 },
            { ip: ip(1, 2), prefixLength: 3 },
          ],
        }),
      ),
    ])
    set(resources.machineStatus.type, [
      'machine',
      toBinary(
        MachineStatusSpecSchema,
        create(MachineStatusSpecSchema, { stage: 3, status: { ready: true } }),
      ),
    ])
    set(resources.version.type, [
      'version',
      toBinary(VersionSpecSchema, create(VersionSpecSchema, { version: 'v1.13.9' })),
    ])
    set(resources.hostname.type, [
      'hostname',
      toBinary(
        HostnameStatusSpecSchema,
        create(HostnameStatusSpecSchema, { hostname: 'talos-abc' }),
      ),
    ])
    set(resources.systemDisk.type, [
      'system-disk',
      toBinary(
        SystemDiskSpecSchema,
        create(SystemDiskSpecSchema, { diskId: 'nvme0n1', devPath: '/dev/nvme0n1' }),
      ),
    ])
    set(resources.extension.type, [
      '000',
      toBinary(
        LayerSchema,
        create(LayerSchema, {
          metadata: {
            name: 'schematic',
            version: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
          },
        }),
      ),
    ])

    const client = await machine()
    expect(await readIdentity(client)).toEqual({
      uuid: '4c4c4544-0044-4810-8052-b4c04f595032',
      serial: 'ABC123',
      manufacturer: 'Dell Inc.',
      product: 'PowerEdge R650',
    })
    const { linkAddresses, ports, disks, ...inventory } = await readInventory(client)
    expect(inventory).toEqual({
      node_addresses: ['10.0.0.7', 'fd00::7'],
      processors: [
        {
          id: 'CPU1',
          socket: 'CPU1',
          manufacturer: 'Intel',
          product_name: 'Xeon',
          cpu_cores: 28,
          thread_count: 56,
          max_speed: 4000,
        },
      ],
      memory: [{ id: 'A1', size: 34_359_738_368, manufacturer: 'Micron', device_locator: 'A1' }],
      interfaces: [
        {
          id: 'eno1',
          link_state: true,
          driver: 'ice',
          product: 'E810',
          vendor: 'Intel',
          hardware_addr: 'b4:96:91:01:02:03',
        },
      ],
      routes: [{ destination: '', gateway: '10.0.0.1', link: 'eno1', metric: 1024 }],
      truncated: [],
    })
    expect([...ports]).toEqual([
      ['eno1', { driver: 'ice', bus_path: '', pci_id: '', alt_names: [] }],
    ])
    expect(disks[0]).toEqual({
      id: 'nvme0n1',
      serial: 'S6',
      transport: 'nvme',
      readonly: true,
      content: 'ext4 "data"',
      size: 480_000_000_000,
      io_size: 512,
      pretty_size: '480 GB',
      type: 'NVME',
      model: 'PM9A3',
      wwid: 'eui.0025',
    })
    expect(disks.map((d) => [d.id, d.type])).toEqual([
      ['nvme0n1', 'NVME'],
      ['sda', 'SSD'],
      ['sdb', 'HDD'],
      ['vda', 'UNKNOWN'],
      ['mmcblk0', 'SD'],
    ])
    expect(Object.entries(linkAddresses)).toEqual([
      ['eno1', ['10.0.0.7/24', 'fd00::7/64']],
      ['__proto__', ['10.9.9.9/32']],
    ])
    expect(await readStatus(client)).toEqual({
      stage: 'maintenance',
      ready: true,
      unmet: [],
      version: 'v1.13.9',
      hostname: 'talos-abc',
      systemDisk: '/dev/nvme0n1',
      extensions: [],
      schematic: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    })
  })

  test('a machine without resources has an empty inventory', async () => {
    expect(await readInventory(await machine())).toMatchObject({
      node_addresses: [],
      processors: [],
      memory: [],
      disks: [],
      interfaces: [],
      truncated: [],
    })
  })

  test('texts are truncated, and invisible characters are replaced by visible ones', async () => {
    set(resources.disk.type, [
      '../../x\u001b[2J\u202e',
      toBinary(
        DiskSpecSchema,
        create(DiskSpecSchema, { size: 1n, model: `<script>\n${'😀'.repeat(500)}` }),
      ),
    ])
    const { disks } = await readInventory(await machine())
    expect(disks[0]!.id).toBe('../../x\ufffd[2J\ufffd')
    expect(disks[0]!.model.length).toBeLessThanOrEqual(256)
    expect(disks[0]!.model.startsWith('<script> 😀')).toBe(true)
    expect(disks[0]!.model.isWellFormed()).toBe(true)
  })

  test('an impossible value is an error that names the field', async () => {
    set(resources.disk.type, [
      'sda',
      toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 2n ** 63n })),
    ])
    await expect(readInventory(await machine())).rejects.toMatchObject({
      ...invalid,
      message: 'server sent invalid data (disk size)',
    })
    set(resources.disk.type)
    set(resources.address.type, [
      'a',
      toBinary(
        AddressStatusSpecSchema,
        create(AddressStatusSpecSchema, { address: { ip: new Uint8Array(4), prefixLength: -1 } }),
      ),
    ])
    await expect(readInventory(await machine())).rejects.toMatchObject({
      ...invalid,
      message: 'server sent invalid data (prefix length)',
    })
    set(resources.systemInformation.type, [
      'systeminformation',
      toBinary(
        SystemInformationSpecSchema,
        create(SystemInformationSpecSchema, { uuid: 'not-a-uuid' }),
      ),
    ])
    await expect(readIdentity(await machine())).rejects.toMatchObject({
      ...invalid,
      message: 'server sent invalid data (system UUID)',
    })
    const uuid = '00000000-0000-0000-0000-000000000000'
    await expect(readIdentity(await machine(), { without: uuid })).rejects.toMatchObject(invalid)
    set(resources.systemInformation.type)
    expect(await readIdentity(await machine(), { without: uuid })).toEqual({
      uuid,
      serial: '',
      manufacturer: '',
      product: '',
    })
    await expect(readIdentity(await machine())).rejects.toMatchObject(invalid)
    set(resources.disk.type, ['sda', new Uint8Array([0xff, 0xff])])
    await expect(readInventory(await machine())).rejects.toMatchObject({
      ...invalid,
      message: 'server sent invalid data (Disks.block.talos.dev)',
    })
  })

  test('thousands of pods don’t crowd out network interfaces and disks', async () => {
    const link = (spec: MessageInitShape<typeof LinkStatusSpecSchema>) =>
      toBinary(LinkStatusSpecSchema, create(LinkStatusSpecSchema, spec))
    const disk = toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1n, model: 'm' }))
    const pods = Array.from({ length: 3000 }, (_, i): [string, Uint8Array] => [
      `lxc${String(i).padStart(5, '0')}`,
      link({ type: 1, kind: 'veth' }),
    ])
    set(resources.link.type, ...pods, ['wan0', link({ type: 1, driver: 'ice' })])
    set(
      resources.disk.type,
      ...Array.from({ length: 3000 }, (_, i): [string, Uint8Array] => [`nbd${i}`, disk]),
      ['sda', disk],
    )
    const { interfaces, disks, truncated } = await readInventory(await machine())
    expect(interfaces.map((i) => i.id)).toEqual(['wan0'])
    expect(disks.map((d) => d.id)).toEqual(['sda'])
    expect(truncated).toEqual([])
  })

  test('an inventory of ten thousand disks is truncated quickly and in little memory', async () => {
    const spec = toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1n, model: 'm' }))
    set(
      resources.disk.type,
      ...Array.from({ length: 10_000 }, (_, i): [string, Uint8Array] => [`sd${i}`, spec]),
    )
    // The test's server logs an error when its client hangs up.
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
    undo.push(() => complaint.mockRestore())
    const client = await machine()
    let inventory: Awaited<ReturnType<typeof readInventory>> | undefined
    const usedMs = await processorMs(async () => (inventory = await readInventory(client)))
    expect(inventory!.disks).toHaveLength(1024)
    expect(inventory!.truncated).toEqual(['disks'])
    expect(usedMs).toBeLessThan(5000)
  })
})
