import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { create, toBinary } from '@bufbuild/protobuf'
import { anyPack, EmptySchema, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { issueCertificate } from '../pki/certificates.ts'
import { mintTalosClient } from '../pki/clients.ts'
import { generateKey, type KeyPair, standardKey } from '../pki/keys.ts'
import { DataSchema } from '../proto/gen/common/common_pb.ts'
import { ResourceSchema } from '../proto/gen/cosi/resource_pb.ts'
import { EventType, State } from '../proto/gen/cosi/state_pb.ts'
import { RuntimeMachineStage } from '../proto/gen/definitions/enums_pb.ts'
import { MachineStatusSpecSchema, UnmetConditionSchema } from '../proto/gen/definitions/runtime_pb.ts'
import { EventSchema, MachineService, MachineStatusEventSchema } from '../proto/gen/machine/machine_pb.ts'
import { generateSecrets, type SecretsBundle } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { startServer, type TestServer } from '../testing/server.ts'
import type { TalosClient } from './client.ts'
import { connectMaintenance, connectSecure, fingerprint, readCertificate } from './connect.ts'
import { watchMachineStatus } from './inventory.ts'
import { resources } from './resources.ts'

const now = new Date()
const hourMs = 3_600_000
const hasOpenssl = spawnSync('openssl', ['version']).status === 0
let bundle: SecretsBundle
let other: SecretsBundle
let node: KeyPair
let leaf: KeyPair

const undo: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

async function serve(tls: Parameters<typeof startServer>[0], routes: (router: ConnectRouter) => void = () => {}): Promise<TestServer> {
  const server = await startServer(tls, routes)
  undo.push(() => server.stop())
  return server
}

const target = (server: TestServer) => ({ host: '127.0.0.1', port: server.port })

function closing(client: TalosClient): TalosClient {
  undo.push(() => client.close())
  return client
}

/** A machine in maintenance whose handlers are `routes`, and a client to it. */
async function maintenance(routes: (router: ConnectRouter) => void, deadlineMs = 2000): Promise<{ server: TestServer; client: TalosClient }> {
  const server = await serve(leaf, routes)
  return { server, client: closing(await connectMaintenance(target(server), { pem: leaf.crt }, { deadlineMs })) }
}

beforeAll(async () => {
  const keys = await readyKeys()
  bundle = await generateSecrets({ now, keys })
  other = await generateSecrets({ now, keys: { ...keys, os: await generateKey('ed25519') } })
  const server = { usages: ['server'], now } as const
  node = await issueCertificate(bundle.certs.os, { ...server, subject: { commonName: 'node-1' }, names: { addresses: ['127.0.0.1'] }, lifetimeMs: 24 * hourMs })
  // Signed by an authority that exists only inside the machine, and not sent.
  leaf = await issueCertificate(other.certs.os, {
    ...server,
    subject: { commonName: 'maintenance-service.talos.dev' },
    names: { addresses: ['127.0.0.1'] },
    lifetimeMs: 24 * hourMs,
  })
})

const version = (router: ConnectRouter) =>
  router.service(MachineService, {
    version: () => ({ messages: [{ version: { tag: 'v1.13.9', arch: 'amd64' }, platform: { name: 'metal', mode: 'metal' } }] }),
  })

describe('maintenance', () => {
  test('its certificate is read, known as what it is, and pinned', async () => {
    const server = await serve(leaf, version)
    const read = await readCertificate(target(server), { timeoutMs: 2000 })
    expect(read.mode).toBe('maintenance')
    expect(read.fingerprint).toBe(fingerprint(leaf.crt))
    expect(read.fingerprint).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    const client = closing(await connectMaintenance(target(server), read))
    expect(await client.version()).toEqual({ tag: 'v1.13.9', sha: '', arch: 'amd64', platform: 'metal', mode: 'metal' })
  })

  test('another certificate than the pinned one is refused before anything is sent', async () => {
    let calls = 0
    const server = await serve(leaf, (router) => router.service(MachineService, { version: () => (calls++, { messages: [] }) }))
    for (const pem of [node.crt, other.certs.os.crt]) {
      await expect(connectMaintenance(target(server), { pem })).rejects.toMatchObject({
        kind: 'certificate',
        message: 'the server shows another certificate than before',
      })
    }
    expect(calls).toBe(0)
  })

  test('its clock may be years off', async () => {
    const past = new Date('2015-01-01')
    const old = await issueCertificate(other.certs.os, {
      subject: { commonName: 'maintenance-service.talos.dev' },
      usages: ['server'],
      lifetimeMs: 24 * hourMs,
      now: past,
    })
    const server = await serve(old, version)
    const client = closing(await connectMaintenance(target(server), await readCertificate(target(server))))
    expect((await client.version()).tag).toBe('v1.13.9')
  })
})

describe('mutual TLS', () => {
  const admin = () => mintTalosClient(bundle, { roles: ['os:admin'], lifetimeMs: hourMs, now })

  test('works both ways', async () => {
    const server = await serve({ ...node, clientCa: bundle.certs.os.crt }, version)
    expect((await readCertificate(target(server))).mode).toBe('secured')
    const client = closing(await connectSecure(target(server), await admin()))
    expect((await client.version()).tag).toBe('v1.13.9')
  })

  test('a server of another cluster is refused', async () => {
    const server = await serve(leaf, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
      kind: 'certificate',
      message: "the server's certificate is not signed by the expected authority",
    })
  })

  test('a certificate for another address is refused', async () => {
    const elsewhere = await issueCertificate(bundle.certs.os, {
      subject: { commonName: 'x' },
      usages: ['server'],
      names: { addresses: ['127.0.0.9'] },
      lifetimeMs: hourMs,
      now,
    })
    const server = await serve(elsewhere, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({
      kind: 'certificate',
      message: "the server's certificate is for another address",
    })
  })

  test('a client’s certificate is no server’s', async () => {
    const pair = await issueCertificate(bundle.certs.os, { subject: {}, usages: ['client'], names: { addresses: ['127.0.0.1'] }, lifetimeMs: hourMs, now })
    const server = await serve(pair, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({ kind: 'certificate' })
  })

  test('an expired certificate is refused', async () => {
    const old = await issueCertificate(bundle.certs.os, { subject: {}, usages: ['server'], names: { addresses: ['127.0.0.1'] }, lifetimeMs: -60_000, now })
    const server = await serve(old, version)
    await expect(connectSecure(target(server), await admin())).rejects.toMatchObject({ kind: 'certificate', message: "the server's certificate has expired" })
  })

  test('our own certificate refused by the server is said so', async () => {
    const server = await serve({ ...node, clientCa: bundle.certs.os.crt }, version)
    const stranger = await mintTalosClient(other, { roles: ['os:admin'], lifetimeMs: hourMs, now })
    // TLS 1.3 tells it only on the first read.
    const client = closing(await connectSecure(target(server), { ...stranger, ca: bundle.certs.os.crt }))
    await expect(client.version()).rejects.toMatchObject({ kind: 'certificate', message: 'server hung up when it saw our certificate' })
    await expect(client.version()).rejects.toMatchObject({ kind: 'certificate' })
  })

  test.runIf(hasOpenssl)('the alert of a server that refuses our certificate is understood', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'steelyard-tls-'))
    undo.push(() => rmSync(folder, { recursive: true }))
    for (const [name, pem] of Object.entries({ ca: bundle.certs.os.crt, crt: node.crt, key: standardKey(node.key) })) writeFileSync(join(folder, name), pem)
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
    const openssl = spawn('openssl', ['s_server', ...options], { stdio: ['pipe', 'pipe', 'ignore'] })
    undo.push(() => void openssl.kill())
    const port = await new Promise<number>((resolve) => {
      openssl.stdout.on('data', (line: Buffer) => {
        const found = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(line.toString())
        if (found !== null) resolve(Number(found[1]))
      })
    })
    const stranger = await mintTalosClient(other, { roles: ['os:admin'], lifetimeMs: hourMs, now })
    const client = closing(await connectSecure({ host: '127.0.0.1', port }, { ...stranger, ca: bundle.certs.os.crt }))
    await expect(client.version()).rejects.toMatchObject({ kind: 'certificate', message: 'server does not accept our certificate' })
  })

  test('hundreds of connections one after another leave none open', async () => {
    const server = await serve({ ...node, clientCa: bundle.certs.os.crt }, version)
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
  test('the dial check stops a connection before a packet leaves', async () => {
    const server = await serve(leaf, version)
    const dial = () => {
      throw new Error('127.0.0.1 is outside the networks that may be dialled')
    }
    await expect(readCertificate(target(server), { dial })).rejects.toMatchObject({
      kind: 'unreachable',
      message: '127.0.0.1 is outside the networks that may be dialled',
    })
    await expect(connectMaintenance(target(server), { pem: leaf.crt }, { dial })).rejects.toMatchObject({ kind: 'unreachable' })
    expect(server.accepted()).toBe(0)
  })

  test('names are not looked up', async () => {
    await expect(readCertificate({ host: 'localhost', port: 1 })).rejects.toMatchObject({ kind: 'invalid_argument' })
  })

  test('close ends calls and streams, and the connection', async () => {
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
    expect(await settled).toMatchObject([{ reason: { kind: 'cancelled' } }, { reason: { kind: 'cancelled' } }])
    await expect(client.version()).rejects.toMatchObject({ kind: 'cancelled' })
    await expect.poll(() => server.open()).toBe(0)
  })

  test('the caller’s signal ends the connection', async () => {
    const abort = new AbortController()
    const server = await serve(leaf, (router) => router.service(MachineService, { version: () => new Promise(() => {}) }))
    const client = await connectMaintenance(target(server), { pem: leaf.crt }, { signal: abort.signal })
    const call = client.version()
    setTimeout(() => abort.abort(), 20)
    await expect(call).rejects.toMatchObject({ kind: 'cancelled' })
    await expect.poll(() => server.open()).toBe(0)
    await expect(connectMaintenance(target(server), { pem: leaf.crt }, { signal: abort.signal })).rejects.toMatchObject({ kind: 'cancelled' })
  })

  test('a call’s own signal ends that call alone', async () => {
    let first = true
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        version: () => (first ? ((first = false), new Promise<never>(() => {})) : { messages: [{ version: { tag: 'v1.13.9' } }] }),
      }),
    )
    await expect(client.version({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ kind: 'cancelled' })
    expect((await client.version()).tag).toBe('v1.13.9')
  })
})

