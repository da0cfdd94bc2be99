import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import {
  storeCreate,
  storeFolderList,
  storeGet,
  storeList,
  storeRemove,
  storeTest,
  storeUpdate,
} from '#contract/storage/stores.ts'
import { parseCidr } from '#contract/network/addresses.ts'
import { endpointPolicy } from '../../endpoints/policy.ts'
import { startBackend } from '../../testing/backend.ts'
import { temporaryFolder } from '../../testing/folder.ts'
import { StoreError } from './object-store.ts'
import { s3Store } from './s3.ts'
import { s3Body, s3Service, type S3Trouble } from './testing/s3-service.ts'

const folders = temporaryFolder('stores')
const service = await s3Service()
const backend = await startBackend({
  environment: { STEELYARD_STORE_FOLDERS: folders, STEELYARD_STORE_NETWORKS: '127.0.0.0/8' },
})
const admin = await backend.signIn()
const viewer = await backend.signIn({ role: 'viewer' })
afterAll(async () => {
  await service.stop()
  rmSync(folders, { recursive: true, force: true })
})
afterEach(() => service.trouble(null))

const { signal } = new AbortController()
const policy = endpointPolicy([parseCidr('127.0.0.0/8')!])
const settings = {
  endpoint: service.url,
  region: service.region,
  bucket: service.bucket,
  prefix: 'a/b',
  pathStyle: true,
  accessKeyId: service.accessKeyId,
  secretAccessKey: service.secret,
}
const inS3 = s3Store(settings, policy)
async function* pieces(bytes: Buffer, size = 100_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const read = async (store: Pick<typeof inS3, 'get'>, key: string) =>
  Buffer.concat(await Array.fromAsync(store.get(key, signal)))
const large = randomBytes(40 * 1024 * 1024)

test('a folder becomes a store, is tested, renamed and removed; its files stay', async () => {
  const folder = path.join(folders, 'one')
  const { answer: made } = await admin.call(storeCreate, {
    body: { name: 'local', kind: 'folder', folder },
  })
  expect(made).toMatchObject({
    name: 'local',
    kind: 'folder',
    folder,
    endpoint: null,
    problem: null,
    version: 1,
  })
  expect(readdirSync(folder)).toEqual(['steelyard-store'])
  const opened = await backend.domains.stores.open(made!.id)
  await opened.put('clusters/x/1.snap', pieces(Buffer.from('content')), signal)
  expect(await read(opened, 'clusters/x/1.snap')).toEqual(Buffer.from('content'))
  const renamed = await admin.call(
    storeUpdate,
    { params: { id: made!.id }, body: { name: 'disk' } },
    { ifMatch: 1 },
  )
  expect(renamed.answer).toMatchObject({ name: 'disk', version: 2 })
  expect(
    (
      await admin.call(
        storeUpdate,
        { params: { id: made!.id }, body: { name: 'disk-2' } },
        { ifMatch: 1 },
      )
    ).problem?.code,
  ).toBe('stale')
  expect((await admin.call(storeRemove, { params: { id: made!.id } })).status).toBe(204)
  expect((await admin.call(storeGet, { params: { id: made!.id } })).problem?.code).toBe('not_found')
  expect(readFileSync(path.join(folder, 'clusters/x/1.snap'), 'utf8')).toBe('content')
})

test('a folder outside of STEELYARD_STORE_FOLDERS is refused, also through a link', async () => {
  const elsewhere = temporaryFolder('elsewhere')
  symlinkSync(elsewhere, path.join(folders, 'link'))
  for (const folder of ['/etc', folders, `${folders}/../x`, path.join(folders, 'link/in')]) {
    const { problem } = await admin.call(storeCreate, {
      body: { name: 'wrong', kind: 'folder', folder },
    })
    expect(problem).toMatchObject({
      code: 'invalid',
      error: expect.stringContaining('STEELYARD_STORE_FOLDERS') as string,
    })
  }
  expect(readdirSync(elsewhere)).toEqual([])
  rmSync(elsewhere, { recursive: true })
})

test('a folder is the store of one installation only, and is refused while its disk is not mounted', async () => {
  const folder = path.join(folders, 'two')
  const { answer: made } = await admin.call(storeCreate, {
    body: { name: 'mounted', kind: 'folder', folder },
  })
  const again = await admin.call(storeCreate, { body: { name: 'again', kind: 'folder', folder } })
  expect(again.problem).toMatchObject({
    code: 'store_refused',
    error: expect.stringContaining('is the folder of another store') as string,
  })
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  const tested = await admin.call(storeTest, { params: { id: made!.id } })
  expect(tested.answer).toMatchObject({
    ok: false,
    problem: expect.stringContaining('mount the disk') as string,
  })
  expect((await admin.call(storeGet, { params: { id: made!.id } })).answer).toMatchObject({
    problem: tested.answer!.problem,
    problem_since: expect.any(String) as string,
  })
  writeFileSync(path.join(folder, 'steelyard-store'), `${made!.id}\n`)
  expect((await admin.call(storeTest, { params: { id: made!.id } })).answer).toMatchObject({
    ok: true,
    problem: null,
  })
  expect((await admin.call(storeGet, { params: { id: made!.id } })).answer).toMatchObject({
    problem: null,
    problem_since: null,
  })
})

test('a store whose commit was not answered keeps its marker file', async () => {
  // Each transaction is stored, but the connection is lost before the answer.
  const face = Client.prototype as Record<'query', (...given: unknown[]) => unknown>
  const query = face.query
  const spy = vi.spyOn(face, 'query').mockImplementation(function (this: Client, ...given) {
    const asked = query.apply(this, given)
    return given[0] === 'commit'
      ? Promise.resolve(asked).then(() => {
          this.connection.stream.destroy()
          throw new Error('Connection terminated unexpectedly')
        })
      : asked
  })
  const body = { name: 'unanswered', kind: 'folder' as const, folder: path.join(folders, 'six') }
  const lost = await admin.call(storeCreate, { body })
  spy.mockRestore()
  expect(lost.problem).toMatchObject({ error: expect.stringContaining('may be done') as string })
  const { items } = (await admin.call(storeList, { query: { q: body.name } })).answer!
  expect(items).toHaveLength(1)
  const tested = await admin.call(storeTest, { params: { id: items[0]!.id } })
  expect(tested.answer).toMatchObject({ ok: true, problem: null })
})

test('a folder with the marker file of a store that does not exist is refused with the way out', async () => {
  const folder = path.join(folders, 'seven')
  const file = path.join(folder, 'steelyard-store')
  mkdirSync(folder)
  const create = () =>
    admin.call(storeCreate, { body: { name: 'left-behind', kind: 'folder', folder } })
  for (const [content, id] of [
    ['8d0c2c0e-94a5-4cf1-8b7c-4f5f9a1f7c55\n', ' (8d0c2c0e-94a5-4cf1-8b7c-4f5f9a1f7c55)'],
    ['', ''],
  ] as const) {
    writeFileSync(file, content)
    expect((await create()).problem).toMatchObject({
      code: 'store_refused',
      error: `${folder} is the folder of another store${id}: choose another folder, or, if there is no such store here or in another installation, remove ${file}`,
    })
    expect(readFileSync(file, 'utf8')).toBe(content)
  }
  rmSync(file)
  expect((await create()).status).toBe(201)
})

test('of stores that are added at once with the same folder, one is added and usable', async () => {
  for (let round = 0; round < 3; round++) {
    const folder = path.join(folders, `at-once-${round}`)
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        admin.call(storeCreate, {
          body: { name: `at-once-${round}-${i}`, kind: 'folder', folder },
        }),
      ),
    )
    const made = all.flatMap(({ answer }) => answer ?? [])
    expect(made).toHaveLength(1)
    expect((await admin.call(storeTest, { params: { id: made[0]!.id } })).answer).toMatchObject({
      ok: true,
    })
  }
})

