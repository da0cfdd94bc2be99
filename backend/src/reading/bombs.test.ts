/**
 * What strangers may send to make the program stop answering: each bomb costs a turn of the main
 * thread at most 200 ms of its own processor time, and the process at most 100 MB. The listed
 * attacks hold for the program as a whole; what simulated machines send is tested at their readers.
 * `npm test` tries some of the bombs at each place, `npm run test:all` all.
 */
import { createServer as createHttp, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clusterImportPreview } from '#contract/clusters/takeover.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { subnetImport } from '#contract/network/subnets.ts'
import { authorize } from '#contract/sessions.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { decode } from '#talos/client/grpc.ts'
import { mostDecodedBytes } from '#talos/client/decode.ts'
import { createAuthority, issueCertificate } from '#talos/pki/certificates.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { generateSecrets, writeSecrets } from '#talos/secrets/bundle.ts'
import { ManifestSpecSchema } from '#talos/proto/gen/definitions/k8s_pb.ts'
import {
  EventSchema,
  NetstatSchema,
  ServiceListResponseSchema,
} from '#talos/proto/gen/machine/machine_pb.ts'
import { freeBlock } from '../../../tools/testing/free-block.ts'
import { spread } from '../../../tools/testing/length.ts'
import { checkedEtcdFile } from '../backup/etcd-stream.ts'
import { readRecords } from '../backup/records.ts'
import { readProof } from '../domains/clusters/takeover/proof.ts'
import { factory } from '../domains/images/factory.ts'
import { installers } from '../domains/images/installers.ts'
import { providerClient } from '../domains/sessions/provider/client.ts'
import { kubernetes, kubernetesPort } from '../kubernetes/client.ts'
import { silent } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { testClock } from '../testing/clock.ts'
import { nestedBuckets, overlappingPages } from '../testing/etcd-bombs.ts'
import { costOf, longestTurnMs, mostGrownBytes } from '../testing/turns.ts'
import { ours, sentBy } from './asker.ts'
import {
  piecesOf,
  yamlBombs,
  many,
  mib,
  smallChunks,
  informsEndlessly,
  endlessly,
} from './testing.ts'

const backend = await startBackend({ environment: { STEELYARD_STORE_NETWORKS: '127.0.0.0/8' } })
const { read } = backend.platform
const admin = await backend.signIn()
const now = new Date()
let datacenterId: string

