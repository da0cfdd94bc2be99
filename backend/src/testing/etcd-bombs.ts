/** Files that begin like snapshots of etcd and cost a careless reader much. */
import { createHash } from 'node:crypto'
import { boltDatabase } from '#simulator/src/cluster/bolt.ts'

const pageBytes = 4096
const headBytes = 16
const elementBytes = 16

const hashed = (database: Buffer): Buffer =>
  Buffer.concat([database, createHash('sha256').update(database).digest()])
const begin = (): Buffer => boltDatabase({}).subarray(0, 3 * pageBytes)

function pageHead(
  bytes: Buffer,
  at: number,
  { number, count, overflow }: { number: number; count: number; overflow: number },
): void {
  bytes.writeBigUInt64LE(BigInt(number), at)
  bytes.writeUInt16LE(2, at + 8)
  bytes.writeUInt16LE(count, at + 10)
  bytes.writeUInt32LE(overflow, at + 12)
}

/**
 * A page whose elements are all the same bucket, which lies inside of it; that bucket's elements
 * are all the same bucket again, and so on. A reader that follows them reads `count` to the power
 * of `levels` pages. The file has 131 KB.
 */
export function nestedBuckets({ levels = 8, count = 64 } = {}): Buffer {
  const pages = 28
  const bytes = Buffer.alloc(pages * pageBytes)
  pageHead(bytes, 0, { number: 3, count, overflow: pages - 1 })
  const level = headBytes + count * elementBytes
  for (let deep = 0, at = 0; deep < levels; deep++) {
    // The bucket of the next level: a head of 16 bytes whose page number is 0, then its page.
    const bucket = at + level
    for (let i = 0; i < count; i++) {
      const element = at + headBytes + i * elementBytes
      const value = deep === levels - 1 ? 0 : bytes.length - bucket
      ;[deep === levels - 1 ? 0 : 1, bucket - element, 0, value].forEach((word, n) =>
        bytes.writeUInt32LE(word, element + n * 4),
      )
    }
    if (deep < levels - 1) pageHead(bytes, bucket + headBytes, { number: 0, count, overflow: 0 })
    at = bucket + headBytes
  }
  return hashed(Buffer.concat([begin(), bytes]))
}

/**
 * Every page claims to continue over all that follow, and has the namespace whose UID a reader
 * looks for in all of them.
 */
export function overlappingPages({ pages = 2_000 } = {}): Buffer {
  const name = Buffer.from('/registry/namespaces/kube-system')
  const bytes = Buffer.alloc(pages * pageBytes, 'x')
  for (let i = 0; i < pages; i++) {
    const at = i * pageBytes
    pageHead(bytes, at, { number: 3 + i, count: 1, overflow: pages - 1 - i })
    const key = Buffer.alloc(17)
    key.writeBigUInt64BE(1n)
    key[8] = 0x5f
    const value = headBytes + elementBytes + key.length
    ;[0, elementBytes, key.length, bytes.length - at - value].forEach((word, n) =>
      bytes.writeUInt32LE(word, at + headBytes + n * 4),
    )
    Buffer.concat([key, Buffer.from([0x0a, name.length]), name]).copy(
      bytes,
      at + headBytes + elementBytes,
    )
  }
  return hashed(Buffer.concat([begin(), bytes]))
}
