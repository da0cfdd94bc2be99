/**
 * Reads the buckets of a database file of bbolt. Source: go.etcd.io/bbolt `db.go`,
 * `internal/common/page.go`, `meta.go`, `inode.go`, `bucket.go`. Unlike bbolt's own check, it
 * visits only the pages of the buckets.
 */
const HEADER_BYTES = 16
const ELEMENT_BYTES = 16
const MAGIC = 0xed_0c_da_ed
const FORMAT_VERSION = 2
const FLAG = { branch: 0x01, leaf: 0x02 }
const BUCKET = 1
const LEAST_BYTES = 4096 * 4
const MOST_DEPTH = 32

/** The file isn't a whole database. The message is bbolt's. */
export class BoltError extends Error {
  override name = 'BoltError'
}

type Entry = readonly [key: Buffer, value: Buffer]

/** The entries of each bucket of the root. Throws `BoltError` for a damaged file. */
export const readBolt = (file: Buffer): ReadonlyMap<string, Entry[]> => {
  if (file.length < LEAST_BYTES) throw new BoltError('file size too small')
  const { pageBytes, root } = newestMeta(file)
  const pages = new Pages(file, pageBytes)
  return new Map(
    pages.elements(root).map(({ flags, key, value }) => {
      if (flags !== BUCKET || value.length < HEADER_BYTES) throw new BoltError('invalid database')
      const page = Number(value.readBigUInt64LE())
      // A small bucket is a page inside of its value.
      const elements =
        page === 0 ? pages.inside(value.subarray(HEADER_BYTES)) : pages.elements(page)
      return [key.toString('utf8'), elements.map((element): Entry => [element.key, element.value])]
    }),
  )
}

const newestMeta = (file: Buffer): { pageBytes: number; root: number } => {
  const metas = [0, 1].flatMap((number) => {
    const pageBytes = file.readUInt32LE(HEADER_BYTES + 8)
    const at = number * pageBytes + HEADER_BYTES
    if (
      at + 64 > file.length ||
      file.readUInt32LE(at) !== MAGIC ||
      file.readUInt32LE(at + 4) !== FORMAT_VERSION
    )
      return []
    return [
      {
        pageBytes: file.readUInt32LE(at + 8),
        root: Number(file.readBigUInt64LE(at + 16)),
        transaction: file.readBigUInt64LE(at + 48),
      },
    ]
  })
  const [newest] = metas.toSorted((one, other) => (one.transaction > other.transaction ? -1 : 1))
  if (!newest || newest.pageBytes < 512) throw new BoltError('invalid database')
  return newest
}

interface Element {
  flags: number
  key: Buffer
  value: Buffer
}

class Pages {
  readonly #file: Buffer
  readonly #pageBytes: number

  constructor(file: Buffer, pageBytes: number) {
    this.#file = file
    this.#pageBytes = pageBytes
  }

  /** The elements of all leaves below a page. */
  elements(number: number, depth = 0): Element[] {
    const at = number * this.#pageBytes
    if (
      at + HEADER_BYTES > this.#file.length ||
      depth > MOST_DEPTH ||
      Number(this.#file.readBigUInt64LE(at)) !== number
    )
      throw new BoltError(`page ${number}: unreachable unfreed`)
    const overflow = this.#file.readUInt32LE(at + 12)
    const end = at + (overflow + 1) * this.#pageBytes
    if (end > this.#file.length)
      throw new BoltError(
        `page ${number}: out of bounds: ${Math.floor(this.#file.length / this.#pageBytes)}`,
      )
    return this.#within(this.#file.subarray(at, end), depth)
  }

  inside(page: Buffer): Element[] {
    return this.#within(page, MOST_DEPTH)
  }

  #within(page: Buffer, depth: number): Element[] {
    const flag = page.readUInt16LE(8)
    const count = page.readUInt16LE(10)
    if (flag !== FLAG.branch && flag !== FLAG.leaf) throw new BoltError('invalid database')
    return Array.from({ length: count }, (_, i) => HEADER_BYTES + i * ELEMENT_BYTES).flatMap(
      (at) => {
        if (flag === FLAG.branch)
          return this.elements(Number(page.readBigUInt64LE(at + 8)), depth + 1)
        const [flags, position, keyBytes, valueBytes] = [0, 4, 8, 12].map((offset) =>
          page.readUInt32LE(at + offset),
        ) as [number, number, number, number]
        const start = at + position
        if (start + keyBytes + valueBytes > page.length) throw new BoltError('invalid database')
        return [
          {
            flags,
            key: page.subarray(start, start + keyBytes),
            value: page.subarray(start + keyBytes, start + keyBytes + valueBytes),
          },
        ]
      },
    )
  }
}
