import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isFree } from '../processes.ts'
import { blockOfServers, portOfDemo, reserveBlock } from './places.ts'

const folder = mkdtempSync(join(tmpdir(), 'sy-places-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string) => join(folder, name)
/** Looks as if these were in use. */
const inUse =
  (...taken: string[]) =>
  (port: number, host = '127.0.0.1') =>
    Promise.resolve(!taken.includes(`${host}:${port}`))

const reserved = () => Promise.resolve(true)

test('a demo takes the first blocks of addresses at which no other simulator listens, and keeps them', async () => {
  const at = (name: string, ...taken: string[]) =>
    blockOfServers(file(name), inUse(...taken), reserved)
  expect(await at('one')).toBe(0)
  expect(await at('two', '127.20.1.1:50000', '127.20.2.1:50000')).toBe(2)
  // The second of two blocks is taken.
  expect(await at('three', '127.20.2.1:50000', '127.20.3.1:50000')).toBe(4)
  // Also while others listen there: the disks of the simulated servers belong to their addresses.
  expect(await at('one', '127.20.1.1:50000')).toBe(0)
})

test('where no address of the simulator can be used, the first blocks are taken, and the simulator says why', async () => {
  expect(await blockOfServers(file('none'), () => Promise.resolve(false), reserved)).toBe(0)
})

test('of two demos that start at the same time, each has blocks of its own', async () => {
  const [one, two] = await Promise.all([blockOfServers(file('a')), blockOfServers(file('b'))])
  expect(new Set([one, one + 1, two, two + 1]).size).toBe(4)
  expect(
    await Promise.all([reserveBlock(`127.20.${one + 1}`), reserveBlock(`127.20.${two + 2}`)]),
  ).toEqual([false, false])
})

test('a demo takes the first free port from 8080 on, and its last one at the next start', async () => {
  expect(await portOfDemo(file('first'), 0, inUse())).toBe(8080)
  expect(await portOfDemo(file('second'), 2, inUse())).toBe(8081)
  expect(await portOfDemo(file('third'), 0, inUse('127.0.0.1:8080', '127.0.0.1:8081'))).toBe(8082)
  expect(await portOfDemo(file('third'), 0, inUse())).toBe(8082)
  expect(await portOfDemo(file('third'), 0, inUse('127.0.0.1:8082'))).toBe(8080)
  await expect(portOfDemo(file('no port'), 0, () => Promise.resolve(false))).rejects.toThrow(
    'Set PORT to another one',
  )
})

test('a port at which a process listens is not free', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  expect(await isFree(port)).toBe(false)
  await new Promise((resolve) => server.close(resolve))
  expect(await isFree(port)).toBe(true)
})
