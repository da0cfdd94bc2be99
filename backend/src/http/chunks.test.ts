import { Agent, request } from 'node:http'
import { connect as dial } from 'node:net'
import { Readable } from 'node:stream'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import { startBackend } from '../testing/backend.ts'
import { readBytes } from './body.ts'
import { chunkFrame } from './chunks.ts'
import { defaultLimits } from './limits.ts'

const backend = await startBackend({
  limits: {
    ...defaultLimits,
    inFlight: 4,
    waitMs: 50,
    delayMs: 60_000,
    writesPerSecond: 1e6,
    writeBurst: 1e6,
  },
})
const user = await backend.signIn()
const { port } = new URL(await backend.listen())

/**
 * Sends each text as a packet, after the server has received the previous one. Returns all received
 * text.
 */
async function send(...packets: readonly string[]): Promise<string> {
  const socket = dial(Number(port), '127.0.0.1').setNoDelay(true)
  let seen = ''
  const closed = new Promise<string>((resolve, reject) => {
    socket.on('data', (piece: Buffer) => (seen += piece.toString()))
    socket.on('close', () => resolve(seen))
    socket.on('error', reject)
  })
  for (const packet of packets) {
    await new Promise<void>((resolve) => socket.write(packet, () => resolve()))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return closed
}
const head = (more = '', last = 'Connection: close\r\n') =>
  `POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${more}${last}\r\n`
const body = JSON.stringify({ email: user.email, password: user.password })
const chunksOf = (text: string, size: number) =>
  `${(text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []).map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`

test.each([
  ['in one packet', [head() + chunksOf(body, 1_000)]],
  ['one byte to each chunk', [head() + chunksOf(body, 1)]],
  ['its head and each chunk by itself', [head(), ...chunksOf(body, 20).split(/(?<=\r\n)/)]],
  ['one byte to each packet', (head() + chunksOf(body, 20)).split('')],
  [
    'sizes in capitals and with zeros before',
    [`${head()}000${body.length.toString(16).toUpperCase()}\r\n${body}\r\n0\r\n\r\n`],
  ],
  ['with Expect: 100-continue', [head('Expect: 100-continue\r\n'), chunksOf(body, 30)]],
  ['a coding in capitals', [head().replace('chunked', 'Chunked') + chunksOf(body, 30)]],
])('a chunked body is accepted: %s', async (_name, packets) => {
  expect(await send(...packets)).toMatch(/HTTP\/1\.1 200 [\s\S]*"accessToken"/)
})

test('one connection carries several chunked bodies and other requests between them', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set<number>()
  const ask = (method: string, path: string, parts: readonly string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(
        {
          agent,
          port,
          host: '127.0.0.1',
          method,
          path,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          ports.add(response.socket.localPort!)
          response.resume().on('end', () => resolve(response.statusCode))
        },
      ).on('error', reject)
      for (const part of parts) asked.write(part)
      asked.end()
    })
  const chunked = () => ask('POST', '/v1/authorize', [body.slice(0, 9), body.slice(9)])
  expect([
    await chunked(),
    await ask('GET', '/healthz', []),
    await chunked(),
    await chunked(),
  ]).toEqual([200, 200, 200, 200])
  expect(ports.size).toBe(1)
  agent.destroy()
})

