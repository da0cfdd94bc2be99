/** Short calls: the same answers as over Node's HTTP/2, and nothing but a refusal for servers that answer in another way. */
import type { ServerHttp2Stream } from 'node:http2'
import { createServer, type TLSSocket } from 'node:tls'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { standardKey } from '../../pki/keys.ts'
import { type GetResponse, State } from '../../proto/gen/cosi/state_pb.ts'
import { MachineStatusSpecSchema } from '../../proto/gen/definitions/runtime_pb.ts'
import { pinOf, target, usePeers } from '../../testing/peers.ts'
import { frame as message, listen, startRawServer, type TestServer } from '../../testing/server.ts'
import { askMaintenance, connectMaintenance } from '../connect.ts'
import { shortStage, stageIn } from '../inventory.ts'
import { resources } from '../resources.ts'
import { shortList } from '../state.ts'
import { flags, frame, frameReader, frames, header } from './frames.ts'

const peers = usePeers()

const ask = (
  server: TestServer,
  { calls = [shortStage], deadlineMs = 2_000, signal }: { calls?: typeof all; deadlineMs?: number; signal?: AbortSignal } = {},
) => askMaintenance(target(server), pinOf(peers.leaf.crt), calls, { deadlineMs, signal, isPublic: true })
const all = [shortStage, shortList(resources.disk), shortList(resources.route)]

const resource = (type: string, id: string): GetResponse['resource'] => ({
  $typeName: 'cosi.resource.Resource',
  metadata: {
    $typeName: 'cosi.resource.Metadata',
    namespace: 'runtime',
    type,
    id,
    version: '1',
    owner: '',
    phase: 'running',
    annotations: {},
    labels: {},
    finalizers: [],
  },
  spec: { $typeName: 'cosi.resource.Spec', protoSpec: toBinary(MachineStatusSpecSchema, create(MachineStatusSpecSchema, { stage: 3 })), yamlSpec: '' },
})

/** A machine with a stage, three disks and no routes. `refuse`: it answers each question about its stage with an error. */
const machine = (refuse?: Code) =>
  peers.serve(peers.leaf, (router) =>
    router.service(State, {
      get: ({ type, id }) => {
        if (refuse !== undefined) throw new ConnectError('refused', refuse)
        return { resource: resource(type, id) }
      },
      async *list({ type }) {
        if ((refuse ?? Code.NotFound) === Code.NotFound && type === resources.disk.type)
          for (const id of ['sda', 'sdb', 'x'.repeat(100_000)]) yield { resource: resource(type, id) }
      },
    }),
  )

describe('short calls', () => {
  test('they give the same bytes as a session, also for an empty list and for a message of several frames', async () => {
    const server = await machine()
    const answers = await ask(server, { calls: all })
    expect(stageIn(answers![0]![0]!)).toMatchObject({ stage: 'maintenance' })
    const seen: Buffer[] = []
    const client = peers.closing(await connectMaintenance(target(server), pinOf(peers.leaf.crt)))
    await client.list(resources.disk, { seen: (_, bytes) => void seen.push(bytes) })
    expect(answers!.slice(1)).toEqual([seen, []])
    expect(seen).toHaveLength(3)
  })

  test('the connection is closed afterwards', async () => {
    const server = await machine()
    await ask(server)
    await expect.poll(() => server.open()).toBe(0)
  })

  test('a machine that shows another certificate is asked nothing', async () => {
    let asked = 0
    const server = await startRawServer(peers.node, () => asked++)
    peers.undo.push(() => server.stop())
    await expect(ask(server)).rejects.toMatchObject({ kind: 'certificate' })
    expect(asked).toBe(0)
  })

  test.each([Code.Unavailable, Code.PermissionDenied, Code.DeadlineExceeded])('an error (%i) is no answer', async (code) => {
    const server = await machine(code)
    expect(await ask(server)).toBeUndefined()
    expect(await ask(server, { calls: all })).toBeUndefined()
  })

  test('the status that nothing was found is an answer', async () => {
    const server = await machine(Code.NotFound)
    expect(await ask(server)).toEqual([null])
    expect((await ask(server, { calls: all }))!.map((answer) => answer?.length)).toEqual([undefined, 3, 0])
  })

  test('a machine that never answers causes a timeout, and an abort ends the call', async () => {
    const server = await startRawServer(peers.leaf, () => {})
    peers.undo.push(() => server.stop())
    await expect(ask(server, { deadlineMs: 100 })).rejects.toMatchObject({ kind: 'timeout', message: 'did not answer within 100 ms' })
    const stop = new AbortController()
    const asking = ask(server, { signal: stop.signal })
    setTimeout(() => stop.abort(), 50)
    await expect(asking).rejects.toMatchObject({ kind: 'cancelled' })
    await expect.poll(() => server.open()).toBe(0)
  })
})

