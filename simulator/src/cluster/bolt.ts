/**
 * Writes a database file of bbolt, the store behind etcd, in one go: two meta pages, an empty free
 * list, and a B+ tree of pages for each bucket. Source: go.etcd.io/bbolt `internal/common/page.go`,
 * `meta.go`, `bucket.go`, `inode.go` (file format version 2, little endian).
 */
export type Entries = readonly (readonly [key: Buffer, value: Buffer])[]

const PAGE_BYTES = 4096
const HEADER_BYTES = 16
const ELEMENT_BYTES = 16
const MAGIC = 0xed_0c_da_ed
const FORMAT_VERSION = 2
const FLAG = { branch: 0x01, leaf: 0x02, meta: 0x04, freelist: 0x10 }
/** Marks an element whose value is a bucket. */
const BUCKET = 1
const FREELIST_PAGE = 2
const FIRST_PAGE = 3
/**
 * Offset of the checksum: after magic, version, page size, flags, root bucket, free list, high
 * water mark and transaction.
 */
const CHECKSUM_AT = 56

/** A written page (or several if its content is too large) and its first key. */
interface Written {
  page: number
  key: Buffer
}

interface Element {
  key: Buffer
  value: Buffer
  /** Whether a leaf's element is a bucket. */
  isBucket: boolean
  child: number
}

/** Writes a database with these buckets. Keys must not be empty; they are sorted here. */
export const boltDatabase = (buckets: Readonly<Record<string, Entries>>): Buffer => {
  const pages = new Pages()
  const roots = Object.entries(buckets).map(([name, entries]): [Buffer, Buffer] => [
    Buffer.from(name),
    bucketHead(pages.tree(leaves(entries, false))),
  ])
  const root = pages.tree(leaves(roots, true))
  return Buffer.concat([
    meta(0, root, pages.next),
    meta(1, root, pages.next),
    page(FREELIST_PAGE, FLAG.freelist, []),
    ...pages.written,
  ])
}

const leaves = (entries: Entries, isBucket: boolean): Element[] =>
  entries
    .map(([key, value]) => ({ key, value, isBucket, child: 0 }))
    .toSorted((one, other) => Buffer.compare(one.key, other.key))

/** The value of a bucket: the page of its root, and its sequence, which etcd doesn't use. */
const bucketHead = (root: number): Buffer => {
  const head = Buffer.alloc(16)
  head.writeBigUInt64LE(BigInt(root))
  return head
}

class Pages {
  readonly written: Buffer[] = []
  next = FIRST_PAGE

  /** Writes a tree from its leaves up and returns the page number of its root. */
  tree(elements: Element[]): number {
    let level = this.#level(FLAG.leaf, elements)
    while (level.length > 1)
      level = this.#level(
        FLAG.branch,
        level.map(({ page: child, key }) => ({
          key,
          value: Buffer.alloc(0),
          isBucket: false,
          child,
        })),
      )
    return level[0]!.page
  }

  #level(flag: number, elements: Element[]): Written[] {
    const groups: Element[][] = [[]]
    let used = HEADER_BYTES
    for (const element of elements) {
      const size = ELEMENT_BYTES + element.key.length + element.value.length
      // A branch has at least two children: otherwise a level could have as many pages as the level
      // below, and the loop would never end.
      const least = flag === FLAG.branch ? 2 : 1
      if (used + size > PAGE_BYTES && groups.at(-1)!.length >= least) {
        groups.push([])
        used = HEADER_BYTES
      }
      groups.at(-1)!.push(element)
      used += size
    }
    return groups.map((group) => {
      const number = this.next
      const bytes = page(number, flag, group)
      this.written.push(bytes)
      this.next += bytes.length / PAGE_BYTES
      return { page: number, key: group[0]?.key ?? Buffer.alloc(0) }
    })
  }
}

/**
 * Writes a page: its elements, then their keys and values. A large page overflows into the
 * following ones.
 */
const page = (number: number, flag: number, elements: readonly Element[]): Buffer => {
  const content = elements.reduce(
    (sum, { key, value }) => sum + ELEMENT_BYTES + key.length + value.length,
    HEADER_BYTES,
  )
  const count = Math.ceil(content / PAGE_BYTES)
  const bytes = Buffer.alloc(count * PAGE_BYTES)
  bytes.writeBigUInt64LE(BigInt(number), 0)
  bytes.writeUInt16LE(flag, 8)
  bytes.writeUInt16LE(elements.length, 10)
  bytes.writeUInt32LE(count - 1, 12)
  let at = HEADER_BYTES
  let data = HEADER_BYTES + elements.length * ELEMENT_BYTES
  for (const { key, value, isBucket, child } of elements) {
    // The position of a key is relative to its own element.
    const words =
      flag === FLAG.branch
        ? [data - at, key.length]
        : [isBucket ? BUCKET : 0, data - at, key.length, value.length]
    words.forEach((word, i) => bytes.writeUInt32LE(word, at + i * 4))
    if (flag === FLAG.branch) bytes.writeBigUInt64LE(BigInt(child), at + 8)
    at += ELEMENT_BYTES
    data += key.copy(bytes, data)
    data += value.copy(bytes, data)
  }
  return bytes
}

const meta = (number: number, root: number, highWaterMark: number): Buffer => {
  const bytes = page(number, FLAG.meta, [])
  const body = bytes.subarray(HEADER_BYTES)
  ;[MAGIC, FORMAT_VERSION, PAGE_BYTES, 0].forEach((word, i) => body.writeUInt32LE(word, i * 4))
  // Root bucket and its sequence, free list, high water mark, transaction. Readers use the meta
  // page with the higher transaction.
  ;[root, 0, FREELIST_PAGE, highWaterMark, number].forEach((word, i) =>
    body.writeBigUInt64LE(BigInt(word), 16 + i * 8),
  )
  body.writeBigUInt64LE(fnv1a(body.subarray(0, CHECKSUM_AT)), CHECKSUM_AT)
  return bytes
}

/** FNV-1a of 64 bits. */
const fnv1a = (bytes: Uint8Array): bigint => {
  let hash = 0xcb_f2_9c_e4_84_22_23_25n
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x1_00_00_00_01_b3n)
  return hash
}
