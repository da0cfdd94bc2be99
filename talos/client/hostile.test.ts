/**
 * Servers that mean harm or are broken: each costs bounded time and memory, and says on that server alone what is wrong.
 */
import { gzipSync } from 'node:zlib'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { ServerHttp2Stream } from 'node:http2'
import { type MessageInitShape, create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { issueCertificate } from '../pki/certificates.ts'
import { type KeyPair, standardKey } from '../pki/keys.ts'
import { ListResponseSchema, State } from '../proto/gen/cosi/state_pb.ts'
import { DiskSpecSchema, SystemDiskSpecSchema } from '../proto/gen/definitions/block_pb.ts'
import { LayerSchema } from '../proto/gen/definitions/extensions_pb.ts'
import { MemoryModuleSpecSchema, ProcessorSpecSchema, SystemInformationSpecSchema } from '../proto/gen/definitions/hardware_pb.ts'
import {
  AddressStatusSpecSchema,
  HostnameStatusSpecSchema,
  LinkStatusSpecSchema,
  NodeAddressSpecSchema,
  RouteStatusSpecSchema,
} from '../proto/gen/definitions/network_pb.ts'
import { MachineStatusSpecSchema, VersionSpecSchema } from '../proto/gen/definitions/runtime_pb.ts'
import { VersionResponseSchema } from '../proto/gen/machine/machine_pb.ts'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { frame, listen, startRawServer, startServer, type TestServer } from '../testing/server.ts'
import type { TalosClient } from './client.ts'
import { connectMaintenance, readCertificate } from './connect.ts'
import { readIdentity, readInventory, readStatus } from './inventory.ts'
import { resources } from './resources.ts'

const undo: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

let leaf: KeyPair
beforeAll(async () => {
  const now = new Date()
  const { certs } = await generateSecrets({ now, keys: await readyKeys() })
  leaf = await issueCertificate(certs.os, {
    subject: { commonName: 'maintenance-service.talos.dev' },
    usages: ['server'],
    names: { addresses: ['127.0.0.1'] },
    lifetimeMs: 3_600_000,
    now,
  })
})

async function reach(server: TestServer, deadlineMs = 2000): Promise<TalosClient> {
  undo.push(() => server.stop())
  const client = await connectMaintenance({ host: '127.0.0.1', port: server.port }, { pem: leaf.crt }, { deadlineMs })
  undo.push(() => client.close())
  return client
}

const grpc = { ':status': 200, 'content-type': 'application/grpc' }

/** A client of a server that answers every call with what `answer` does to the stream, after the header. */
async function against(answer: (stream: ServerHttp2Stream) => void, deadlineMs?: number): Promise<TalosClient> {
  return reach(await startRawServer(leaf, (stream) => (stream.respond(grpc, { waitForTrailers: true }), answer(stream))), deadlineMs)
}

/** Ends a stream as gRPC does. */
function finish(stream: ServerHttp2Stream, status = '0'): void {
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end()
}

const invalid = { name: 'TalosError', kind: 'invalid_data' }
const timeout = { name: 'TalosError', kind: 'timeout', message: 'did not answer within 100 ms' }

describe('before a connection stands', () => {
  const raw = async (onSocket: (socket: Socket) => void) => {
    const server = await listen(createServer(onSocket))
    undo.push(() => server.stop())
    return { host: '127.0.0.1', port: server.port }
  }

  test('nothing listens', async () => {
    const target = await raw(() => {})
    await undo.pop()!()
    await expect(readCertificate(target)).rejects.toMatchObject({ kind: 'unreachable', message: 'connection refused' })
  })

  test('it accepts and says nothing', async () => {
    const target = await raw(() => {})
    await expect(readCertificate(target, { timeoutMs: 100 })).rejects.toMatchObject(timeout)
    await expect(connectMaintenance(target, { pem: leaf.crt }, { deadlineMs: 100 })).rejects.toMatchObject(timeout)
  })

  test('it says something else than TLS', async () => {
    const target = await raw((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'))
    await expect(readCertificate(target)).rejects.toMatchObject(invalid)
  })

  test('it hangs up', async () => {
    const target = await raw((socket) => socket.destroy())
    await expect(readCertificate(target)).rejects.toMatchObject({ kind: 'unavailable', message: 'the connection was lost' })
  })

  test('it speaks TLS but not HTTP/2', async () => {
    const server = await listen(createTlsServer({ key: standardKey(leaf.key), cert: leaf.crt }))
    undo.push(() => server.stop())
    await expect(connectMaintenance({ host: '127.0.0.1', port: server.port }, { pem: leaf.crt })).rejects.toMatchObject({
      ...invalid,
      message: 'server does not speak HTTP/2',
    })
  })

  test('it speaks garbage after TLS', async () => {
    const server = await listen(
      createTlsServer({ key: standardKey(leaf.key), cert: leaf.crt, ALPNProtocols: ['h2'] }, (socket) => {
        socket.on('error', () => {})
        socket.resume()
        socket.write(Buffer.alloc(4096, 0xff))
      }),
    )
    const client = await reach(server)
    await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
    await expect.poll(() => server.open()).toBe(0)
  })
})

describe('one answer', () => {
  const version = toBinary(VersionResponseSchema, create(VersionResponseSchema, { messages: [{ version: { tag: 'v1.13.9' } }] }))

  test('never comes', async () => {
    await expect((await against(() => {}, 100)).version()).rejects.toMatchObject(timeout)
    const silent = await reach(await startRawServer(leaf, () => {}), 100)
    await expect(silent.version()).rejects.toMatchObject(timeout)
  })

  test('drips', async () => {
    const bytes = frame(version)
    const client = await against((stream) => {
      let at = 0
      const timer = setInterval(
        () => (stream.destroyed ? clearInterval(timer) : stream.write(bytes.subarray(at % bytes.length, (at++ % bytes.length) + 1))),
        40,
      )
    }, 100)
    await expect(client.version()).rejects.toMatchObject(timeout)
  })

  test('is no protobuf', async () => {
    const client = await against((stream) => (stream.write(frame(Buffer.alloc(64, 0xff))), finish(stream)))
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('has text that is no UTF-8', async () => {
    const broken = Buffer.from(version)
    broken[broken.indexOf('v1.13.9')] = 0xff
    const client = await against((stream) => (stream.write(frame(broken)), finish(stream)))
    // Either is right: refused, or read with the broken character replaced.
    const answer = await client.version().catch((error: unknown) => error)
    expect(answer).toMatchObject(answer instanceof Error ? invalid : { tag: '\ufffd1.13.9' })
  })

  test('is missing though all is well', async () => {
    await expect((await against((stream) => finish(stream))).version()).rejects.toMatchObject(invalid)
    await expect((await against((stream) => (stream.write(frame(new Uint8Array())), finish(stream)))).version()).rejects.toMatchObject(invalid)
  })

  test('has no status', async () => {
    const client = await against((stream) => (stream.write(frame(version)), stream.on('wantTrailers', () => stream.sendTrailers({ x: 'y' })), stream.end()))
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('comes twice', async () => {
    const client = await against((stream) => (stream.write(frame(version)), stream.write(frame(version)), finish(stream)))
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('claims a length it hasn’t', async () => {
    const huge = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1])
    const client = await against((stream) => (stream.write(huge), finish(stream)))
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('is a hundred megabytes', async () => {
    const before = process.memoryUsage().rss
    const client = await against((stream) => {
      stream.write(Buffer.from([0, 0x06, 0x40, 0, 0]))
      for (let i = 0; i < 100 && !stream.destroyed; i++) stream.write(Buffer.alloc(1024))
    })
    await expect(client.version()).rejects.toMatchObject(invalid)
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 ** 2)
  })

  test('is compressed, said or unsaid', async () => {
    const bomb = gzipSync(Buffer.alloc(16 * 1024 ** 2))
    const unsaid = await against((stream) => (stream.write(frame(bomb, 1)), finish(stream)))
    await expect(unsaid.version()).rejects.toMatchObject(invalid)
    const said = await reach(
      await startRawServer(
        leaf,
        (stream) => (stream.respond({ ...grpc, 'grpc-encoding': 'gzip' }, { waitForTrailers: true }), stream.write(frame(bomb, 1)), finish(stream)),
      ),
    )
    await expect(said.version()).rejects.toMatchObject(invalid)
  })

  test('has a header of a megabyte', async () => {
    const server = await startRawServer(leaf, (stream) => {
      try {
        stream.respond({ ...grpc, ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-${i}`, 'y'.repeat(10_000)])) })
      } catch {
        stream.destroy()
      }
      stream.end()
    })
    await expect((await reach(server)).version()).rejects.toMatchObject({ name: 'TalosError' })
  })

  test('is a reset or the end of the connection', async () => {
    for (const code of [0, 1, 2, 7, 8, 11]) {
      const client = await reach(await startRawServer(leaf, (stream) => stream.close(code)))
      const begun = performance.now()
      await expect(client.version(), `code ${code}`).rejects.toMatchObject({ name: 'TalosError' })
      expect(performance.now() - begun).toBeLessThan(1000)
    }
    const goaway = await reach(await startRawServer(leaf, (stream) => stream.session?.goaway(2)))
    await expect(goaway.version()).rejects.toMatchObject({ name: 'TalosError' })
    const cut = await reach(await startRawServer(leaf, (stream) => stream.session?.destroy()))
    await expect(cut.version()).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('is an HTTP error page', async () => {
    const client = await reach(
      await startRawServer(leaf, (stream) => (stream.respond({ ':status': 502, 'content-type': 'text/html' }), stream.end('<h1>Bad gateway</h1>'))),
    )
    await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
  })

  test('ends the connection each time, and each time at once', async () => {
    const server = await startRawServer(
      leaf,
      () => {},
      (session) => session.goaway(0),
    )
    const client = await reach(server)
    const begun = performance.now()
    for (let i = 0; i < 5; i++) await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
    expect(performance.now() - begun).toBeLessThan(3000)
    expect(server.accepted()).toBe(1)
  })
})

describe('a list', () => {
  const disk = (id: string, spec: MessageInitShape<typeof DiskSpecSchema> = {}) =>
    frame(
      toBinary(
        ListResponseSchema,
        create(ListResponseSchema, {
          resource: {
            metadata: { type: resources.disk.type, id },
            spec: { protoSpec: toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1000n, ...spec })) },
          },
        }),
      ),
    )

  test('without end is cut', async () => {
    let sent = 0
    const client = await against((stream) => {
      const push = () => {
        while (!stream.destroyed && stream.write(disk(`sd${sent}`))) sent++
        if (!stream.destroyed) stream.once('drain', push)
      }
      push()
    })
    const { items, truncated } = await client.list(resources.disk)
    expect(items).toHaveLength(1024)
    expect(truncated).toBe(true)
    expect(sent).toBeLessThan(100_000)
  })

  test('of big things is cut by bytes', async () => {
    const client = await against((stream) => {
      for (let i = 0; i < 100; i++) stream.write(disk(`sd${i}`, { model: 'x'.repeat(100_000) }))
      finish(stream)
    })
    const { items, truncated } = await client.list(resources.disk)
    expect(items.length).toBeLessThanOrEqual(10)
    expect(truncated).toBe(true)
  })

  test('that stops halfway is given up', async () => {
    const client = await against((stream) => stream.write(disk('sda')), 100)
    await expect(client.list(resources.disk)).rejects.toMatchObject(timeout)
  })

  test('of things of another kind is refused', async () => {
    const client = await against((stream) => (stream.write(disk('sda')), finish(stream)))
    await expect(client.list(resources.processor)).rejects.toMatchObject(invalid)
  })
})

describe('an inventory', () => {
  const specs: Record<string, [string, Uint8Array][]> = {}
  const set = (type: string, ...items: [string, Uint8Array][]) => (specs[type] = items)

  /** A machine that says what `specs` holds. */
  async function machine(): Promise<TalosClient> {
    const resource = (type: string, [id, protoSpec]: [string, Uint8Array]) => ({ metadata: { type, id, version: '1', phase: 'running' }, spec: { protoSpec } })
    return reach(
      await startServer(leaf, (router) =>
        router.service(State, {
          get: ({ type, id }) => {
            const found = specs[type]?.find(([known]) => known === id)
            if (found === undefined) throw new ConnectError(`resource ${id} doesn't exist`, Code.NotFound)
            return { resource: resource(type, found) }
          },
          async *list({ type }) {
            for (const item of specs[type] ?? []) yield { resource: resource(type, item) }
          },
        }),
      ),
    )
  }

  afterEach(() => {
    for (const type of Object.keys(specs)) delete specs[type]
  })

  test('is read as a well-behaved machine tells it', async () => {
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
          create(ProcessorSpecSchema, { socket: 'CPU1', manufacturer: 'Intel', productName: 'Xeon', coreCount: 28, threadCount: 56, maxSpeed: 4000 }),
        ),
      ],
      ['CPU2', new Uint8Array()],
    )
    set(
      resources.memoryModule.type,
      ['A1', toBinary(MemoryModuleSpecSchema, create(MemoryModuleSpecSchema, { size: 32768, deviceLocator: 'A1', manufacturer: 'Micron' }))],
      ['A2', new Uint8Array()],
    )
    const disk = (init: MessageInitShape<typeof DiskSpecSchema>) =>
      toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 480_000_000_000n, ioSize: 512n, prettySize: '480 GB', ...init }))
    set(
      resources.disk.type,
      ['nvme0n1', disk({ transport: 'nvme', model: 'PM9A3', wwid: 'eui.0025' })],
      ['sda', disk({ transport: 'sata' })],
      ['sdb', disk({ transport: 'sas', rotational: true })],
      ['vda', disk({})],
      ['mmcblk0', disk({ transport: 'mmc' })],
      ['loop0', disk({})],
      ['sr0', disk({ cdrom: true })],
      ['zram0', disk({})],
    )
    const link = (init: MessageInitShape<typeof LinkStatusSpecSchema>) =>
      toBinary(LinkStatusSpecSchema, create(LinkStatusSpecSchema, { type: 1, hardwareAddr: ip(2, 0, 0, 0, 0, 9), driver: 'ice', linkState: true, ...init }))
    set(
      resources.link.type,
      ['eno1', link({ permanentAddr: ip(0xb4, 0x96, 0x91, 1, 2, 3), vendor: 'Intel', product: 'E810' })],
      ['bond0', link({ kind: 'bond' })],
      ['lo', link({ type: 772 })],
    )
    const address = (linkName: string, bytes: Uint8Array, prefixLength: number) =>
      toBinary(AddressStatusSpecSchema, create(AddressStatusSpecSchema, { linkName, address: { ip: bytes, prefixLength } }))
    const v6 = ip(0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)
    set(resources.address.type, ['a', address('eno1', ip(10, 0, 0, 7), 24)], ['b', address('eno1', v6, 64)], ['c', address('__proto__', ip(10, 9, 9, 9), 32)])
    set(
      resources.route.type,
      ['r', toBinary(RouteStatusSpecSchema, create(RouteStatusSpecSchema, { gateway: { ip: ip(10, 0, 0, 1) }, outLinkName: 'eno1', priority: 1024 }))],
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
    set(resources.machineStatus.type, ['machine', toBinary(MachineStatusSpecSchema, create(MachineStatusSpecSchema, { stage: 3, status: { ready: true } }))])
    set(resources.version.type, ['version', toBinary(VersionSpecSchema, create(VersionSpecSchema, { version: 'v1.13.9' }))])
    set(resources.hostname.type, ['hostname', toBinary(HostnameStatusSpecSchema, create(HostnameStatusSpecSchema, { hostname: 'talos-abc' }))])
    set(resources.systemDisk.type, [
      'system-disk',
      toBinary(SystemDiskSpecSchema, create(SystemDiskSpecSchema, { diskId: 'nvme0n1', devPath: '/dev/nvme0n1' })),
    ])
    set(resources.extension.type, [
      '000',
      toBinary(
        LayerSchema,
        create(LayerSchema, { metadata: { name: 'schematic', version: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba' } }),
      ),
    ])

    const client = await machine()
    expect(await readIdentity(client)).toEqual({
      uuid: '4c4c4544-0044-4810-8052-b4c04f595032',
      serial: 'ABC123',
      manufacturer: 'Dell Inc.',
      product: 'PowerEdge R650',
    })
    const { linkAddresses, disks, ...inventory } = await readInventory(client)
    expect(inventory).toEqual({
      node_addresses: ['10.0.0.7', 'fd00::7'],
      processors: [{ id: 'CPU1', socket: 'CPU1', manufacturer: 'Intel', product_name: 'Xeon', cpu_cores: 28, thread_count: 56, max_speed: 4000 }],
      memory: [{ id: 'A1', size: 34_359_738_368, manufacturer: 'Micron', device_locator: 'A1' }],
      interfaces: [{ id: 'eno1', link_state: true, driver: 'ice', product: 'E810', vendor: 'Intel', hardware_addr: 'b4:96:91:01:02:03' }],
      routes: [{ destination: '', gateway: '10.0.0.1', link: 'eno1', metric: 1024 }],
      truncated: [],
    })
    expect(disks[0]).toEqual({ id: 'nvme0n1', size: 480_000_000_000, io_size: 512, pretty_size: '480 GB', type: 'NVME', model: 'PM9A3', wwid: 'eui.0025' })
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
      machineType: 'unknown',
      systemDisk: '/dev/nvme0n1',
      addresses: ['10.0.0.7', 'fd00::7'],
      schematic: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    })
  })

  test('of nothing at all is empty, not an error', async () => {
    expect(await readInventory(await machine())).toMatchObject({ node_addresses: [], processors: [], memory: [], disks: [], interfaces: [], truncated: [] })
  })

  test('keeps texts short and visible', async () => {
    set(resources.disk.type, ['../../x\u001b[2J\u202e', toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1n, model: `<script>\n${'😀'.repeat(500)}` }))])
    const { disks } = await readInventory(await machine())
    expect(disks[0]!.id).toBe('../../x\ufffd[2J\ufffd')
    expect(disks[0]!.model.length).toBeLessThanOrEqual(256)
    expect(disks[0]!.model.startsWith('<script>\ufffd😀')).toBe(true)
    expect(disks[0]!.model.isWellFormed()).toBe(true)
  })

  test('names the field of a value that can’t be', async () => {
    set(resources.disk.type, ['sda', toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 2n ** 63n }))])
    await expect(readInventory(await machine())).rejects.toMatchObject({ ...invalid, message: 'server sent invalid data (disk size)' })
    set(resources.disk.type)
    set(resources.address.type, [
      'a',
      toBinary(AddressStatusSpecSchema, create(AddressStatusSpecSchema, { address: { ip: new Uint8Array(4), prefixLength: -1 } })),
    ])
    await expect(readInventory(await machine())).rejects.toMatchObject({ ...invalid, message: 'server sent invalid data (prefix length)' })
    set(resources.systemInformation.type, [
      'systeminformation',
      toBinary(SystemInformationSpecSchema, create(SystemInformationSpecSchema, { uuid: 'not-a-uuid' })),
    ])
    await expect(readIdentity(await machine())).rejects.toMatchObject({ ...invalid, message: 'server sent invalid data (system UUID)' })
    set(resources.disk.type, ['sda', new Uint8Array([0xff, 0xff])])
    await expect(readInventory(await machine())).rejects.toMatchObject({ ...invalid, message: 'server sent invalid data (Disks.block.talos.dev)' })
  })

  test('of ten thousand disks is read to a bound, quickly and in little memory', async () => {
    const spec = toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1n, model: 'm' }))
    set(resources.disk.type, ...Array.from({ length: 10_000 }, (_, i): [string, Uint8Array] => [`sd${i}`, spec]))
    // The test's server complains where its client hangs up.
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
    undo.push(() => complaint.mockRestore())
    const client = await machine()
    const begun = performance.now()
    const inventory = await readInventory(client)
    expect(inventory.disks).toHaveLength(1024)
    expect(inventory.truncated).toEqual(['disks'])
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})