test('a client that streams its body gets a response', async () => {
  const response = await fetch(`http://127.0.0.1:${port}/v1/authorize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Readable.toWeb(
      Readable.from([Buffer.from(body.slice(0, 5)), Buffer.from(body.slice(5))]),
    ) as ReadableStream,
    duplex: 'half',
  })
  expect(response.status).toBe(200)
})

const get = head().replace('POST /v1/authorize', 'GET /v1/installation')
test.each([
  ['an extension', [`${head()}${body.length.toString(16)};a=b\r\n${body}\r\n0\r\n\r\n`]],
  [
    'an extension in a later packet',
    [head(), `${body.length.toString(16)}\r\n${body}\r\n`, '0;a=b\r\n\r\n'],
  ],
  [
    'an extension behind a request in the same packet',
    [`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${head()}2;a\r\n{}\r\n0\r\n\r\n`],
  ],
  ['a trailer', [`${head()}${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Y: z\r\n\r\n`]],
  [
    'another transfer coding before chunked',
    [head().replace('chunked', 'gzip, chunked') + chunksOf(body, 30)],
  ],
  ['two Transfer-Encoding headers', [head('Transfer-Encoding: chunked\r\n') + chunksOf(body, 30)]],
  ['HTTP/1.0', [head().replace('HTTP/1.1', 'HTTP/1.0') + chunksOf(body, 30)]],
  ['on a GET request', [get + chunksOf(body, 30)]],
])('a chunked body is refused and its connection closed: %s', async (_name, packets) => {
  const answer = await send(...packets)
  expect(answer).toMatch(/HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/)
  expect(answer).not.toContain('accessToken')
})

test('a body that does not end is refused as soon as it is too large', async () => {
  const socket = dial(Number(port), '127.0.0.1')
  const answered = new Promise<string>((resolve, reject) =>
    socket.once('data', (piece: Buffer) => resolve(piece.toString())).once('error', reject),
  )
  socket.write(head())
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`
  for (let sent = 0; sent < 10; sent++) socket.write(chunk)
  expect(await answered).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"too_large"/)
  socket.on('error', () => {}).destroy()
})

test('bodies that arrive slowly do not block other clients', async () => {
  const dripping = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = dial(Number(port), '127.0.0.1')
      await new Promise<void>((resolve) => socket.write(`${head()}1\r\n{\r\n`, () => resolve()))
      return socket
    }),
  )
  // When a later connection is answered, the server has accepted all earlier ones.
  for (let asked = 0; asked < 3; asked++)
    expect((await fetch(`http://127.0.0.1:${port}/v1/installation`)).status).toBe(200)
  expect((await user.call(datacenterList)).status).toBe(200)
  expect(await send(head() + chunksOf(body, 30))).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of dripping) socket.destroy()
})

test('a chunked body is accepted in whatever pieces it arrives, and a body with wrong framing is refused', () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 })
  const framed = (parts: readonly Uint8Array[]) =>
    Buffer.concat([
      ...parts.flatMap((part) => [
        Buffer.from(`${part.length.toString(16)}\r\n`),
        part,
        Buffer.from('\r\n'),
      ]),
      Buffer.from('0\r\n\r\n'),
    ])
  const plain = (bytes: Uint8Array, cut: number) => {
    const frame = chunkFrame()
    for (let at = 0; at < bytes.length; at += cut) frame.read(bytes.subarray(at, at + cut), 0)
    return frame.plain
  }
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 50 }), (parts, cut) => {
      expect(plain(framed(parts), cut)).toBe(true)
    }),
  )
  fc.assert(
    fc.property(
      pieces,
      fc.integer({ min: 1, max: 50 }),
      fc.constantFrom(
        '5;a\r\n12345\r\n',
        '5 \r\n12345\r\n',
        '\r\n',
        'g\r\n',
        '5\n12345',
        '0\r\nA: b\r\n',
      ),
      (parts, cut, spoilt) => {
        const before = framed(parts).subarray(0, -5)
        expect(plain(Buffer.concat([before, Buffer.from(`${spoilt}0\r\n\r\n`)]), cut)).toBe(false)
      },
    ),
  )
})

test('a body is read up to its limit and must match its Content-Length', async () => {
  const pieces = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)))
  expect(
    (await readBytes(pieces(...Array.from({ length: 5_000 }, () => 'x')), 5_000)).toString(),
  ).toBe('x'.repeat(5_000))
  expect((await readBytes(pieces(), 10)).length).toBe(0)
  await expect(readBytes(pieces('123456'), 5)).rejects.toMatchObject({ code: 'too_large' })
  await expect(readBytes(pieces('1'), 5, 6)).rejects.toMatchObject({ code: 'too_large' })
  await expect(readBytes(pieces('123'), 5, 4)).rejects.toMatchObject({ code: 'bad_request' })
  await expect(
    readBytes(
      pieces('123').map(() => {
        throw new Error('gone')
      }),
      5,
    ),
  ).rejects.toThrow('gone')
})
