import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { cluster, fleet, openSecure, rack } from '../testing/fleet.ts'
import { boltDatabase, type Entries } from './bolt.ts'

const PAGE_BYTES = 4096

/** Reads a bbolt file from its newer meta page. Fails if a page is referenced twice. */
const readDatabase = (file: Buffer): Record<string, [key: Buffer, value: Buffer][]> => {
  const met = new Set<number>()
  const walk = (number: number): { flags: number; key: Buffer; value: Buffer }[] => {
    expect(met.has(number)).toBe(false)
    met.add(number)
    const at = number * PAGE_BYTES
    expect(Number(file.readBigUInt64LE(at))).toBe(number)
    const flag = file.readUInt16LE(at + 8)
    return Array.from({ length: file.readUInt16LE(at + 10) }, (_, i) => at + 16 + i * 16).flatMap(
      (element) => {
        if (flag === 1) return walk(Number(file.readBigUInt64LE(element + 8)))
        const [flags, position, keyBytes, valueBytes] = [0, 4, 8, 12].map((offset) =>
          file.readUInt32LE(element + offset),
        ) as [number, number, number, number]
        const key = file.subarray(element + position, element + position + keyBytes)
        return {
          flags,
          key,
          value: file.subarray(
            element + position + keyBytes,
            element + position + keyBytes + valueBytes,
          ),
        }
      },
    )
  }
  const meta = PAGE_BYTES + 16
  expect(file.readUInt32LE(meta)).toBe(0xed_0c_da_ed)
  const root = walk(Number(file.readBigUInt64LE(meta + 16)))
  return Object.fromEntries(
    root.map(({ flags, key, value }) => {
      expect(flags).toBe(1)
      return [
        key.toString(),
        walk(Number(value.readBigUInt64LE())).map((entry): [Buffer, Buffer] => [
          entry.key,
          entry.value,
        ]),
      ]
    }),
  )
}

test('a large database has its entries sorted, on several pages and tree levels', () => {
  const entries: Entries = Array.from({ length: 20_000 }, (_, i) => [
    Buffer.from(`key-${(i * 7919) % 20_000}`),
    Buffer.alloc(i % 1000 === 0 ? 20_000 : i % 90, 1),
  ])
  const read = readDatabase(
    boltDatabase({ empty: [], key: entries, one: [[Buffer.from('a'), Buffer.from('b')]] }),
  )
  expect(Object.keys(read)).toEqual(['empty', 'key', 'one'])
  expect(read.empty).toEqual([])
  expect(read.one).toEqual([[Buffer.from('a'), Buffer.from('b')]])
  expect(read.key).toEqual(entries.toSorted(([one], [other]) => Buffer.compare(one, other)))
})

test('a snapshot is an etcd database followed by its checksum', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const file = Buffer.concat(
    await Array.fromAsync((await openSecure(controlPlanes[0]!, bundle)).etcdSnapshot()),
  )
  expect(file.length % 512).toBe(32)
  const database = file.subarray(0, -32)
  expect(file.subarray(-32)).toEqual(createHash('sha256').update(database).digest())
  const read = readDatabase(database)
  const { state } = controlPlanes[0]!.etcdCluster!
  expect(
    Object.fromEntries(
      read.meta!.map(([key, value]) => [
        key.toString(),
        value.length === 8 ? Number(value.readBigUInt64BE()) : value.toString(),
      ]),
    ),
  ).toEqual({
    confState: `{"voters":[${BigInt(`0x${state.members[0]!.id}`)}],"learners":[],"auto_leave":false}`,
    consistent_index: expect.any(Number) as number,
    storageVersion: '3.6.0',
    term: state.term,
  })
  expect(read.members!.map(([key]) => key.toString())).toEqual([state.members[0]!.id])
  expect(
    read.key!.some(([, value]) =>
      value.includes(`/registry/minions/${controlPlanes[0]!.hostname}`),
    ),
  ).toBe(true)
})