/** Fails if the work costs too much. @returns the error's message, or the status of a response */
async function cheaply(act: () => Promise<unknown>): Promise<string> {
  let outcome = ''
  const cost = await costOf(async () => {
    outcome = await act().then(
      (done) =>
        typeof done === 'object' && done !== null && 'status' in done
          ? String(done.status)
          : 'done',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
  })
  expect({ outcome, ...cost }).toEqual({
    outcome,
    longestTurnMs: expect.toSatisfy((ms: number) => ms <= longestTurnMs) as number,
    grownBytes: expect.toSatisfy((bytes: number) => bytes <= mostGrownBytes) as number,
  })
  return outcome
}

const closing: (() => void)[] = []
afterAll(() => closing.forEach((close) => close()))

/** A service that answers every request with `answer`. */
async function service(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createHttp((request, response) => {
    request.resume()
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => (server.closeAllConnections(), server.close()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  datacenterId = (
    await admin.call(datacenterCreate, {
      body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
    })
  ).answer!.id
  // Starts the threads and loads the modules, which isn't measured.
  await read(ours, 'check', 'machine: {}')
  await read(ours, 'json', Buffer.from('{"items":[1]}'), { depth: 4, values: 10, pieceLength: 100 })
  await admin.call(clusterImportPreview, { body: { datacenter_id: datacenterId, secrets: 'a: 1' } })
  await Array.fromAsync(
    checkedEtcdFile(piecesOf(nestedBuckets({ levels: 1, count: 1 })), () => undefined),
  ).catch(() => undefined)
})

describe('a snapshot of etcd', () => {
  const readFile = async (bytes: Buffer): Promise<void> => {
    for await (const _ of checkedEtcdFile(piecesOf(bytes), () => undefined));
  }

  test('whose nested buckets share their pages is read in one pass', async () => {
    const bytes = nestedBuckets()
    expect(bytes.length).toBeLessThan(132_000)
    expect(await cheaply(() => readFile(bytes))).toMatch(/^The snapshot has no data of etcd/)
  })

  test('whose pages lie inside of each other is refused', async () => {
    const bytes = overlappingPages()
    expect(await cheaply(() => readFile(bytes))).toContain('its pages lie inside of each other')
  })
})

describe('a file that proves the ownership of a cluster', () => {
  test.each(spread(Object.keys(yamlBombs), 3))('with %s is refused', async (name) => {
    const text = yamlBombs[name]!
    expect(
      await cheaply(() =>
        admin.call(clusterImportPreview, { body: { datacenter_id: datacenterId, secrets: text } }),
      ),
    ).toMatch(/^(?:422|503)$/)
  })

  test.each(spread(['many keys', 'keys in braces', 'aliases of aliases'], 1))(
    'of another kind with %s is refused',
    async (name) => {
      const text = yamlBombs[name]!
      for (const file of [{ talosconfig: text }, { talosconfig: 'context: a\n', kubeconfig: text }])
        expect(await cheaply(() => readProof(read, ours, file, now))).not.toBe('done')
    },
  )

  test('whose certificate is nested deeply, or is one of very many, is refused', async () => {
    const bundle = await generateSecrets({ now, keys: await readyKeys() })
    const der = (length: number) =>
      Buffer.from(Array.from({ length: length / 4 }, () => [0x30, 0x82, 0xff, 0xff]).flat())
    const pem = (bytes: Buffer) =>
      `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`
    for (const crt of [pem(der(8_000)), pem(der(60_000)), bundle.certs.os.crt.repeat(100)]) {
      const secrets = writeSecrets({
        ...bundle,
        certs: { ...bundle.certs, os: { ...bundle.certs.os, crt } },
      })
      expect(await cheaply(() => readProof(read, ours, { secrets }, now))).toMatch(/^Secrets: /)
    }
  })
})

describe('the configuration that a machine reports', () => {
  test.each(
    spread(
      [
        'many keys',
        'deep maps',
        'many documents',
        'many aliases',
        'aliases of aliases',
        'many tags',
      ],
      2,
    ),
  )('with %s is read on a thread', async (name) => {
    const text = `machine:\n  type: worker\nodd:\n  ${yamlBombs[name]!.slice(0, 900_000).replaceAll('\n', '\n  ')}\n`
    const who = sentBy('10.0.0.1')
    expect(await cheaply(() => read(who, 'told', text))).not.toBe('')
    expect(
      await cheaply(() => read(who, 'difference', 'machine:\n  type: worker\n', text, 'v1.13.9')),
    ).not.toBe('')
  })
})

const address = `127.20.${(await freeBlock(1)) + 1}.1`
describe('a Kubernetes API', () => {
  let body: string | Buffer = ''
  let answer: ((response: ServerResponse) => void) | undefined
  let api: ReturnType<typeof kubernetes>
  beforeAll(async () => {
    const authority = await createAuthority({
      kind: 'p256',
      subject: { organizations: ['kubernetes'] },
      now,
    })
    const issue = (usage: 'client' | 'server') =>
      issueCertificate(authority, {
        kind: 'p256',
        subject: { commonName: usage },
        usages: [usage],
        names: { addresses: usage === 'server' ? [address] : [] },
        lifetimeMs: 3_600_000,
        now,
      })
    const [own, client] = [await issue('server'), await issue('client')]
    const server = createHttps({ key: own.key, cert: own.crt }, (_, response) =>
      (answer ?? ((r) => void r.writeHead(200).end(body)))(response),
    )
    await new Promise<void>((resolve) => server.listen(kubernetesPort, address, resolve))
    closing.push(() => (server.closeAllConnections(), server.close()))
    api = kubernetes(
      [{ name: 'alpha', address }],
      { ...client, ca: authority.crt },
      { dial: { check: () => ({ ok: true }) }, read },
    )
  })
  afterEach(() => void (answer = undefined))
  const { signal } = new AbortController()
  const bombs: Readonly<Record<string, () => string>> = {
    'very many lists': () => `{"items":[${many('[],', 7.9 * mib)}1]}`,
    'very many objects': () => `{"items":[${many('{"a":{}},', 7.9 * mib)}1]}`,
    'very many keys': () =>
      `{"items":[{${Array.from({ length: 280_000 }, (_, i) => `"k${i}":1`).join()}}]}`,
    'as many lists as are read': () => `{"items":[${many('[],', 299_000 * 3)}1]}`,
    'lists in lists': () => many('[', 7.9 * mib),
    'one long text': () => `{"items":["${many('\\u0041', 7.9 * mib)}"]}`,
    'very many strings': () => `{"items":[${many('"a",', 7.9 * mib)}1]}`,
  }
  test.each(spread(Object.keys(bombs), 3))(
    'that answers with up to 8 MiB of %s costs little',
    async (name) => {
      body = bombs[name]!()
      const isValid = name === 'one long text' || name === 'as many lists as are read'
      expect(await cheaply(() => api.get('/x', signal))).toMatch(isValid ? 'done' : 'invalid data')
      expect(
        await cheaply(() => api.list('/x', { most: 1_000_000, keep: (item) => item }, signal)),
      ).toMatch(isValid ? 'done' : 'invalid data')
    },
  )

  test('that answers in chunks of a byte, or with informational responses without end, costs little', async () => {
    const chunks = smallChunks(2 * mib)
    answer = (response) => void response.socket!.end(chunks)
    expect(await cheaply(() => api.get('/x', signal))).toBe(
      'alpha: the API server sent very many short parts',
    )
    answer = informsEndlessly
    expect(await cheaply(() => api.get('/x', signal))).toBe(
      'alpha: the response is not from a Kubernetes API',
    )
  })

  test('with 1,000 nodes is read, although all of them together are longer than a response may be', async () => {
    const images = Array.from({ length: 60 }, (_, i) => ({
      names: [
        `registry.example.com/image-${i}@sha256:${'a'.repeat(64)}`,
        `registry.example.com/image-${i}:v1`,
      ],
    }))
    const node = (i: number) => ({
      metadata: { name: `node-${i}` },
      status: { conditions: [{ type: 'Ready', status: 'True' }], images },
    })
    answer = (response) => {
      const asked = new URL(`https://x${response.req.url}`).searchParams
      const [from, limit] = [Number(asked.get('continue') ?? 0), Number(asked.get('limit'))]
      const items = Array.from({ length: Math.min(limit, 1_000 - from) }, (_, i) => node(from + i))
      response.end(
        JSON.stringify({
          metadata: from + limit < 1_000 ? { continue: String(from + limit) } : {},
          items,
        }),
      )
    }
    expect(JSON.stringify(node(0)).length * 1_000).toBeGreaterThan(8 * mib)
    expect((await api.nodes(signal)).map(({ name, ready }) => [name, ready])).toEqual(
      Array.from({ length: 1_000 }, (_, i) => [`node-${i}`, true]),
    )
  })

  test('that answers with a long valid list is read', async () => {
    const metadata = {
      managedFields: Array.from({ length: 20 }, (_, i) => ({
        manager: `m${i}`,
        fieldsV1: { 'f:spec': { 'f:a': {}, 'f:b': {} } },
      })),
    }
    const items = Array.from({ length: 250 }, (_, i) => ({
      metadata: { ...metadata, name: `n${i}` },
      spec: { text: 'é'.repeat(10_000) },
    }))
    body = JSON.stringify({ metadata: {}, items })
    expect(Buffer.byteLength(body)).toBeGreaterThan(5 * mib)
    let found: unknown[] | null = []
    expect(
      await cheaply(
        async () => (found = await api.list('/x', { most: 1_000, keep: (item) => item }, signal)),
      ),
    ).toBe('done')
    expect(found).toEqual(items)
  })
})

describe('a store', () => {
  const s3 = {
    name: 'offsite',
    kind: 's3' as const,
    region: 'eu',
    bucket: 'backups',
    prefix: '',
    access_key_id: 'a',
    secret_access_key: 'a secret',
  }

  test('that answers without end is refused', async () => {
    const endpoint = await service(endlessly)
    expect(await cheaply(() => admin.call(storeCreate, { body: { ...s3, endpoint } }))).toBe('422')
  })

  test('that sends informational responses without end is refused', async () => {
    const endpoint = await service(informsEndlessly)
    expect(await cheaply(() => admin.call(storeCreate, { body: { ...s3, endpoint } }))).toBe('422')
  })

  test('that sends a text in chunks of a byte is refused', async () => {
    const chunks = smallChunks(mib)
    const endpoint = await service((response) => void response.socket!.end(chunks))
    expect(await cheaply(() => admin.call(storeCreate, { body: { ...s3, endpoint } }))).toBe('422')
  })

  test('that returns a file without end is refused', async () => {
    const endpoint = await service((response) =>
      response.req.method === 'GET' && !response.req.url!.includes('uploads')
        ? endlessly(response)
        : response.end(),
    )
    const { status, problem } = await admin.call(storeCreate, { body: { ...s3, endpoint } })
    expect([status, problem?.error]).toEqual([
      422,
      expect.stringContaining('more than the 1024 bytes'),
    ])
    expect(await cheaply(() => admin.call(storeCreate, { body: { ...s3, endpoint } }))).toBe('422')
  })
})

describe('other bombs', () => {
  test('an image factory that answers with deep JSON, or with a schematic of very many keys, is refused', async () => {
    let body = ''
    const url = await service(
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    )
    const asked = () => factory({ url, clock: testClock(), log: silent, read })
    for (const text of [
      many('[', mib - 8),
      `[${many('[],', mib - 8)}1]`,
      `{${many('"a":{', mib - 8)}`,
    ]) {
      body = text
      expect(await cheaply(() => asked().versions())).toContain('invalid response')
    }
    for (const text of spread(Object.values(yamlBombs), 3)) {
      body = text
      expect(
        await cheaply(() => installers({ factory: asked(), read }).schematic('a'.repeat(64))),
      ).toMatch(/schematic|took too long/)
    }
  })

  test('an identity provider that answers with deep JSON, or without end, is refused', async () => {
    for (const answer of [
      endlessly,
      (response: ServerResponse) => void response.end(many('[', 250_000)),
      (response: ServerResponse) => void response.end(many('[', 2 * mib)),
    ]) {
      const issuer = new URL(await service(answer))
      const provider = {
        name: 'Test',
        issuer,
        clientId: 'a',
        clientSecret: undefined,
        scopes: 'openid',
        roleClaim: 'groups',
        roles: undefined,
        allowPlain: true,
      }
      const client = providerClient(provider, {
        clock: testClock(),
        log: silent,
        redirectUri: 'http://localhost/',
      })
      expect(await cheaply(() => client.ready())).toContain('cannot be read')
    }
  })

  test('messages of a machine with groups in groups, or with very many empty parts, are refused or read in time', async () => {
    const groups = Buffer.alloc(200_000, 0x7b)
    const empty = [0x0a, 0x12, 0x1a, 0x22].flatMap((tag) =>
      [240_000, mostDecodedBytes].map((length) => Buffer.alloc(length, Buffer.from([tag, 0]))),
    )
    const schemas = [EventSchema, ServiceListResponseSchema, NetstatSchema, ManifestSpecSchema]
    for (const bytes of [
      groups,
      Buffer.alloc(4 * mib, 0x7b),
      Buffer.alloc(4 * mib, Buffer.from([0x0a, 0])),
    ])
      for (const schema of spread(schemas, 2))
        expect(await cheaply(async () => decode(schema, bytes))).toContain('invalid data')
    for (const bytes of empty)
      for (const schema of spread(schemas, 2))
        expect(await cheaply(async () => decode(schema, bytes))).not.toBe('')
  })

  test('a body of lists in lists, or of very many keys, is refused', async () => {
    for (const payload of [
      many('[', 250_000),
      many('{"a":', 250_000),
      `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join()}}`,
    ]) {
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${admin.accessToken}`,
      }
      const send = () =>
        backend.app
          .inject({ method: 'POST', url: clusterImportPreview.path, headers, payload })
          .then(({ statusCode }) => ({ status: statusCode }))
      expect(await cheaply(send)).toMatch(/^4/)
    }
    expect(
      await cheaply(() =>
        backend.call(authorize, { body: { email: many('a@', 6_000), password: 'x' } }),
      ),
    ).toMatch(/^4/)
  })

  test('a body of 1.25 MiB is refused if it has very many values, whatever they are', async () => {
    const long = (one: (i: number) => string): string => {
      const all: string[] = []
      for (let i = 0, length = 0; length < 1.2 * mib; i++)
        length += all[all.push(one(i)) - 1]!.length + 1
      return all.join()
    }
    const bombs = {
      keys: `{${long((i) => `"k${i}":1`)}}`,
      numbers: `{${long((i) => `"${(i * 7919) % 4_294_967}":1`)}}`,
      lists: `[${long(() => `[${many('[],', 2_400)}1]`)}]`,
      shapes: `[${long((i) => `{"k${i}":{"l${i}":{"m${i}":{}}}}`)}]`,
    }
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${admin.accessToken}`,
    }
    for (const payload of Object.values(bombs)) {
      const send = () =>
        backend.app
          .inject({ method: 'POST', url: subnetImport.path, headers, payload })
          .then(({ statusCode: status }) => ({ status }))
      expect(await cheaply(send)).toBe('400')
    }
    // The longest text that is allowed, in which every character is escaped.
    expect(
      await cheaply(() =>
        admin.call(subnetImport, { body: { csv: many('"\n', mib / 4), dry_run: true } }),
      ),
    ).toBe('200')
  })

  test('a CSV file of quotes, commas or empty lines is read in time', async () => {
    for (const csv of [
      many('"', 500_000),
      many(',', 1_000_000),
      many('\n', 500_000),
      many('"a",', 1_000_000),
      `a${many(',\n', 1_000_000)}`,
    ])
      expect(
        await cheaply(() => admin.call(subnetImport, { body: { csv, dry_run: true } })),
      ).toMatch(/^(?:200|4)/)
  })

  test('a backup whose records claim to be longer than any record is refused', async () => {
    const record = Buffer.from([1, 0xff, 0xff, 0xff, 0xff])
    const text = Buffer.concat([Buffer.from([1, 0, 0x80, 0, 0]), Buffer.alloc(8 * mib, '[')])
    for (const bytes of [record, text])
      expect(await cheaply(() => Array.fromAsync(readRecords(piecesOf(bytes))))).not.toBe('done')
  })

  test.each(spread(['keys in braces', 'deep maps', 'many aliases'], 1))(
    'a patch with %s is checked on a thread',
    async (name) => {
      const text = yamlBombs[name]!
      for (const act of [
        () => read(ours, 'check', text),
        () => read(ours, 'unmask', `${text}\n# ••••••••`, text, 'everybody'),
        () => read(ours, 'links', text),
      ])
        expect(await cheaply(act)).not.toBe('')
    },
  )
})
