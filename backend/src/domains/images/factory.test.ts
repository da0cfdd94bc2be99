import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { startFactory } from '#simulator/src/factory/serve.ts'
import { type Schematic, schematicId, schematicText } from '#talos/schematic/schematic.ts'
import { testClock } from '../../testing/clock.ts'
import { silent } from '../../log.ts'
import { sharedReader } from '../../testing/reader.ts'
import { type CallLimits, FactoryError, usualLimits } from './factory-call.ts'
import { factory } from './factory.ts'

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Short limits for expected failures. Calls that must succeed use the usual limits. */
const short: CallLimits = { callMs: 200, overallMs: 400, tries: 3, pauseMs: 10, atOnce: 16 }
const patient: CallLimits = { ...usualLimits, pauseMs: 10 }

async function simulated(limits: CallLimits = patient) {
  const server = await startFactory()
  stops.push(() => server.stop())
  const clock = testClock()
  return {
    server,
    clock,
    client: factory({ url: server.url, clock, log: silent, limits, read: sharedReader }),
  }
}

/** A factory that answers all requests with `listener`, and counts them. */
async function answering(listener: RequestListener, limits: CallLimits = patient) {
  const calls: string[] = []
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = testClock()
  return {
    url,
    calls,
    clock,
    client: factory({ url, clock, log: silent, limits, read: sharedReader }),
  }
}

const failing = async (call: Promise<unknown>): Promise<FactoryError> => {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  )
  expect(error).toBeInstanceOf(FactoryError)
  return error as FactoryError
}
const json = (value: unknown, headers: Record<string, string> = {}): RequestListener => {
  return (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(value))
}

