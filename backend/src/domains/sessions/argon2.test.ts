import crypto, { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { argon2idBy } from './argon2.ts'

const [byNode, byLibrary] = [argon2idBy(crypto.argon2), argon2idBy(undefined)]

test.each([
  ['a password', 'correct horse battery', { memory: 19_456, passes: 2, parallelism: 1 }],
  ['letters of more than one byte, never normalized', 'Ångström e\u0301 \u{1f511} žluťoučký', { memory: 256, passes: 2, parallelism: 1 }],
  ['the longest password', 'x'.repeat(128), { memory: 256, passes: 1, parallelism: 1 }],
  ['other parameters', 'correct horse battery', { memory: 512, passes: 3, parallelism: 2 }],
])('the library gives the hash that Node gives: %s', async (_what, password, parameters) => {
  const salt = randomBytes(16)
  const [mine, theirs] = await Promise.all([byLibrary(password, salt, parameters), byNode(password, salt, parameters)])
  expect(Buffer.from(mine).toString('hex')).toBe(Buffer.from(theirs).toString('hex'))
})

test('the library makes the hash of the reference implementation', async () => {
  // argon2 "somesalt" -id -t 2 -m 16 -p 1 -l 32, of the reference implementation's test vectors (src/test.c).
  const tag = await byLibrary('password', Buffer.from('somesalt'), { memory: 65_536, passes: 2, parallelism: 1 })
  expect(Buffer.from(tag).toString('base64')).toBe('CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc=')
})

test('the library hashes beside the main thread, several at once, and goes on after a refusal', async () => {
  const p = { memory: 19_456, passes: 2, parallelism: 1 }
  const hashing = Promise.all(Array.from({ length: 4 }, () => byLibrary('password', Buffer.alloc(16), p)))
  const before = process.threadCpuUsage()
  const tags = await hashing
  const { user, system } = process.threadCpuUsage(before)
  // One of these hashes takes a processor some 55 ms.
  expect((user + system) / 1000).toBeLessThan(100)
  expect(new Set(tags.map((tag) => Buffer.from(tag).toString('hex'))).size).toBe(1)
  await expect(byLibrary('password', Buffer.alloc(2), p)).rejects.toThrow('Salt')
  expect(await byLibrary('password', Buffer.alloc(16), p)).toEqual(tags[0])
})