describe('answers in another form', () => {
  const grpc = { ':status': 200, 'content-type': 'application/grpc' }
  const finish = (stream: ServerHttp2Stream, trailers: Record<string, string> = { 'grpc-status': '0' }) => {
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.end()
  }
  const answers: Record<string, (stream: ServerHttp2Stream) => void> = {
    'another HTTP status': (stream) => (stream.respond({ ...grpc, ':status': 502 }, { waitForTrailers: true }), finish(stream)),
    'no status': (stream) => (stream.respond(grpc, { waitForTrailers: true }), stream.write(message(Buffer.from('a'))), finish(stream, { x: 'y' })),
    'a status of failure after a message': (stream) => (
      stream.respond(grpc, { waitForTrailers: true }),
      stream.write(message(Buffer.from('a'))),
      finish(stream, { 'grpc-status': '14' })
    ),
    'no trailers': (stream) => (stream.respond(grpc), stream.end(message(Buffer.from('a')))),
    'half a message': (stream) => (stream.respond(grpc, { waitForTrailers: true }), stream.write(Buffer.from([0, 0, 0, 0, 9, 1])), finish(stream)),
    'a compressed message': (stream) => (stream.respond(grpc, { waitForTrailers: true }), stream.write(message(Buffer.from('a'), 1)), finish(stream)),
    'a reset': (stream) => stream.close(2),
    'the end of the connection': (stream) => stream.session?.goaway(0),
    'a lost connection': (stream) => stream.session?.destroy(),
    'endless messages': (stream) => {
      stream.respond(grpc)
      const more = () => {
        while (!stream.destroyed && stream.write(message(Buffer.alloc(1_000))));
        stream.once('drain', more)
      }
      more()
    },
    'more than half a megabyte': (stream) => (stream.respond(grpc, { waitForTrailers: true }), stream.write(message(Buffer.alloc(600_000))), finish(stream)),
  }
  test.each(Object.entries(answers))('%s', async (_, answer) => {
    const server = await startRawServer(peers.leaf, answer)
    peers.undo.push(() => server.stop())
    expect(await ask(server)).toBeUndefined()
    await expect.poll(() => server.open()).toBe(0)
  })

  /** A server that sends these bytes after the TLS handshake. */
  const sending = async (send: (socket: TLSSocket) => void) => {
    const tls = { key: standardKey(peers.leaf.key), cert: peers.leaf.crt, ALPNProtocols: ['h2'] }
    const server = await listen(createServer(tls, (socket) => (socket.on('error', () => {}).resume(), send(socket))))
    peers.undo.push(() => server.stop())
    return server
  }
  const ok = Buffer.concat([Buffer.from([0x88]), header('grpc-status', '0')])
  const begin = frame(frames.headers, flags.endHeaders, 1, Buffer.from([0x88]))
  const body = frame(frames.data, 0, 1, message(Buffer.from('a')))
  const end = frame(frames.headers, flags.endHeaders | flags.endStream, 1, header('grpc-status', '0'))
  const malformed: Record<string, Buffer> = {
    garbage: Buffer.alloc(4_096, 0xff),
    'a frame that is too long': Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]), Buffer.alloc(64)]),
    'messages before headers': Buffer.concat([body, end]),
    'trailers twice': Buffer.concat([begin, end, end]),
    'headers twice': Buffer.concat([begin, begin, body, end]),
    'headers in two pieces': Buffer.concat([
      frame(frames.headers, 0, 1, Buffer.from([0x88])),
      frame(frames.continuation, flags.endHeaders, 1, Buffer.alloc(0)),
    ]),
    'a padded frame': Buffer.concat([begin, frame(frames.data, flags.padded, 1, Buffer.concat([Buffer.from([0]), message(Buffer.from('a'))])), end]),
    'a stream that nobody has opened': frame(frames.headers, flags.endHeaders | flags.endStream, 5, ok),
    'an even stream': frame(frames.headers, flags.endHeaders | flags.endStream, 2, ok),
    'a push': frame(frames.pushPromise, flags.endHeaders, 1, Buffer.from([0, 0, 0, 2, 0x88])),
  }
  test.each(Object.entries(malformed))('%s', async (_, bytes) => {
    // Two calls: after the end of the first the second is still awaited.
    const server = await sending((socket) => socket.write(bytes))
    expect(await ask(server, { calls: [shortStage, shortStage] })).toBeUndefined()
    await expect.poll(() => server.open()).toBe(0)
  })

  test('settings and pings are acknowledged, a reset after the end and unknown frames are ignored, and single bytes are put together', async () => {
    let heard = Buffer.alloc(0)
    const bytes = Buffer.concat([
      frame(frames.settings, 0, 0, Buffer.alloc(0)),
      frame(frames.ping, 0, 0, Buffer.from('12345678')),
      frame(0x42, 0, 0, body),
      begin,
      body,
      end,
    ])
    const server = await sending(async (socket) => {
      socket.on('data', (piece: Buffer) => (heard = Buffer.concat([heard, piece])))
      for (const byte of bytes) {
        socket.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.write(frame(frames.rstStream, 0, 1, Buffer.alloc(4)))
      await expect.poll(() => heard.includes(frame(frames.ping, flags.ack, 0, Buffer.from('12345678')))).toBe(true)
      socket.write(frame(frames.headers, flags.endHeaders | flags.endStream, 3, ok))
    })
    expect(await ask(server, { calls: [shortStage, shortStage] })).toEqual([[Buffer.from('a')], []])
    expect(heard.includes(frame(frames.settings, flags.ack, 0, Buffer.alloc(0)))).toBe(true)
  })

  test('an answer that drips causes a timeout', async () => {
    const server = await sending((socket) => {
      const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(frame(frames.ping, 0, 0, Buffer.alloc(8)))), 20)
    })
    await expect(ask(server, { deadlineMs: 100 })).rejects.toMatchObject({ kind: 'timeout' })
  })

  test('reading takes linear time: a quarter of a million single bytes', () => {
    let payloads = 0
    const read = frameReader((_, __, ___, payload) => ((payloads += payload.length), true))
    const bytes = Buffer.concat(Array.from({ length: 16 }, () => frame(frames.data, 0, 1, Buffer.alloc(16_384))))
    const began = performance.now()
    for (let i = 0; i < bytes.length; i++) read(bytes.subarray(i, i + 1))
    expect(payloads).toBe(16 * 16_384)
    // 0.1 s; with a copy of all that came before for each byte it is more than a minute.
    expect(performance.now() - began).toBeLessThan(5_000)
  })
})