test('a store that is removed leaves the marker file of another store in its folder', async () => {
  const folder = path.join(folders, 'eight')
  const { answer: made } = await admin.call(storeCreate, {
    body: { name: 'replaced', kind: 'folder', folder },
  })
  const file = path.join(folder, 'steelyard-store')
  writeFileSync(file, 'another\n')
  expect((await admin.call(storeRemove, { params: { id: made!.id } })).status).toBe(204)
  expect(readFileSync(file, 'utf8')).toBe('another\n')
})

test('a bucket becomes a store; its secret is stored sealed and never returned, and a new access key is tested first', async () => {
  const { answer: made, text } = await admin.call(storeCreate, { body: s3Body(service) })
  expect(made).toMatchObject({
    kind: 's3',
    endpoint: service.url,
    bucket: 'backups',
    prefix: 'steelyard/prod',
    path_style: true,
    access_key_id: 'test-key',
  })
  expect(service.objects.size).toBe(0)
  const listed = await viewer.call(storeList)
  expect(listed.answer!.items.map((s) => s.name)).toContain('offsite')
  expect(text + listed.text).not.toContain(service.secret)
  const rows = await backend.platform.pool.query('select * from store')
  expect(JSON.stringify(rows.rows)).not.toContain(Buffer.from(service.secret).toString('hex'))
  const wrong = await admin.call(storeUpdate, {
    params: { id: made!.id },
    body: { secret_access_key: 'another' },
  })
  expect(wrong.problem).toMatchObject({
    code: 'store_refused',
    error: expect.stringContaining('the secret access key is wrong') as string,
  })
  expect((await admin.call(storeTest, { params: { id: made!.id } })).answer).toMatchObject({
    ok: true,
  })
  expect(
    (
      await admin.call(storeUpdate, {
        params: { id: made!.id },
        body: { secret_access_key: service.secret },
      })
    ).status,
  ).toBe(200)
  const nowhere = await admin.call(storeUpdate, {
    params: { id: made!.id },
    body: { bucket: 'elsewhere' },
  })
  expect(nowhere.problem).toMatchObject({
    code: 'store_refused',
    error: expect.stringContaining('the bucket does not exist') as string,
  })
  const moved = await admin.call(storeUpdate, {
    params: { id: made!.id },
    body: { prefix: 'moved' },
  })
  expect(moved.answer).toMatchObject({ prefix: 'moved', access_key_id: 'test-key', problem: null })
  expect(
    (
      await admin.call(storeUpdate, {
        params: { id: made!.id },
        body: { prefix: 'steelyard/prod' },
      })
    ).status,
  ).toBe(200)
  await backend.publish()
  const { rows: audit } = await backend.platform.pool.query(
    `select * from audit_entry where action like 'store.%'`,
  )
  expect(JSON.stringify(audit)).not.toContain(service.secret)
})