describe('calls', () => {
  test('errors keep Talos’s words and get a kind', async () => {
    const codes = [
      [Code.PermissionDenied, 'permission_denied'],
      [Code.Unauthenticated, 'permission_denied'],
      [Code.Unimplemented, 'unimplemented'],
      [Code.InvalidArgument, 'invalid_argument'],
      [Code.FailedPrecondition, 'failed_precondition'],
      [Code.AlreadyExists, 'already_exists'],
      [Code.NotFound, 'not_found'],
      [Code.Unavailable, 'unavailable'],
      [Code.Unknown, 'other'],
    ] as const
    for (const [code, kind] of codes) {
      const { client } = await maintenance((router) =>
        router.service(MachineService, {
          bootstrap: () => {
            throw new ConnectError('etcd data directory is not empty\u001b[31m', code)
          },
        }),
      )
      await expect(client.bootstrap()).rejects.toMatchObject({ kind, message: 'etcd data directory is not empty\ufffd[31m' })
    }
  })

  test('a failure inside an answer is one', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, { bootstrap: () => ({ messages: [{ metadata: { error: 'no such node' } }] }) }),
    )
    await expect(client.bootstrap()).rejects.toMatchObject({ kind: 'other', message: 'no such node' })
  })

  test('a configuration is sent byte for byte, its mode always said', async () => {
    const seen: unknown[] = []
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        applyConfiguration: (r) => {
          seen.push([Buffer.from(r.data).toString(), r.mode, r.dryRun])
          return { messages: [{ mode: 2, warnings: ['w'], modeDetails: 'Applied configuration without a reboot' }] }
        },
      }),
    )
    const yaml = 'version: v1alpha1 # ü\n'
    expect(await client.applyConfiguration(yaml, { mode: 'auto' })).toEqual({
      mode: 'no-reboot',
      warnings: ['w'],
      details: 'Applied configuration without a reboot',
    })
    await client.applyConfiguration(yaml, { mode: 'no-reboot', dryRun: true })
    expect(seen).toEqual([
      [yaml, 1, false],
      [yaml, 2, true],
    ])
  })

  test('a reset says exactly what to wipe', async () => {
    let seen: unknown
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        reset: (r) => (
          (seen = [r.graceful, r.reboot, r.mode, r.systemPartitionsToWipe.map((p) => [p.label, p.wipe]), r.userDisksToWipe]),
          { messages: [{ actorId: 'a-1' }] }
        ),
      }),
    )
    expect(await client.reset({ graceful: false, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'], userDisks: ['/dev/sdb'] })).toEqual({ actorId: 'a-1' })
    expect(seen).toEqual([
      false,
      true,
      0,
      [
        ['STATE', true],
        ['EPHEMERAL', true],
      ],
      ['/dev/sdb'],
    ])
  })

  test('etcd members keep their 64-bit ids', async () => {
    const id = 2n ** 64n - 1n
    let removed = 0n
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        etcdMemberList: () => ({ messages: [{ members: [{ id, hostname: 'cp-1', peerUrls: ['https://10.0.0.1:2380'] }] }] }),
        etcdRemoveMemberByID: (r) => ((removed = r.memberId), { messages: [{}] }),
      }),
    )
    const [member] = await client.etcdMembers()
    expect(member).toEqual({ id: '18446744073709551615', hostname: 'cp-1', peerUrls: ['https://10.0.0.1:2380'], clientUrls: [], learner: false })
    await client.etcdRemoveMember(member!.id)
    expect(removed).toBe(id)
  })

  test('services tell health and the last of their history', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        serviceList: () => ({
          messages: [
            {
              services: [
                { id: 'etcd', state: 'Preparing', health: { unknown: true }, events: { events: [{ msg: 'Running pre state', ts: timestampFromDate(now) }] } },
                { id: 'apid', state: 'Running', health: { healthy: true, lastMessage: 'ok' } },
              ],
            },
          ],
        }),
      }),
    )
    expect(await client.services()).toEqual([
      { id: 'etcd', state: 'Preparing', healthy: undefined, message: '', lastEvent: { message: 'Running pre state', at: now } },
      { id: 'apid', state: 'Running', healthy: true, message: 'ok', lastEvent: undefined },
    ])
  })

  test('kubeconfig is unpacked from a tar that isn’t ended', async () => {
    const content = 'apiVersion: v1\nkind: Config\n'
    const header = Buffer.alloc(512)
    header.write('kubeconfig', 0)
    header.write(content.length.toString(8).padStart(11, '0'), 124)
    const archive = gzipSync(Buffer.concat([header, Buffer.from(content)]))
    const send = async function* (bytes: Buffer) {
      yield create(DataSchema, { bytes: bytes.subarray(0, 10) })
      yield create(DataSchema, { bytes: bytes.subarray(10) })
    }
    const { client } = await maintenance((router) => router.service(MachineService, { kubeconfig: () => send(archive) }))
    expect(await client.kubeconfig()).toBe(content)
    const bad = await maintenance((router) => router.service(MachineService, { kubeconfig: () => send(gzipSync(header)) }))
    await expect(bad.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
    const garbage = await maintenance((router) => router.service(MachineService, { kubeconfig: () => send(Buffer.alloc(100)) }))
    await expect(garbage.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
    const bomb = await maintenance((router) => router.service(MachineService, { kubeconfig: () => send(gzipSync(Buffer.alloc(64 * 1024 ** 2))) }))
    await expect(bomb.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
  })
})

describe('streams', () => {
  const status = (stage: RuntimeMachineStage) =>
    create(ResourceSchema, {
      metadata: { type: resources.machineStatus.type, id: 'machine', version: '1', phase: 'running' },
      spec: {
        protoSpec: toBinary(
          MachineStatusSpecSchema,
          create(MachineStatusSpecSchema, {
            stage,
            status: {
              ready: stage === RuntimeMachineStage.MACHINE_STAGE_RUNNING,
              unmetConditions: [create(UnmetConditionSchema, { name: 'services', reason: 'etcd not running' })],
            },
          }),
        ),
      },
    })

  test('a watch tells what is and what changes', async () => {
    const { client } = await maintenance((router) =>
      router.service(State, {
        async *watch(request) {
          expect(request).toMatchObject({ namespace: 'runtime', id: 'machine', apiVersion: 1 })
          yield {}
          yield { event: [{ eventType: EventType.CREATED, resource: status(RuntimeMachineStage.MACHINE_STAGE_BOOTING) }] }
          yield { event: [{ eventType: EventType.UPDATED, resource: status(RuntimeMachineStage.MACHINE_STAGE_RUNNING) }] }
          yield { event: [{ eventType: EventType.ERRORED, error: 'buffer overrun' }] }
        },
      }),
    )
    const seen: unknown[] = []
    const read = async () => {
      for await (const s of watchMachineStatus(client)) seen.push([s.stage, s.ready, s.unmet])
    }
    await expect(read()).rejects.toMatchObject({ kind: 'unavailable', message: 'the watch ended: buffer overrun' })
    const unmet = [{ name: 'services', reason: 'etcd not running' }]
    expect(seen).toEqual([
      ['booting', false, unmet],
      ['running', true, unmet],
    ])
  })

  test('a kind’s watch tells when all that exists was told', async () => {
    const { client } = await maintenance((router) =>
      router.service(State, {
        async *watch() {
          yield {}
          yield {
            event: [
              { eventType: EventType.CREATED, resource: status(RuntimeMachineStage.MACHINE_STAGE_MAINTENANCE) },
              { eventType: EventType.BOOTSTRAPPED },
              { eventType: EventType.DESTROYED, resource: create(ResourceSchema, { metadata: { id: 'machine' }, spec: {} }) },
            ],
          }
        },
      }),
    )
    const seen = (await Array.fromAsync(client.watch(resources.machineStatus))).map((e) => [e.type, e.resource?.id])
    expect(seen).toEqual([
      ['created', 'machine'],
      ['bootstrapped', undefined],
      ['destroyed', undefined],
    ])
  })

  test('leaving a stream ends it on the server', async () => {
    let ended = false
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *logs(_, context) {
          context.signal.addEventListener('abort', () => (ended = true))
          while (!context.signal.aborted) {
            yield { bytes: Buffer.from('line\n') }
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
        },
      }),
    )
    for await (const chunk of client.logs({ service: 'etcd', follow: true })) {
      expect(Buffer.from(chunk).toString()).toBe('line\n')
      break
    }
    await expect.poll(() => ended).toBe(true)
  })

  test('a stream that doesn’t even begin is given up', async () => {
    const { client } = await maintenance(
      (router) =>
        router.service(State, {
          async *watch() {
            await new Promise(() => {})
            yield {}
          },
        }),
      100,
    )
    await expect(Array.fromAsync(client.watch(resources.machineStatus))).rejects.toMatchObject({ kind: 'timeout', message: 'did not answer within 100 ms' })
  })

  test('a stream that has begun may be silent', async () => {
    const { client } = await maintenance(
      (router) =>
        router.service(State, {
          async *watch() {
            yield {}
            await new Promise((r) => setTimeout(r, 300))
            yield { event: [{ eventType: EventType.CREATED, resource: status(RuntimeMachineStage.MACHINE_STAGE_RUNNING) }] }
          },
        }),
      100,
    )
    expect(await Array.fromAsync(client.watch(resources.machineStatus))).toHaveLength(1)
  })

  test('an error inside a log ends it', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *logs() {
          yield { bytes: Buffer.from('a') }
          yield { metadata: { error: 'log "x" was not registered' } }
        },
      }),
    )
    await expect(Array.fromAsync(client.logs({ service: 'x' }))).rejects.toMatchObject({ kind: 'other', message: 'log "x" was not registered' })
  })

  test('events are read by the name after the last slash; the empty first one is skipped', async () => {
    const status = create(MachineStatusEventSchema, { stage: 2, status: { ready: true } })
    const event = (typeUrl: string, value: Uint8Array) => create(EventSchema, { id: 'c1', actorId: 'a1', data: { typeUrl, value } })
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *events(request) {
          expect(request.tailEvents).toBe(-1)
          yield create(EventSchema, {})
          yield event('talos/runtime/machine.MachineStatusEvent', toBinary(MachineStatusEventSchema, status))
          yield event('talos/runtime/machine.SomethingNew', new Uint8Array([1, 2, 3]))
          yield create(EventSchema, { data: anyPack(EmptySchema, create(EmptySchema)) })
          yield event('talos/runtime/machine.MachineStatusEvent', new Uint8Array([255]))
        },
      }),
    )
    const seen: unknown[] = []
    const read = async () => {
      for await (const e of client.events({ tail: -1 })) seen.push(e)
    }
    await expect(read()).rejects.toMatchObject({ kind: 'invalid_data', message: 'server sent invalid data (event machine.MachineStatusEvent)' })
    expect(seen).toEqual([
      { id: 'c1', actorId: 'a1', kind: 'machine_status', stage: 'installing', ready: true, unmet: [] },
      { id: 'c1', actorId: 'a1', kind: 'other', type: 'machine.SomethingNew' },
      { id: '', actorId: '', kind: 'other', type: 'google.protobuf.Empty' },
    ])
  })
})
