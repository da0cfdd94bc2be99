import { expect, test } from 'vitest'
import { hash } from '@node-rs/argon2'
import { setWork } from '../../testing/work.ts'
import { hashNow, nobodysHash, verifyPassword } from './password.ts'

setWork('full')

test('a hash is argon2id in the PHC format, with a new salt each time', async () => {
  const [a, b] = await Promise.all([
    hashNow('correct horse battery'),
    hashNow('correct horse battery'),
  ])
  expect(a).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(a).not.toBe(b)
  expect(await verifyPassword('correct horse battery', a)).toEqual({ right: true, outdated: false })
  expect(await verifyPassword('correct horse batterY', a)).toEqual({
    right: false,
    outdated: false,
  })
})

test('a hash of the reference implementation is accepted', async () => {
  // argon2 "somesalt" -id -t 2 -m 16 -p 1 -l 32, of the reference implementation's test vectors
  // (src/test.c).
  const vector =
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
  expect((await verifyPassword('password', vector)).right).toBe(true)
})

test('a hash with weaker parameters is accepted and marked as outdated', async () => {
  const weak =
    '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
  expect(await verifyPassword('password', weak)).toEqual({ right: true, outdated: true })
})

test('no password matches a hash that needs more work than any of Steelyard', async () => {
  for (const more of [
    { memoryCost: 65_537 },
    { memoryCost: 256, timeCost: 11 },
    { memoryCost: 256, parallelism: 5 },
  ]) {
    const made = await hash('password', { timeCost: 1, parallelism: 1, ...more })
    expect(await verifyPassword('password', made)).toEqual({ right: false, outdated: false })
  }
})

test('no password matches an invalid hash or the placeholder hash for unknown users', async () => {
  expect((await verifyPassword('', nobodysHash())).right).toBe(false)
  // The placeholder has the parameters of a real hash, so an unknown email takes as long as a wrong
  // password.
  expect(nobodysHash().split('$').slice(0, 4)).toEqual((await hashNow('x')).split('$').slice(0, 4))
  expect(await verifyPassword('x', 'plain text')).toEqual({ right: false, outdated: false })
})

test('passwords are hashed off the main thread', async () => {
  const hashes = 16
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await Promise.all(Array.from({ length: hashes }, () => hashNow('correct horse battery')))
  clearInterval(timer)
  // Each hash takes many milliseconds. On the main thread the timer would run at most once between
  // two of them. Processor time isn't compared, because that of this thread includes the test
  // runner's own work, which was half of that of the hashes on a busy machine.
  expect(turns).toBeGreaterThan(hashes)
})
