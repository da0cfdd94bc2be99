/**
 * A malicious or broken server may cost only limited time and memory, and causes an error for this
 * server only.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { standardKey } from '../pki/keys.ts'
import { ListResponseSchema } from '../proto/gen/cosi/state_pb.ts'
import { DiskSpecSchema } from '../proto/gen/definitions/block_pb.ts'
import { VersionResponseSchema } from '../proto/gen/machine/machine_pb.ts'
import { pinOf, usePeers } from '../testing/peers.ts'
import { frame, listen, startRawServer, type TestServer } from '../testing/server.ts'
import type { TalosClient } from './client.ts'
import { connectMaintenance, readCertificate } from './connect.ts'
import { resources } from './resources.ts'

const peers = usePeers()
const { undo } = peers

async function reach(server: TestServer, deadlineMs?: number): Promise<TalosClient> {
  undo.push(() => server.stop())
  return peers.reach(server, deadlineMs)
}

const grpc = { ':status': 200, 'content-type': 'application/grpc' }

/**
 * A client of a server that sends the header for every call and then calls `answer` with the
 * stream.
 */
async function against(
  answer: (stream: ServerHttp2Stream) => void,
  deadlineMs?: number,
): Promise<TalosClient> {
  return reach(
    await startRawServer(
      peers.leaf,
      (stream) => (stream.respond(grpc, { waitForTrailers: true }), answer(stream)),
    ),
    deadlineMs,
  )
}

/** Ends a stream as gRPC does. */
function finish(stream: ServerHttp2Stream, status = '0'): void {
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end()
}

const invalid = { name: 'TalosError', kind: 'invalid_data' }
/** Long enough to connect on a busy machine. */
const patienceMs = 2_000
const timeout = {
  name: 'TalosError',
  kind: 'timeout',
  message: 'did not answer within 2 s',
}