test('a place in a bucket is the store of one name only, also if two are added at once', async () => {
  const body = s3Body(service, { name: 'place-one', prefix: 'place' })
  const added = await Promise.all(
    ['place-one', 'place-two'].map((name) => admin.call(storeCreate, { body: { ...body, name } })),
  )
  expect(added.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 422])
  const refusal = added.find(({ status }) => status === 422)!
  expect(refusal.problem!.fields).toEqual({
    prefix: expect.stringContaining('has this place already') as string,
  })
  const { answer: made } = added.find(({ status }) => status === 201)!
  const again = await admin.call(storeCreate, {
    body: { ...body, name: 'place-three', prefix: 'place/' },
  })
  expect(again.status).toBe(422)
  const { answer: other } = await admin.call(storeCreate, {
    body: { ...body, name: 'place-four', prefix: 'place/in-it' },
  })
  const moved = await admin.call(storeUpdate, {
    params: { id: other!.id },
    body: { prefix: 'place' },
  })
  expect(moved.status).toBe(422)
  for (const { id } of [made!, other!]) await admin.call(storeRemove, { params: { id } })
})

test('a name is used once, and a body of the wrong kind is refused with the field', async () => {
  const { problem } = await admin.call(storeCreate, { body: s3Body(service) })
  expect(problem).toMatchObject({ code: 'name_taken' })
  const mixed = await admin.call(storeCreate, { body: { ...s3Body(service), folder: '/x' } })
  expect(mixed.problem?.fields).toHaveProperty('folder')
  const half = await admin.call(storeCreate, {
    body: { name: 'half', kind: 's3', endpoint: service.url },
  })
  expect(Object.keys(half.problem?.fields ?? {})).toEqual(
    expect.arrayContaining(['bucket', 'region', 'access_key_id', 'secret_access_key']),
  )
  for (const endpoint of ['ftp://x', 'https://user:secret@x', 'https://x/path', 'https://x?y=1'])
    expect(
      (await admin.call(storeCreate, { body: s3Body(service, { name: 'url', endpoint }) })).problem
        ?.fields,
    ).toHaveProperty('endpoint')
})

