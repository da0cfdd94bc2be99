import { createHash, X509Certificate } from 'node:crypto'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectRouter } from '@connectrpc/connect'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { issueCertificate, mintTalosClient } from '../pki/certificates.ts'
import { standardKey } from '../pki/keys.ts'
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import type { SecretsBundle } from '../secrets/bundle.ts'
import { hourMs, pinOf, target, usePeers } from '../testing/peers.ts'
import { connectMaintenance, connectSecure, connectUnknown, readCertificate } from './connect.ts'
import { OutOfTime } from '#contract/connections/causes.ts'

const peers = usePeers()
const { now, undo, serve, closing, maintenance } = peers
const hasOpenssl = spawnSync('openssl', ['version']).status === 0

const version = (router: ConnectRouter) =>
  router.service(MachineService, {
    version: () => ({
      messages: [
        { version: { tag: 'v1.13.9', arch: 'amd64' }, platform: { name: 'metal', mode: 'metal' } },
      ],
    }),
  })

describe('maintenance', () => {
  test('the certificate is read, recognized and pinned', async () => {
    const server = await serve(peers.leaf, version)
    const read = await readCertificate(target(server), { timeoutMs: 2000 })
    expect(read.mode).toBe('maintenance')
    expect(read.fingerprint).toBe(
      createHash('sha256')
        .update(
          new X509Certificate(peers.leaf.crt).publicKey.export({ type: 'spki', format: 'der' }),
        )
        .digest('base64'),
    )
    expect(read.fingerprint).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    const client = closing(await connectMaintenance(target(server), read))
    expect(await client.version()).toEqual({
      tag: 'v1.13.9',
      sha: '',
      arch: 'amd64',
      platform: 'metal',
      mode: 'metal',
    })
  })

  test('calls to a new machine use the connection on which its certificate was read', async () => {
    const server = await serve(peers.leaf, version)
    const { shown, client } = await connectUnknown(target(server))
    expect(shown).toEqual(await readCertificate(target(server)))
    expect((await closing(client!).version()).tag).toBe('v1.13.9')
    const configured = await serve({ ...peers.node, clientCa: peers.bundle.certs.os.crt }, version)
    expect(await connectUnknown(target(configured))).toMatchObject({
      shown: { mode: 'secured' },
      client: null,
    })
  })

  test('a certificate other than the pinned one is refused before anything is sent', async () => {
    let calls = 0
    const server = await serve(peers.leaf, (router) =>
      router.service(MachineService, { version: () => (calls++, { messages: [] }) }),
    )
    for (const pem of [peers.node.crt, peers.other.certs.os.crt]) {
      await expect(connectMaintenance(target(server), pinOf(pem))).rejects.toMatchObject({
        kind: 'certificate',
        message: 'the server shows another certificate than before',
      })
    }
    expect(calls).toBe(0)
  })

  test('a closed client keeps nothing alive by a timer', async () => {
    const { client } = await maintenance(version)
    await client.version()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    client.close()
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
    await expect(client.version()).rejects.toMatchObject({
      kind: 'cancelled',
      message: 'the client was closed',
    })
  })

  test('a machine is accepted even if its clock is years off', async () => {
    const past = new Date('2015-01-01')
    const old = await issueCertificate(peers.other.certs.os, {
      subject: { commonName: 'maintenance-service.talos.dev' },
      usages: ['server'],
      lifetimeMs: 24 * hourMs,
      now: past,
    })
    const server = await serve(old, version)
    const client = closing(
      await connectMaintenance(target(server), await readCertificate(target(server))),
    )
    expect((await client.version()).tag).toBe('v1.13.9')
  })
})