describe('connecting to a hostile server', () => {
  const raw = async (onSocket: (socket: Socket) => void) => {
    const server = await listen(createServer(onSocket))
    undo.push(() => server.stop())
    return { host: '127.0.0.1', port: server.port }
  }

  test('a closed port is reported', async () => {
    const target = await raw(() => {})
    await undo.pop()!()
    await expect(readCertificate(target)).rejects.toMatchObject({
      kind: 'unreachable',
      message: 'connection refused',
    })
  })

  test('a silent server causes a timeout', async () => {
    const target = await raw(() => {})
    await expect(readCertificate(target, { timeoutMs: patienceMs })).rejects.toMatchObject(timeout)
    await expect(
      connectMaintenance(target, pinOf(peers.leaf.crt), { deadlineMs: patienceMs }),
    ).rejects.toMatchObject(timeout)
  })

  test('a server without TLS is refused', async () => {
    const target = await raw((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'))
    await expect(readCertificate(target)).rejects.toMatchObject(invalid)
  })

  test('a server that hangs up is reported', async () => {
    const target = await raw((socket) => socket.destroy())
    await expect(readCertificate(target)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the connection was lost',
    })
  })

  test('a server without HTTP/2 is refused', async () => {
    const server = await listen(
      createTlsServer({ key: standardKey(peers.leaf.key), cert: peers.leaf.crt }),
    )
    undo.push(() => server.stop())
    await expect(
      connectMaintenance({ host: '127.0.0.1', port: server.port }, pinOf(peers.leaf.crt)),
    ).rejects.toMatchObject({
      ...invalid,
      message: 'server does not speak HTTP/2',
    })
  })

  test('garbage after the TLS handshake is refused', async () => {
    const server = await listen(
      createTlsServer(
        { key: standardKey(peers.leaf.key), cert: peers.leaf.crt, ALPNProtocols: ['h2'] },
        (socket) => {
          socket.on('error', () => {})
          socket.resume()
          socket.write(Buffer.alloc(4096, 0xff))
        },
      ),
    )
    const client = await reach(server)
    await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
    await expect.poll(() => server.open()).toBe(0)
  })
})

describe('a hostile answer', () => {
  const version = toBinary(
    VersionResponseSchema,
    create(VersionResponseSchema, { messages: [{ version: { tag: 'v1.13.9' } }] }),
  )

  test('an answer that never comes causes a timeout', async () => {
    await expect((await against(() => {}, patienceMs)).version()).rejects.toMatchObject(timeout)
    const silent = await reach(await startRawServer(peers.leaf, () => {}), patienceMs)
    await expect(silent.version()).rejects.toMatchObject(timeout)
  })

  test('an answer that drips causes a timeout', async () => {
    const bytes = frame(new Uint8Array(100_000))
    const client = await against((stream) => {
      let at = 0
      const timer = setInterval(
        () =>
          stream.destroyed ? clearInterval(timer) : stream.write(bytes.subarray(at, (at += 1))),
        40,
      )
    }, patienceMs)
    await expect(client.version()).rejects.toMatchObject(timeout)
  })

  test('an answer that isn’t protobuf is refused', async () => {
    const client = await against(
      (stream) => (stream.write(frame(Buffer.alloc(64, 0xff))), finish(stream)),
    )
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('an answer with invalid UTF-8 is refused, or read with a replacement character', async () => {
    const broken = Buffer.from(version)
    broken[broken.indexOf('v1.13.9')] = 0xff
    const client = await against((stream) => (stream.write(frame(broken)), finish(stream)))
    // Both results are correct: the response is refused, or is read with the broken character
    // replaced.
    const answer = await client.version().catch((error: unknown) => error)
    expect(answer).toMatchObject(answer instanceof Error ? invalid : { tag: '\ufffd1.13.9' })
  })

  test('a missing answer is refused', async () => {
    await expect((await against((stream) => finish(stream))).version()).rejects.toMatchObject(
      invalid,
    )
    await expect(
      (
        await against((stream) => (stream.write(frame(new Uint8Array())), finish(stream)))
      ).version(),
    ).rejects.toMatchObject(invalid)
  })

  test('an answer without status is refused', async () => {
    const client = await against(
      (stream) => (
        stream.write(frame(version)),
        stream.on('wantTrailers', () => stream.sendTrailers({ x: 'y' })),
        stream.end()
      ),
    )
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('two answers are refused', async () => {
    const client = await against(
      (stream) => (stream.write(frame(version)), stream.write(frame(version)), finish(stream)),
    )
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('an answer shorter than its length is refused', async () => {
    const huge = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1])
    const client = await against((stream) => (stream.write(huge), finish(stream)))
    await expect(client.version()).rejects.toMatchObject(invalid)
  })

  test('an answer of a hundred megabytes is refused', async () => {
    const before = process.memoryUsage().rss
    const client = await against((stream) => {
      stream.write(Buffer.from([0, 0x06, 0x40, 0, 0]))
      for (let i = 0; i < 100 && !stream.destroyed; i++) stream.write(Buffer.alloc(1024))
    })
    await expect(client.version()).rejects.toMatchObject(invalid)
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 ** 2)
  })

  test('a compressed answer is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(16 * 1024 ** 2))
    const unsaid = await against((stream) => (stream.write(frame(bomb, 1)), finish(stream)))
    await expect(unsaid.version()).rejects.toMatchObject(invalid)
    const said = await reach(
      await startRawServer(
        peers.leaf,
        (stream) => (
          stream.respond({ ...grpc, 'grpc-encoding': 'gzip' }, { waitForTrailers: true }),
          stream.write(frame(bomb, 1)),
          finish(stream)
        ),
      ),
    )
    await expect(said.version()).rejects.toMatchObject(invalid)
  })

  test('a header of a megabyte is refused', async () => {
    const server = await startRawServer(peers.leaf, (stream) => {
      try {
        stream.respond({
          ...grpc,
          ...Object.fromEntries(
            Array.from({ length: 100 }, (_, i) => [`x-${i}`, 'y'.repeat(10_000)]),
          ),
        })
      } catch {
        stream.destroy()
      }
      stream.end()
    })
    await expect((await reach(server)).version()).rejects.toMatchObject({ name: 'TalosError' })
  })

  test('a stream reset and a closed connection are reported', async () => {
    for (const code of [0, 1, 2, 7, 8, 11]) {
      const client = await reach(await startRawServer(peers.leaf, (stream) => stream.close(code)))
      await expect(client.version(), `code ${code}`).rejects.toMatchObject({ name: 'TalosError' })
    }
    const goaway = await reach(
      await startRawServer(peers.leaf, (stream) => stream.session?.goaway(2)),
    )
    await expect(goaway.version()).rejects.toMatchObject({ name: 'TalosError' })
    const cut = await reach(await startRawServer(peers.leaf, (stream) => stream.session?.destroy()))
    await expect(cut.version()).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('an HTTP error page is refused', async () => {
    const client = await reach(
      await startRawServer(
        peers.leaf,
        (stream) => (
          stream.respond({ ':status': 502, 'content-type': 'text/html' }),
          stream.end('<h1>Bad gateway</h1>')
        ),
      ),
    )
    await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
  })

  test('calls on a connection that the server closes fail at once', async () => {
    const server = await startRawServer(
      peers.leaf,
      () => {},
      (session) => session.goaway(0),
    )
    const client = await reach(server)
    for (let i = 0; i < 5; i++)
      await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
    expect(server.accepted()).toBe(1)
  })
})

describe('a hostile list', () => {
  const disk = (id: string, spec: MessageInitShape<typeof DiskSpecSchema> = {}) =>
    frame(
      toBinary(
        ListResponseSchema,
        create(ListResponseSchema, {
          resource: {
            metadata: { type: resources.disk.type, id },
            spec: {
              protoSpec: toBinary(DiskSpecSchema, create(DiskSpecSchema, { size: 1000n, ...spec })),
            },
          },
        }),
      ),
    )

  test('an endless list is truncated', async () => {
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

  test('a list of large elements is truncated by bytes', async () => {
    const client = await against((stream) => {
      for (let i = 0; i < 100; i++) stream.write(disk(`sd${i}`, { model: 'x'.repeat(100_000) }))
      finish(stream)
    })
    const { items, truncated } = await client.list(resources.disk)
    expect(items.length).toBeLessThanOrEqual(10)
    expect(truncated).toBe(true)
  })

  test('a list that stops halfway causes a timeout', async () => {
    const client = await against((stream) => stream.write(disk('sda')), patienceMs)
    await expect(client.list(resources.disk)).rejects.toMatchObject(timeout)
  })

  test('a list of another kind is refused', async () => {
    const client = await against((stream) => (stream.write(disk('sda')), finish(stream)))
    await expect(client.list(resources.processor)).rejects.toMatchObject(invalid)
  })
})
