import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { aServer, id } from '../testing/things.ts'
import { matcher, orderRenames } from './servers.ts'

const rename = (from: string, to: string) => ({ id: `id of ${from}`, from, to })
const temporary = ({ from }: { from: string }) => `moving-${from}`
const texts = (renames: ReturnType<typeof orderRenames>) =>
  renames.map(({ from, to }) => `${from} → ${to}`)

test('a server whose new name is free goes first', () => {
  expect(
    texts(orderRenames([rename('a', 'b'), rename('b', 'c'), rename('x', 'y')], temporary)),
  ).toEqual(['b → c', 'a → b', 'x → y'])
})

test('of servers that exchange their names, one gets a temporary name first', () => {
  expect(
    texts(orderRenames([rename('a', 'b'), rename('b', 'c'), rename('c', 'a')], temporary)),
  ).toEqual(['a → moving-a', 'c → a', 'b → c', 'moving-a → b'])
})

test('in any order of renames, no server gets a name that another one has, and all get theirs', () => {
  const permutation = fc.integer({ min: 2, max: 12 }).chain((size) => {
    const names = Array.from({ length: size }, (_, i) => `n${i}`)
    return fc.tuple(
      fc.constant(names),
      fc.shuffledSubarray([...names, 'free-1', 'free-2'], { minLength: size, maxLength: size }),
    )
  })
  fc.assert(
    fc.property(permutation, ([names, wanted]) => {
      const now = new Map(names.map((name) => [`id of ${name}`, name]))
      const renames = names.flatMap((name, i) =>
        name === wanted[i] ? [] : [rename(name, wanted[i]!)],
      )
      for (const { id, from, to } of orderRenames(renames, temporary)) {
        expect(now.get(id)).toBe(from)
        expect([...now.values()]).not.toContain(to)
        now.set(id, to)
      }
      expect([...now.values()]).toEqual(wanted)
    }),
  )
})

const server = (n: number, serial: string, uuid = id(90 + n)) =>
  aServer({
    id: id(n),
    identity: {
      state: 'confirmed',
      uuid,
      serial,
      fingerprint: null,
      since: '2026-11-20T08:00:00.000Z',
      note: null,
    },
  })

test('servers are matched by UUID in any case, or by a serial number that only one server has', () => {
  const servers = [server(1, 'S-1'), server(2, 'none'), server(3, 'none')]
  const match = matcher(servers)
  expect(match({ uuid: id(91).toUpperCase() })).toEqual({ server: servers[0] })
  expect(match({ serial: 'S-1' })).toEqual({ server: servers[0] })
  expect(match({ serial: 'none' })).toMatchObject({
    field: 'serial',
    problem: expect.stringContaining('2 servers') as string,
  })
  expect(match({ uuid: id(92), serial: 'none' })).toEqual({ server: servers[1] })
  expect(match({ uuid: id(91), serial: 'S-2' })).toMatchObject({
    problem: expect.stringContaining('S-1') as string,
  })
  expect(match({ uuid: id(99) })).toMatchObject({
    waiting: expect.stringContaining('is registered yet') as string,
  })
})

test('servers that share a UUID are matched by their serial numbers, and others not at all', () => {
  const zeros = '00000000-0000-0000-0000-000000000000'
  const servers = ['S-1', 'S-2', '', ''].map((serial, n) => server(n, serial, zeros))
  const match = matcher(servers)
  expect(match({ uuid: zeros, serial: 'S-1' })).toEqual({ server: servers[0] })
  expect(match({ uuid: zeros, serial: 'S-2' })).toEqual({ server: servers[1] })
  expect(match({ uuid: zeros, serial: 'S-3' })).toHaveProperty('waiting')
  expect(match({ uuid: zeros })).toMatchObject({ field: 'uuid' })
  expect(match({ uuid: zeros, serial: '' })).toMatchObject({ field: 'serial' })
})