describe('mutual TLS', () => {
  const admin = () =>
    mintTalosClient(peers.bundle, { roles: ['os:admin'], lifetimeMs: hourMs, now })

  test('client and server verify each other', async () => {
    const server = await serve({ ...peers.node, clientCa: peers.bundle.certs.os.crt }, version)
    expect((await readCertificate(target(server))).mode).toBe('secured')
    const client = closing(await connectSecure(target(server), await admin()))
    expect((await client.version()).tag).toBe('v1.13.9')
  })

  test('a server of another cluster is refused', async () => {
    const server = await serve(peers.leaf, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
      kind: 'certificate',
      message: 'its certificate is not signed by the expected authority',
    })
  })

  test('a certificate for another address is refused', async () => {
    const elsewhere = await issueCertificate(peers.bundle.certs.os, {
      subject: { commonName: 'x' },
      usages: ['server'],
      names: { addresses: ['127.0.0.9'] },
      lifetimeMs: hourMs,
      now,
    })
    const server = await serve(elsewhere, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
      kind: 'certificate',
      message: expect.stringContaining('its certificate is for ') as string,
    })
  })

  test('a server that presents a client certificate is refused', async () => {
    const pair = await issueCertificate(peers.bundle.certs.os, {
      subject: {},
      usages: ['client'],
      names: { addresses: ['127.0.0.1'] },
      lifetimeMs: hourMs,
      now,
    })
    const server = await serve(pair, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
      kind: 'certificate',
    })
  })

  const minuteMs = 60_000
  const shownBy = (
    bundle: SecretsBundle,
    { beginsInMs, names = ['127.0.0.1'] }: { beginsInMs: number; names?: string[] },
  ) =>
    issueCertificate(bundle.certs.os, {
      subject: {},
      usages: ['server'],
      names: { addresses: names },
      lifetimeMs: hourMs,
      // Plus the five minutes by which `issueCertificate` backdates a certificate.
      now: new Date(now.getTime() + beginsInMs + 5 * minuteMs),
    })

  test.each([
    ['begins later', 61 * minuteMs, 'at least 61 minutes ahead of ours'],
    ['has ended', -126 * minuteMs, 'at least 61 minutes behind ours'],
    ['begins in days', 3 * 24 * hourMs, 'at least 3 days ahead of ours'],
  ])(
    'a server whose certificate %s gets no data, and the error names how far its clock is off',
    async (_, beginsInMs, how) => {
      let calls = 0
      const server = await serve(await shownBy(peers.bundle, { beginsInMs }), (router) =>
        router.service(MachineService, { version: () => (calls++, { messages: [] }) }),
      )
      await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
        kind: 'clock',
        message: `by its certificate its clock is ${how}`,
      })
      expect(calls).toBe(0)
    },
  )

  test.each([
    [
      'another authority',
      {
        of: 'other',
        names: ['127.0.0.1'],
        message: 'its certificate is not signed by the expected authority',
      },
    ],
    [
      'another address',
      {
        of: 'bundle',
        names: ['127.0.0.9'],
        message: expect.stringContaining('its certificate is for ') as string,
      },
    ],
  ] as const)(
    'a certificate of %s that also has invalid dates is refused for the identity, not for the dates',
    async (_, { of, names, message }) => {
      for (const beginsInMs of [-3 * hourMs, 3 * hourMs]) {
        const server = await serve(
          await shownBy(peers[of], { beginsInMs, names: [...names] }),
          version,
        )
        await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
          kind: 'certificate',
          message,
        })
      }
    },
  )

  test('a server that disconnects and has a certificate older than its authority is reported as having a slow clock', async () => {
    const stranger = await mintTalosClient(peers.other, {
      roles: ['os:admin'],
      lifetimeMs: hourMs,
      now,
    })
    // The server's certificate is valid from 61 minutes ago on. The authority's certificate was
    // made just now and is backdated by five minutes.
    const shown = await issueCertificate(peers.bundle.certs.os, {
      subject: {},
      usages: ['server'],
      names: { addresses: ['127.0.0.1'] },
      lifetimeMs: 24 * hourMs,
      now: new Date(now.getTime() - 56 * minuteMs),
    })
    const server = await serve({ ...shown, clientCa: peers.bundle.certs.os.crt }, version)
    const client = closing(
      await connectSecure(target(server), { ...stranger, ca: peers.bundle.certs.os.crt }),
    )
    await expect(client.version()).rejects.toMatchObject({
      kind: 'clock',
      message: 'by its certificate its clock is between 56 minutes and 61 minutes behind ours',
    })
  })

  test('the error has kind `refused` if the server refuses the client certificate', async () => {
    const server = await serve({ ...peers.node, clientCa: peers.bundle.certs.os.crt }, version)
    const stranger = await mintTalosClient(peers.other, {
      roles: ['os:admin'],
      lifetimeMs: hourMs,
      now,
    })
    // TLS 1.3 reports the refusal only on the first read.
    const client = closing(
      await connectSecure(target(server), { ...stranger, ca: peers.bundle.certs.os.crt }),
    )
    await expect(client.version()).rejects.toMatchObject({
      kind: 'refused',
      message: 'server hung up when it saw our certificate',
    })
    await expect(client.version()).rejects.toMatchObject({ kind: 'refused' })
  })

  test.runIf(hasOpenssl)(
    'the TLS alerts of a server that refuses the client certificate are reported as a refusal',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'steelyard-tls-'))
      undo.push(() => rmSync(folder, { recursive: true }))
      for (const [name, pem] of Object.entries({
        ca: peers.bundle.certs.os.crt,
        crt: peers.node.crt,
        key: standardKey(peers.node.key),
      }))
        writeFileSync(join(folder, name), pem)
      const files = ['ca', 'crt', 'key'].map((name) => join(folder, name))
      const options = [
        '-accept',
        '127.0.0.1:0',
        '-Verify',
        '1',
        '-verify_return_error',
        '-alpn',
        'h2',
        '-CAfile',
        files[0]!,
        '-cert',
        files[1]!,
        '-key',
        files[2]!,
      ]
      const openssl = spawn('openssl', ['s_server', ...options], {
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      undo.push(() => void openssl.kill())
      const port = await new Promise<number>((resolve) => {
        openssl.stdout.on('data', (line: Buffer) => {
          const found = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(line.toString())
          if (found !== null) resolve(Number(found[1]))
        })
      })
      const refusal = async (of: SecretsBundle, from: Date) => {
        const own = await mintTalosClient(of, {
          roles: ['os:admin'],
          lifetimeMs: hourMs,
          now: from,
        })
        const client = closing(
          await connectSecure(
            { host: '127.0.0.1', port },
            { ...own, ca: peers.bundle.certs.os.crt },
          ),
        )
        return client.version().catch((error: unknown) => error)
      }
      expect(await refusal(peers.other, now)).toMatchObject({
        kind: 'refused',
        message: 'it does not accept our certificate',
      })
      expect(await refusal(peers.bundle, new Date(now.getTime() - 2 * hourMs))).toMatchObject({
        kind: 'clock',
        message: 'its clock and ours differ',
      })
    },
  )

  test('hundreds of connections in sequence leave none open', async () => {
    const server = await serve({ ...peers.node, clientCa: peers.bundle.certs.os.crt }, version)
    const credentials = await admin()
    for (let i = 0; i < 200; i++) {
      const client = await connectSecure(target(server), credentials)
      expect((await client.version()).tag).toBe('v1.13.9')
      client.close()
    }
    await expect.poll(() => server.open()).toBe(0)
    expect(server.accepted()).toBe(200)
  })
})