describe('lists from the image factory', () => {
  test('versions are listed newest first, compared by number', async () => {
    const { client } = await simulated()
    const { items, simulated: isSimulated, reason } = await client.versions()
    expect({ isSimulated, reason }).toEqual({ isSimulated: true, reason: null })
    expect(items.slice(0, 4)).toEqual(['v1.15.0-alpha.0', 'v1.14.1', 'v1.14.0', 'v1.13.9'])
    expect(items.at(-1)).toBe('v1.10.0')
    expect(items.indexOf('v1.12.11')).toBeLessThan(items.indexOf('v1.12.9'))
  })

  test('the tier and line breaks are removed from the description of an extension', async () => {
    const { client } = await simulated()
    const { items } = await client.extensions('v1.13.9')
    const gvisor = items.find((e) => e.name === 'siderolabs/gvisor')!
    expect(gvisor.tier).not.toBeNull()
    expect(gvisor.description).not.toMatch(/^\[|\n|^\s|\s$/)
    expect(gvisor.ref).toContain('gvisor')
    expect(items.map((e) => e.name)).toEqual(items.map((e) => e.name).toSorted())
  })

  test('a list is requested once for concurrent callers, and is cached for ten minutes', async () => {
    const { server, clock, client } = await simulated()
    await Promise.all(Array.from({ length: 20 }, () => client.versions()))
    expect(server.counters.calls).toBe(1)
    clock.advance(9 * 60_000)
    await client.versions()
    expect(server.counters.calls).toBe(1)
    clock.advance(60_000)
    await client.versions()
    expect(server.counters.calls).toBe(2)
  })

  test('while the factory is down, the cached list is returned with the reason, and the factory is not called for a while', async () => {
    const { server, clock, client } = await simulated()
    const { items } = await client.versions()
    await server.fault({ kind: 'down' })
    clock.advance(11 * 60_000)
    expect(await client.versions()).toEqual({
      items,
      simulated: true,
      reason: `The image factory at ${server.url} refuses connections`,
    })
    await server.fault(null)
    // Repeated page loads get the cached failure; creating an image asks the factory again.
    expect((await client.versions()).reason).not.toBeNull()
    expect((await client.versions(true)).reason).toBeNull()
  })

  test('if a list was never loaded, its request fails with the reason until the factory is back', async () => {
    const { server, clock, client } = await simulated()
    await server.fault({ kind: 'down' })
    expect((await failing(client.versions())).message).toBe(
      `The image factory at ${server.url} refuses connections`,
    )
    await server.fault(null)
    clock.advance(15_000)
    expect((await client.versions()).items).toContain('v1.13.9')
  })

  test('lists are cached for a limited number of versions', async () => {
    const { calls, client } = await answering(json([]))
    for (let patch = 0; patch < 70; patch++) await client.extensions(`v1.13.${patch}`)
    await client.extensions('v1.13.69')
    expect(calls).toHaveLength(70)
    await client.extensions('v1.13.0')
    expect(calls).toHaveLength(71)
  })
})

describe('a schematic', () => {
  const examples: [string, Schematic][] = [
    ['nothing', {}],
    ['kernel arguments', { extraKernelArgs: ['noapic', 'nolapic'] }],
    ['META', { meta: [{ key: 10, value: 'foo' }] }],
    ['secure boot', { secureboot: { includeWellKnownCertificates: true } }],
    ['an overlay', { overlay: { image: 'siderolabs/sbc-raspberrypi', name: 'rpi_generic' } }],
    [
      'extensions',
      { officialExtensions: ['siderolabs/util-linux-tools', 'siderolabs/iscsi-tools'] },
    ],
    ['one extension', { officialExtensions: ['siderolabs/qemu-guest-agent'] }],
    [
      'both',
      {
        extraKernelArgs: ['talos.config=https://console.example.com/cfg?u=${uuid}'],
        officialExtensions: ['siderolabs/gvisor', 'siderolabs/amd-ucode'],
      },
    ],
    [
      'arguments that YAML would read as something else',
      {
        extraKernelArgs: [
          '-1',
          '-quiet',
          'a: b',
          "'x'",
          '*x',
          'on',
          '0x10',
          'x#y',
          '{a}',
          '%x',
          '@x',
          '- ',
          '~',
          'ip=::1',
        ],
      },
    ],
  ]
  test.each(examples)(
    'for a schematic with %s, Steelyard computes the same id as the factory',
    async (_name, schematic) => {
      const { server, client } = await simulated()
      const text = schematicText(schematic)
      const { id, simulated: isSimulated } = await client.register(text)
      expect(isSimulated).toBe(true)
      expect(id).toBe(schematicId(schematic))
      expect(id).toBe(createHash('sha256').update(text).digest('hex'))
      expect(server.schematic(id)?.text).toBe(text)
    },
  )

  test('a schematic with an unknown field is refused with the message of the factory', async () => {
    const { server, client } = await simulated()
    const error = await failing(client.register('customization:\n    x: 1\n'))
    expect(error.kind).toBe('refused')
    expect(error.message).toMatch(
      new RegExp(`^The image factory at ${server.url} refuses: .*field x not found`),
    )
    expect(error.message).not.toContain('\n')
  })
})

describe('failures of the image factory', () => {
  test('a call to a factory that is down is tried three times', async () => {
    const { calls, client } = await answering((request) => request.destroy())
    const { kind, message } = await failing(client.register('customization: {}\n'))
    expect({ kind, message }).toEqual({
      kind: 'unreachable',
      message: expect.stringContaining('broke the connection off') as string,
    })
    expect(calls).toHaveLength(3)
  })

  test('a factory that recovers in time causes no error', async () => {
    let asked = 0
    const { client } = await answering((_request, response) => {
      asked += 1
      if (asked === 1) response.writeHead(503).end('warming up')
      else if (asked === 2) response.writeHead(429, { 'retry-after': '0' }).end()
      else response.end('["v1.13.9"]')
    })
    expect((await client.versions()).items).toEqual(['v1.13.9'])
  })

  test('a factory that keeps failing is reported with its message', async () => {
    const { url, calls, client } = await answering((_request, response) =>
      response.writeHead(500).end('internal server error\n'),
    )
    expect((await failing(client.versions())).message).toBe(
      `The image factory at ${url} failed with 500: internal server error`,
    )
    expect(calls).toHaveLength(3)
  })

  test('a call fails at once if the Retry-After of the factory is too long', async () => {
    const { url, calls, client } = await answering((_request, response) =>
      response.writeHead(429, { 'retry-after': '3600' }).end(),
    )
    expect((await failing(client.versions())).message).toBe(
      `The image factory at ${url} refuses more requests for now (429)`,
    )
    expect(calls).toHaveLength(1)
  })

  test('a call to a factory that does not answer times out without a retry', async () => {
    const { url, calls, client } = await answering(() => undefined, short)
    const { kind, message } = await failing(client.register('customization: {}\n'))
    expect({ kind, message }).toEqual({
      kind: 'unreachable',
      message: `The image factory at ${url} did not answer within 200 ms`,
    })
    expect(calls).toHaveLength(1)
  })

  test('a factory that answers too slowly times out as well', async () => {
    const { client } = await answering((_request, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(timer))
    }, short)
    expect((await failing(client.versions())).message).toContain('did not answer within')
  })

  test('while 16 requests wait for the factory, another request is refused at once', async () => {
    const waiting: (() => void)[] = []
    const { url, client } = await answering(
      (_request, response) =>
        void waiting.push(() => response.writeHead(201).end(`{"id":"${'a'.repeat(64)}"}`)),
    )
    const first = Array.from({ length: 16 }, () => client.register('customization: {}\n'))
    await expect.poll(() => waiting.length).toBe(16)
    expect((await failing(client.register('customization: {}\n'))).message).toBe(
      `The image factory at ${url} has 16 requests to answer already`,
    )
    for (const answer of waiting.splice(0)) answer()
    expect(await Promise.all(first)).toHaveLength(16)
    const next = client.register('customization: {}\n')
    await expect.poll(() => waiting.length).toBe(1)
    waiting[0]!()
    await next
  })

  test('redirects are not followed, and the error names their target', async () => {
    const other = await answering(json(['v1.13.9']))
    const { url, calls, client } = await answering((_request, response) =>
      response.writeHead(307, { location: `${other.url}/versions` }).end(),
    )
    const { message } = await failing(client.versions())
    expect(message).toBe(
      `The image factory at ${url} redirects to ${other.url}/versions, which is not followed: set IMAGE_FACTORY_URL to the final address`,
    )
    expect((await failing(client.register('customization: {}\n'))).message).toContain(
      'redirects to',
    )
    expect(calls).toHaveLength(2)
    expect(other.calls).toEqual([])
  })

  test.each(['page', 'half', 'endless'] as const)(
    'the error for an invalid answer of kind %s names the factory',
    async (what) => {
      const { server, client } = await simulated()
      await server.fault({ kind: 'nonsense', what })
      for (const call of [
        () => client.versions(),
        () => client.extensions('v1.13.9'),
        () => client.register('customization: {}\n'),
      ]) {
        const { kind, message } = await failing(call())
        expect(kind).toBe('unreachable')
        expect(message).toMatch(
          new RegExp(`^The image factory at ${server.url} sent an invalid response: `),
        )
      }
    },
  )

  const many = Array.from({ length: 6000 }, (_, i) => `v1.13.${i}`)
  test.each([
    ['an object', { versions: [] }],
    ['numbers', [1, 2]],
    ['a long text', [`v1.13.${'9'.repeat(100)}`]],
    ['too many', many],
    ['null', null],
  ])('%s is not accepted as a list of versions', async (_name, value) => {
    const { client } = await answering(json(value))
    expect((await failing(client.versions())).message).toContain(
      'sent an invalid response: not a list of versions',
    )
  })

  test.each([
    ['a list of names', ['siderolabs/gvisor']],
    ['a name that is no text', [{ name: 1 }]],
    ['a description of a megabyte', [{ name: 'siderolabs/a', description: 'x'.repeat(100_000) }]],
  ])('%s is not accepted as a list of extensions', async (_name, value) => {
    const { client } = await answering(json(value))
    expect((await failing(client.extensions('v1.13.9'))).message).toContain(
      'sent an invalid response: not a list of extensions',
    )
  })

  test('an invalid id is reported as an invalid answer', async () => {
    const { client } = await answering((_request, response) =>
      response.writeHead(201).end('{"id":"../../etc"}'),
    )
    expect((await failing(client.register('customization: {}\n'))).message).toContain(
      'sent an invalid response: no schematic id',
    )
  })

  test('texts of the factory are shortened and lose invisible characters; extensions with invalid names are left out', async () => {
    const description = `[contrib] \u001b[31mred\u202e ${'long '.repeat(1000)}`
    const { client } = await answering(
      json([
        { name: 'siderolabs/z', description, author: 'a\u0000b' },
        { name: '../../x', description: '' },
        { name: 'siderolabs/a' },
      ]),
    )
    const { items } = await client.extensions('v1.13.9')
    expect(items.map((e) => e.name)).toEqual(['siderolabs/a', 'siderolabs/z'])
    expect(items[0]).toEqual({
      name: 'siderolabs/a',
      ref: '',
      author: '',
      description: '',
      tier: null,
    })
    expect(items[1]).toMatchObject({ tier: 'contrib', author: 'a\ufffdb' })
    expect(items[1]!.description).toMatch(/^\ufffd\[31mred\ufffd long/)
    expect(items[1]!.description).toHaveLength(1000)
  })

  test('the error for a refused schematic is short and printable, and does not contain the join token', async () => {
    const words = `\u001b[31mno sy-join-AAAAAAAAAAAAAAAAAAAAAA ${'x'.repeat(10_000)}`
    const { client } = await answering((_request, response) => response.writeHead(400).end(words))
    const { kind, message } = await failing(client.register('customization: {}\n'))
    expect(kind).toBe('refused')
    expect(message.length).toBeLessThan(300)
    expect(message).toContain('no … xxx')
    expect(message).toMatch(/^[ -~…\ufffd]+$/)
    expect(message).not.toContain('sy-join')
  })

  test('a compressed answer is refused without being decompressed, because none was requested', async () => {
    const { client } = await answering((_request, response) =>
      response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(64 * 1024 ** 2, ' '))),
    )
    expect((await failing(client.versions())).message).toContain(
      'sent an invalid response: not JSON',
    )
  })

  test('a factory that does not speak HTTP causes an error', async () => {
    const { client } = await answering((request) => request.socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    expect((await failing(client.versions())).message).toMatch(
      /sent an invalid response|sent an answer|can't be reached|broke/,
    )
  })

  test('only the schematic is sent, without anything that identifies the sender', async () => {
    const seen: Record<string, unknown>[] = []
    const { client } = await answering((request, response) => {
      seen.push(request.headers)
      response.writeHead(201).end(`{"id":"${'a'.repeat(64)}"}`)
    })
    await client.register('customization: {}\n')
    expect(seen[0]).toMatchObject({ 'content-type': 'application/yaml' })
    expect(
      Object.keys(seen[0]!).filter((name) => /cookie|authorization|referer|x-/.test(name)),
    ).toEqual([])
  })
})
