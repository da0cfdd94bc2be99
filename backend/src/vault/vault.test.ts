import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { inTransaction } from '../db/db.ts'
import { startBackend } from '../testing/backend.ts'
import { freshDatabase } from '../testing/databases.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { decrypt, encrypt, SealBroken } from './cipher.ts'
import { openEscrow } from '../testing/escrow.ts'
import { addKey, checkFingerprint, KeyFileRefused, keysFor, readKeyFile } from './key-file.ts'
import { vault as makeVault } from './vault.ts'

const backend = await startBackend()
/** A database without any encrypted value. */
const empty = new Pool(await freshDatabase())
afterAll(() => empty.end())
const { db, vault } = backend.platform
const place = (owner: string) => ({ table: 'cluster', column: 'secrets', owner })
const seal = (owner: string, text: string, more: Partial<ReturnType<typeof place>> = {}) =>
  inTransaction(db, (tx) => vault.seal(tx, { ...place(owner), ...more, bytes: Buffer.from(text) }))

test('a text can be sealed and opened again, and each sealing gives another ciphertext', async () => {
  const [a, b] = [
    await seal('one', 'a secret of the cluster'),
    await seal('one', 'a secret of the cluster'),
  ]
  expect(Buffer.from(a).includes('secret')).toBe(false)
  expect(Buffer.from(a).equals(Buffer.from(b))).toBe(false)
  expect((await vault.open(db, { ...place('one'), sealed: a })).toString()).toBe(
    'a secret of the cluster',
  )
})

test('changing any bit of a sealed text is detected', async () => {
  const sealed = await seal('bits', 'short')
  for (let at = 0; at < sealed.length; at++) {
    const flipped = Buffer.from(sealed)
    flipped[at]! ^= 1
    await expect(
      vault.open(db, { ...place('bits'), sealed: flipped }),
      `byte ${at}`,
    ).rejects.toThrow(SealBroken)
  }
  await expect(
    vault.open(db, { ...place('bits'), sealed: sealed.subarray(0, 20) }),
  ).rejects.toThrow(SealBroken)
})

test("a sealed text moved to another row, column or table can't be opened", async () => {
  const sealed = await seal('here', 'x')
  await seal('there', 'y')
  for (const elsewhere of [
    place('there'),
    { ...place('here'), column: 'other' },
    { ...place('here'), table: 'other' },
  ]) {
    await expect(vault.open(db, { ...elsewhere, sealed })).rejects.toThrow(SealBroken)
  }
})

test('ten concurrent seals for a new owner use the same data key', async () => {
  const sealed = await Promise.all(Array.from({ length: 10 }, (_, i) => seal('crowd', String(i))))
  const texts = await Promise.all(
    sealed.map(async (s) => (await vault.open(db, { ...place('crowd'), sealed: s })).toString()),
  )
  expect(texts).toEqual(Array.from({ length: 10 }, (_, i) => String(i)))
  expect(
    await db.selectFrom('data_key').select('version').where('owner', '=', 'crowd').execute(),
  ).toHaveLength(1)
})

test('a hundred thousand nonces are all different', () => {
  const key = Buffer.alloc(32, 1)
  const nonces = new Set(
    Array.from({ length: 100_000 }, () =>
      encrypt(key, Buffer.alloc(0), '').subarray(0, 12).toString('latin1'),
    ),
  )
  expect(nonces.size).toBe(100_000)
})

test('the cipher authenticates the context', () => {
  const key = Buffer.alloc(32, 1)
  const sealed = encrypt(key, Buffer.from('x'), 'here')
  expect(decrypt(key, sealed, 'here').toString()).toBe('x')
  expect(() => decrypt(key, sealed, 'there')).toThrow(SealBroken)
  expect(() => decrypt(Buffer.alloc(32, 2), sealed, 'here')).toThrow(SealBroken)
})

test('the escrow file can be opened with the key file alone, and only the owner of the escrow file may read it', async () => {
  const file = await vault.escrow(
    '3b0f8a5e-0000-4000-8000-000000000001',
    Buffer.from('the whole bundle'),
  )
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700)
  const text = await readFile(file)
  expect(text.includes('bundle')).toBe(false)
  const keys = await readKeyFile(backend.config.keyFile)
  expect(openEscrow(keys, text)).toEqual({
    cluster: '3b0f8a5e-0000-4000-8000-000000000001',
    bytes: Buffer.from('the whole bundle'),
  })
  const renamed = text
    .toString()
    .replace('"3b0f8a5e-0000-4000-8000-000000000001"', '"3b0f8a5e-0000-4000-8000-000000000002"')
  expect(() => openEscrow(keys, Buffer.from(renamed))).toThrow(SealBroken)
})

test('a key file that is damaged or readable by others is refused', async () => {
  const file = path.join(temporaryFolder('key'), 'key')
  const made = await keysFor(empty, file)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await readKeyFile(file)).current.id).toBe(made.current.id)
  await chmod(file, 0o640)
  await expect(readKeyFile(file)).rejects.toThrow(KeyFileRefused)
  await chmod(file, 0o600)
  await writeFile(file, (await readFile(file, 'utf8')).replace(/[^=](?==*\n$)/, '!'))
  await expect(readKeyFile(file)).rejects.toThrow(KeyFileRefused)
  await writeFile(file, '')
  await expect(readKeyFile(file)).rejects.toThrow('holds no key')
})