describe('connections', () => {
  test('the dial check refuses an address before any packet is sent', async () => {
    const server = await serve(peers.leaf, version)
    const dial = () => {
      throw new Error('127.0.0.1 is outside the networks that may be dialled')
    }
    await expect(readCertificate(target(server), { dial })).rejects.toMatchObject({
      kind: 'unreachable',
      message: '127.0.0.1 is outside the networks that may be dialled',
    })
    await expect(
      connectMaintenance(target(server), pinOf(peers.leaf.crt), { dial }),
    ).rejects.toMatchObject({ kind: 'unreachable' })
    expect(server.accepted()).toBe(0)
  })

  test.each([
    ['with the hybrid key exchange', {}, true],
    ['without it if everything on the connection is public', { isPublic: true }, false],
  ])('the handshake begins %s', async (_how, options, isHybrid) => {
    const hello = Promise.withResolvers<number>()
    const server = createServer((socket) =>
      socket.once('data', (bytes) => (hello.resolve(bytes.length), socket.destroy())),
    ).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await expect(connectUnknown({ host: '127.0.0.1', port }, options)).rejects.toMatchObject({
      kind: 'unavailable',
    })
    // The public key of ML-KEM-768 has 1,184 bytes.
    expect((await hello.promise) > 1_184).toBe(isHybrid)
  })

  test('host names are refused instead of being resolved by DNS', async () => {
    await expect(readCertificate({ host: 'localhost', port: 1 })).rejects.toMatchObject({
      kind: 'invalid_argument',
    })
  })

  test('closing a client ends its calls, streams and connection', async () => {
    const { server, client } = await maintenance((router) =>
      router.service(MachineService, {
        version: () => new Promise(() => {}),
        async *events() {
          yield {}
          await new Promise(() => {})
        },
      }),
    )
    const call = client.version()
    const events = Array.fromAsync(client.events())
    const settled = Promise.allSettled([call, events])
    await expect.poll(() => server.open()).toBe(1)
    client.close()
    expect(await settled).toMatchObject([
      { reason: { kind: 'cancelled' } },
      { reason: { kind: 'cancelled' } },
    ])
    await expect(client.version()).rejects.toMatchObject({ kind: 'cancelled' })
    await expect.poll(() => server.open()).toBe(0)
  })

  test('the caller’s signal ends the connection', async () => {
    const abort = new AbortController()
    const server = await serve(peers.leaf, (router) =>
      router.service(MachineService, { version: () => new Promise(() => {}) }),
    )
    const client = await connectMaintenance(target(server), pinOf(peers.leaf.crt), {
      signal: abort.signal,
    })
    const call = client.version()
    setTimeout(() => abort.abort(), 20)
    await expect(call).rejects.toMatchObject({ kind: 'cancelled' })
    await expect.poll(() => server.open()).toBe(0)
    await expect(
      connectMaintenance(target(server), pinOf(peers.leaf.crt), { signal: abort.signal }),
    ).rejects.toMatchObject({ kind: 'cancelled' })
  })

  test('a call’s own signal ends only that call', async () => {
    let first = true
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        version: () =>
          first
            ? ((first = false), new Promise<never>(() => {}))
            : { messages: [{ version: { tag: 'v1.13.9' } }] },
      }),
    )
    const limit = new AbortController()
    const call = client.version({ signal: limit.signal })
    setTimeout(() => limit.abort(new OutOfTime(4_000)), 20)
    await expect(call).rejects.toMatchObject({
      kind: 'timeout',
      message: 'did not answer within 4 s',
    })
    expect((await client.version()).tag).toBe('v1.13.9')
  })
})