test('an endpoint on this machine, at a metadata service, in a private network or over plain HTTP is refused unless the operator allows it', async () => {
  const strict = endpointPolicy([])
  const refused = (address: string, isEncrypted = true) => !strict.check(address, isEncrypted).ok
  expect(
    [
      '127.0.0.1',
      '::1',
      '169.254.169.254',
      '100.100.100.200',
      'fe80::1',
      '10.1.2.3',
      '192.168.0.9',
      '100.64.1.1',
      'fd00::1',
      '0.0.0.0',
      '::ffff:10.0.0.1',
      '010.0.0.1',
    ].filter((a) => !refused(a)),
  ).toEqual([])
  expect(refused('203.0.113.9')).toBe(false)
  expect(refused('203.0.113.9', false)).toBe(true)
  expect(endpointPolicy([parseCidr('10.1.2.0/24')!]).check('10.1.2.3', false).ok).toBe(true)
  const other = await startBackend({ beside: backend, environment: {} })
  const someone = await other.signIn()
  const before = service.requests()
  for (const endpoint of [
    service.url,
    service.url.replace('127.0.0.1', 'localhost'),
    'http://[::1]:9',
    'http://0x7f000001:9',
  ]) {
    const { problem } = await someone.call(storeCreate, {
      body: s3Body(service, { name: 'inside', endpoint, prefix: 'inside' }),
    })
    expect(problem).toMatchObject({
      code: 'store_refused',
      error: expect.stringContaining('STEELYARD_STORE_NETWORKS') as string,
    })
  }
  expect(service.requests()).toBe(before)
})

test('the source of an upload that fails at its first part is closed', async () => {
  let isClosed = false
  async function* source() {
    try {
      yield* pieces(large)
    } finally {
      isClosed = true
    }
  }
  service.trouble('refuses')
  await expect(inS3.put('a/b/closed', source(), signal)).rejects.toThrow(StoreError)
  expect(isClosed).toBe(true)
})

test('a large file is uploaded in parts and read back unchanged; the parts of an interrupted upload are removed', async () => {
  const broken = inS3.put(
    'big',
    (async function* () {
      yield large
      throw new Error('The source ended')
    })(),
    signal,
  )
  await expect(broken).rejects.toThrow('The source ended')
  expect([service.uploads.size, service.objects.has('a/b/big')]).toEqual([0, false])
  service.uploads.set('left', { key: 'a/b/big', parts: new Map() })
  expect(await inS3.put('big', pieces(large), signal)).toBe(large.length)
  expect(service.uploads.size).toBe(0)
  expect((await read(inS3, 'big')).equals(large)).toBe(true)
  await inS3.remove('big', signal)
  await inS3.remove('big', signal)
  await expect(read(inS3, 'big')).rejects.toMatchObject({ kind: 'missing' })
})

test('a service that lists uploads without end and does not cancel them holds nobody longer than the signal', async () => {
  for (let i = 0; i < 500; i++)
    service.uploads.set(`left-${i}`, { key: 'a/b/held', parts: new Map() })
  await inS3.remove('held', signal)
  expect(service.uploads.size).toBe(480)
  service.trouble('hangs-cancelling')
  const before = service.requests()
  const ended = new AbortController()
  const removed = inS3.remove('held', ended.signal)
  await expect.poll(() => service.requests()).toBe(before + 2)
  ended.abort(new Error('enough'))
  await expect(removed).rejects.toThrow('enough')
  service.uploads.clear()
})

test.each<[S3Trouble, string]>([
  ['refuses', 'the access key lacks a permission'],
  ['refuses-last-part', 'its quota is exceeded'],
  ['redirects', 'is not followed'],
])(
  'a service that %s fails the upload with the reason, and no part remains',
  async (trouble, sentence) => {
    service.trouble(trouble)
    await expect(inS3.put('big', pieces(large), signal)).rejects.toThrow(sentence)
    service.trouble(null)
    expect([service.uploads.size, service.objects.has('a/b/big')]).toEqual([0, false])
  },
)

test('a temporary refusal is retried, and a truncated response is not taken as the whole file', async () => {
  service.trouble('busy-once')
  await inS3.put('small', pieces(Buffer.from('x'.repeat(1000))), signal)
  service.trouble('cuts-answer')
  await expect(read(inS3, 'small')).rejects.toBeInstanceOf(StoreError)
})

test('the reason names a wrong bucket, region or secret', async () => {
  const put = (change: Partial<typeof settings>) =>
    s3Store({ ...settings, ...change }, policy).put('x', pieces(Buffer.from('x')), signal)
  await expect(put({ bucket: 'other' })).rejects.toThrow('the bucket does not exist')
  await expect(put({ secretAccessKey: 'x' })).rejects.toThrow('the secret access key is wrong')
  await expect(put({ endpoint: 'http://127.0.0.1:9' })).rejects.toThrow('refuses connections')
})

test('admins can read inside which folders a store may be, others cannot', async () => {
  expect((await admin.call(storeFolderList)).answer).toEqual({ folders: [folders] })
  expect((await viewer.call(storeFolderList)).status).toBe(403)
})