test('a key is added to a file without a last line break, and a damaged file stays as it is', async () => {
  const file = path.join(temporaryFolder('keys'), 'key')
  const whole = await readFile(backend.config.keyFile, 'utf8')
  await writeFile(file, whole.trimEnd(), { mode: 0o600 })
  const old = await readKeyFile(file)
  const keys = await addKey(file)
  const after = await readKeyFile(file)
  expect(after.current.id).toBe(keys.current.id)
  expect(after.current.id).not.toBe(old.current.id)
  expect(after.get(old.current.id)).toEqual(old.current.key)
  await writeFile(file, whole.slice(0, -5))
  await expect(addKey(file)).rejects.toThrow(KeyFileRefused)
  expect(await readFile(file, 'utf8')).toBe(whole.slice(0, -5))
})

test('four processes that create the key file concurrently end up with one key', async () => {
  const folder = path.join(temporaryFolder('key'), 'new')
  await mkdir(folder)
  const ids = (
    await Promise.all(Array.from({ length: 4 }, () => keysFor(empty, path.join(folder, 'key'))))
  ).map((k) => k.current.id)
  expect(new Set(ids).size).toBe(1)
})

test('the key file of another database is refused', async () => {
  const own = await startBackend()
  const other = path.join(temporaryFolder('key'), 'key')
  const keys = await keysFor(empty, other)
  await expect(keysFor(own.platform.pool, other)).rejects.toThrow(
    /not the key file of this database/,
  )
  await expect(checkFingerprint(own.platform.db, keys, other)).rejects.toThrow(
    /not the key file of this database/,
  )
  await checkFingerprint(own.platform.db, await readKeyFile(own.config.keyFile), own.config.keyFile)
})

test('if the database has sealed values, a missing key file is not created, and the error names the required key', async () => {
  const own = await startBackend()
  const { id } = (await readKeyFile(own.config.keyFile)).current
  const moved = `${own.config.keyFile}.moved`
  await rename(own.config.keyFile, moved)
  await expect(keysFor(own.platform.pool, own.config.keyFile)).rejects.toThrow(
    new RegExp(
      `^There is no key file at ${own.config.keyFile}, and this database was sealed with key ${id}\\. .* Put your copy of the file with that key there.*STEELYARD_KEY_FILE`,
    ),
  )
  await expect(stat(own.config.keyFile)).rejects.toThrow('ENOENT')
  expect((await keysFor(own.platform.pool, moved)).current.id).toBe(id)
})

test("an escrow file that can't be written is reported with its path and the reason", async () => {
  const folder = path.join(temporaryFolder('escrow'), 'escrow')
  await writeFile(folder, 'a file where the folder should be')
  const blocked = makeVault({
    keys: await readKeyFile(backend.config.keyFile),
    escrowFolder: folder,
  })
  await expect(
    blocked.escrow('3b0f8a5e-0000-4000-8000-000000000001', Buffer.from('secrets')),
  ).rejects.toThrow(
    `The escrow file ${folder}/3b0f8a5e-0000-4000-8000-000000000001.bin can't be written: a file is in the way`,
  )
})

test('a key rotation can be interrupted and continued at any point, and every secret stays readable', async () => {
  const own = await startBackend()
  const { db: database } = own.platform
  const first = own.platform.vault
  const secrets = new Map<string, Uint8Array>()
  for (let i = 0; i < 130; i++)
    secrets.set(
      `cluster-${i}`,
      await inTransaction(database, (tx) =>
        first.seal(tx, { ...place(`cluster-${i}`), bytes: Buffer.from(`secret ${i}`) }),
      ),
    )
  const old = await readKeyFile(own.config.keyFile)
  const keys = await addKey(own.config.keyFile)
  expect(keys.current.id).not.toBe(old.current.id)
  await checkFingerprint(database, keys, own.config.keyFile)
  const rotated = makeVault({ keys, escrowFolder: '/nonexistent' })
  const readable = async (by: typeof first) => {
    for (const [owner, sealed] of secrets)
      expect((await by.open(database, { ...place(owner), sealed })).toString()).toBe(
        `secret ${owner.split('-')[1]}`,
      )
  }
  await readable(rotated)
  // Stopped after the first batch, so both keys are in use.
  let calls = 0
  const once = new Proxy(database, {
    get: (target, name: keyof typeof database) => {
      if (name === 'transaction' && calls++ > 0) throw new Error('killed')
      const value = target[name] as unknown
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const halfway = rotated.rotate(once)
  await expect(halfway).rejects.toThrow('killed')
  const wrappedBy = async (id: string) =>
    (await database.selectFrom('data_key').select('owner').where('wrapping_key', '=', id).execute())
      .length
  expect(await wrappedBy(keys.current.id)).toBe(100)
  await readable(rotated)
  expect(await rotated.rotate(database)).toBeGreaterThanOrEqual(30)
  expect(await wrappedBy(old.current.id)).toBe(0)
  expect(await rotated.rotate(database)).toBe(0)
  // The old key can be removed now.
  const onlyNew = makeVault({
    keys: {
      current: keys.current,
      get: (id) => (id === keys.current.id ? keys.current.key : undefined),
    },
    escrowFolder: '/nonexistent',
  })
  await readable(onlyNew)
})
