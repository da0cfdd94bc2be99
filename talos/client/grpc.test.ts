/**
 * Tests responses that the server completes before it has received the end of the request. grpc-go
 * ends such streams with RST_STREAM(NO_ERROR).
 */
import { createServer } from 'node:tls'
import { create, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { standardKey } from '../pki/keys.ts'
import { ListResponseSchema } from '../proto/gen/cosi/state_pb.ts'
import { VersionSpecSchema } from '../proto/gen/definitions/runtime_pb.ts'
import { VersionResponseSchema } from '../proto/gen/machine/machine_pb.ts'
import { usePeers } from '../testing/peers.ts'
import { frame, listen } from '../testing/server.ts'
import { resources } from './resources.ts'

const peers = usePeers()

/**
 * Builds an HTTP/2 frame (RFC 9113 §4.1), because the HTTP/2 server of Node.js can't send a
 * response and its reset in one packet.
 */
function http2Frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}
const type = { data: 0, headers: 1, reset: 3, settings: 4 }
const flag = { none: 0, endStream: 1, ack: 1, endHeaders: 4 }
const code = { noError: 0, cancel: 8 }
const literal = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
/** RFC 7541: `:status: 200` is entry 8 of the static table, the name `content-type` entry 31. */
const answerHeaders = Buffer.concat([
  Buffer.from([0x88, 0x0f, 31 - 15]),
  literal('application/grpc'),
])
const okTrailers = Buffer.concat([Buffer.from([0]), literal('grpc-status'), literal('0')])

/**
 * A client of a server that answers each call as soon as the call's headers arrive. The answer has
 * `messages` and a reset in one packet.
 */
async function against(messages: Uint8Array[], how: { reset: number; trailers: boolean }) {
  const answer = (streamId: number) =>
    Buffer.concat([
      http2Frame(type.headers, flag.endHeaders, streamId, answerHeaders),
      ...messages.map((message) => http2Frame(type.data, flag.none, streamId, frame(message))),
      ...(how.trailers
        ? [http2Frame(type.headers, flag.endHeaders | flag.endStream, streamId, okTrailers)]
        : []),
      http2Frame(type.reset, flag.none, streamId, Buffer.from([0, 0, 0, how.reset])),
    ])
  const server = await listen(
    createServer(
      { key: standardKey(peers.leaf.key), cert: peers.leaf.crt, ALPNProtocols: ['h2'] },
      (socket) => {
        let unread = Buffer.alloc(0)
        let afterPreface = false
        socket.on('error', () => {})
        socket.write(http2Frame(type.settings, flag.none, 0))
        socket.on('data', (chunk: Buffer) => {
          unread = Buffer.concat([unread, chunk])
          if (!afterPreface && unread.length < 24) return
          if (!afterPreface) unread = unread.subarray(24)
          afterPreface = true
          while (unread.length >= 9 && unread.length >= 9 + unread.readUIntBE(0, 3)) {
            const kind = unread.readUInt8(3)
            if (kind === type.headers) socket.write(answer(unread.readUInt32BE(5)))
            if (kind === type.settings && unread.readUInt8(4) !== flag.ack)
              socket.write(http2Frame(type.settings, flag.ack, 0))
            unread = unread.subarray(9 + unread.readUIntBE(0, 3))
          }
        })
      },
    ),
  )
  peers.undo.push(() => server.stop())
  return peers.reach(server)
}

const version = toBinary(
  VersionResponseSchema,
  create(VersionResponseSchema, { messages: [{ version: { tag: 'v1.13.9' } }] }),
)
const item = (id: number) =>
  toBinary(
    ListResponseSchema,
    create(ListResponseSchema, {
      resource: {
        metadata: {
          namespace: 'runtime',
          type: 'Versions.runtime.talos.dev',
          id: String(id),
          version: '1',
          phase: 'running',
        },
        spec: {
          protoSpec: toBinary(VersionSpecSchema, create(VersionSpecSchema, { version: 'v1.13.9' })),
        },
      },
    }),
  )

describe('a stream that the server resets after a complete answer', () => {
  test('a hundred concurrent answers are read', async () => {
    const client = await against([version], { reset: code.noError, trailers: true })
    const tags = await Promise.all(
      Array.from({ length: 100 }, () => client.version().then((v) => v.tag)),
    )
    expect(new Set(tags)).toEqual(new Set(['v1.13.9']))
  })

  test('a list is read completely', async () => {
    // 58 kB. Before a WINDOW_UPDATE a server may send at most 65,535 bytes (RFC 9113 §6.9.2), so
    // the lists are read one after another.
    const count = 700
    const client = await against(
      Array.from({ length: count }, (_, id) => item(id)),
      { reset: code.noError, trailers: true },
    )
    for (let nth = 0; nth < 10; nth++) {
      const list = await client.list(resources.version)
      expect([list.items.length, list.truncated]).toEqual([count, false])
    }
  })
})

describe('a stream that the server resets before the answer is complete', () => {
  test.each([code.noError, code.cancel])(
    'a call fails if the answer has no trailers, with a reset of code %i',
    async (reset) => {
      const client = await against([version], { reset, trailers: false })
      await expect(client.version()).rejects.toMatchObject({ name: 'TalosError' })
    },
  )
})
