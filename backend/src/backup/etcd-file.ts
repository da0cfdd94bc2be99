/**
 * Reads the identity and the version of an etcd snapshot from a stream, so that the whole file is never in memory. The file is a bbolt database followed by the
 * SHA-256 of the database (etcd `client/v3/snapshot/v3_snapshot.go`, `hasChecksum`). Format: bbolt `internal/common/page.go`, `meta.go`, `inode.go`.
 *
 * Every page marked as a leaf is read, also pages that bbolt has freed. Those have older content, so the highest revision and version are used.
 */
import { createHash } from 'node:crypto'
import { type SecretSample, sampleOf } from './encrypted-secret.ts'
import { BackupRefused } from './sealed.ts'

export interface EtcdFile {
  /** Size of the whole file: the database and its checksum. */
  readonly sizeBytes: number
  /** SHA-256 of the whole file, hex. */
  readonly sha256: string
  /** Highest revision of a key; null if there is no key. */
  readonly revision: number | null
  /** Storage version, such as `3.6.0`. etcd before 3.6 stores only the version of the cluster. */
  readonly version: string | null
  /** UID of the namespace kube-system; null if the database isn't that of a Kubernetes cluster. */
  readonly identity: string | null
  /** The beginning of the newest encrypted Secret of each provider; empty if no Secret is encrypted. */
  readonly encryption: readonly SecretSample[]
}

const hashBytes = 32
const magic = 0xed_0c_da_ed
const pageHead = 16
const elementBytes = 16
const leafFlag = 0x02
const bucketFlag = 1
const metaChecksumAt = pageHead + 56
/** etcd's largest request is 1.5 MiB by default, so no valid page continues over more pages than this. */
const mostOverflow = 1024
const secrets = Buffer.from('/registry/secrets/')
const kubeSystem = Buffer.from('/registry/namespaces/kube-system')
const uuidPattern = /(?:"uid":"|\x2a\x24)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/

const compare = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

/** 64-bit FNV-1a, the checksum of a meta page. */
function fnv1a(bytes: Uint8Array): bigint {
  let hash = 0xcb_f2_9c_e4_84_22_23_25n
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x1_00_00_00_01_b3n)
  return hash
}

/** The number of a varint (protobuf), and the offset behind it. */
function varint(bytes: Buffer, from: number): { value: number; next: number } {
  let value = 0
  let at = from
  for (let factor = 1; at < bytes.length && at < from + 8; factor *= 128) {
    const byte = bytes[at++]!
    value += (byte & 0x7f) * factor
    if (byte < 0x80) break
  }
  return { value, next: at }
}

/** The value (field 5) of a `mvccpb.KeyValue`. */
function valueOf(bytes: Buffer, from: number, end: number): Buffer {
  for (let at = from; at < end;) {
    const tag = bytes[at]!
    const { value, next } = varint(bytes, at + 1)
    const isText = (tag & 7) === 2
    if (isText && tag >>> 3 === 5) return bytes.subarray(next, Math.min(end, next + value))
    at = isText ? next + value : next
  }
  return Buffer.alloc(0)
}

class Facts {
  revision: number | null = null
  version: string | null = null
  identity: string | null = null
  readonly #samples = new Map<string, { revision: number; sample: SecretSample }>()

  get encryption(): SecretSample[] {
    return [...this.#samples.values()].map(({ sample }) => sample)
  }

  /** @param at offset of the page in `bytes` */
  leaf(bytes: Buffer, at: number): void {
    const count = bytes.readUInt16LE(at + 10)
    for (let i = 0; i < count; i++) {
      const element = at + pageHead + i * elementBytes
      if (element + elementBytes > bytes.length) return
      const key = element + bytes.readUInt32LE(element + 4)
      const keyEnd = key + bytes.readUInt32LE(element + 8)
      const end = keyEnd + bytes.readUInt32LE(element + 12)
      if (keyEnd > bytes.length) return
      this.#element(bytes, bytes.readUInt32LE(element), { key, keyEnd, end: Math.min(end, bytes.length) })
    }
  }

  #element(bytes: Buffer, flags: number, { key, keyEnd, end }: { key: number; keyEnd: number; end: number }): void {
    const length = keyEnd - key
    // The revision of an entry: main, an underscore, sub; with a `t` for a deletion (etcd `server/storage/mvcc/revision.go`).
    if ((length === 17 || length === 18) && bytes[key + 8] === 0x5f) {
      const revision = Number(bytes.readBigUInt64BE(key))
      if (Number.isSafeInteger(revision) && (this.revision === null || revision > this.revision)) this.revision = revision
      // The entry is a `mvccpb.KeyValue` that begins with field 1, the key.
      const isNamespace =
        bytes[keyEnd] === 0x0a && bytes[keyEnd + 1] === kubeSystem.length && bytes.subarray(keyEnd + 2, keyEnd + 2 + kubeSystem.length).equals(kubeSystem)
      if (bytes[keyEnd] === 0x0a && isSecret(bytes, keyEnd)) this.#secret(revision, valueOf(bytes, keyEnd, end))
      if (isNamespace) this.identity ??= uuidPattern.exec(bytes.toString('latin1', keyEnd, end))?.[1] ?? null
      return
    }
    const name = length === 14 ? bytes.toString('latin1', key, keyEnd) : ''
    if (name === 'storageVersion' || name === 'clusterVersion') {
      const version = bytes.toString('latin1', keyEnd, end)
      if (/^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(version) && (this.version === null || compare(version, this.version) > 0)) this.version = version
      return
    }
    // A small bucket lies inside of its parent: a head of 16 bytes, whose page number is 0, and a page.
    const isInline = (flags & bucketFlag) !== 0 && end - keyEnd > pageHead * 2 && bytes.readBigUInt64LE(keyEnd) === 0n
    if (isInline && bytes.readUInt16LE(keyEnd + pageHead + 8) === leafFlag) this.leaf(bytes.subarray(0, end), keyEnd + pageHead)
  }

  #secret(revision: number, value: Buffer): void {
    const sample = sampleOf(value)
    if (sample && (this.#samples.get(sample.provider)?.revision ?? -1) < revision) this.#samples.set(sample.provider, { revision, sample })
  }
}

/** Whether the key of a `mvccpb.KeyValue` is that of a Secret. */
function isSecret(bytes: Buffer, from: number): boolean {
  const { next } = varint(bytes, from + 1)
  return bytes.compare(secrets, 0, secrets.length, next, Math.min(bytes.length, next + secrets.length)) === 0
}

/** Collects pages until enough of them are there to read one. */
class Pages {
  readonly facts = new Facts()
  #held: Buffer[] = []
  #heldBytes = 0
  #pageBytes = 0
  #number = 0
  #wanted = pageHead + 64

  push(bytes: Buffer): void {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes >= this.#wanted) this.#read(false)
  }

  end(): void {
    this.#read(true)
    if (this.#number === 0) throw new BackupRefused('This is not a snapshot of etcd: it has no bbolt pages')
  }

  #read(isEnd: boolean): void {
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    let at = 0
    if (this.#pageBytes === 0) {
      if (all.length < this.#wanted) return
      this.#pageBytes = pageSizeOf(all)
    }
    this.#wanted = this.#pageBytes
    for (; all.length - at >= this.#pageBytes; at += this.#pageBytes, this.#number++) {
      const isLeaf = all.readUInt16LE(at + 8) === leafFlag && all.readBigUInt64LE(at) === BigInt(this.#number)
      if (!isLeaf) continue
      const whole = (1 + Math.min(all.readUInt32LE(at + 12), mostOverflow)) * this.#pageBytes
      if (all.length - at < whole && !isEnd) {
        this.#wanted = whole
        break
      }
      this.facts.leaf(all.subarray(at, at + whole), 0)
    }
    this.#held = [all.subarray(at)]
    this.#heldBytes = all.length - at
  }
}

/** The size of a page, from the first page. @throws BackupRefused */
function pageSizeOf(first: Buffer): number {
  const size = first.readUInt32LE(pageHead + 8)
  const isMeta = first.readUInt32LE(pageHead) === magic && first.readUInt32LE(pageHead + 4) === 2
  const isWhole = isMeta && first.readBigUInt64LE(metaChecksumAt) === fnv1a(first.subarray(pageHead, metaChecksumAt))
  if (!isWhole || size < 1024 || size > 1024 * 1024 || (size & (size - 1)) !== 0)
    throw new BackupRefused('This is not a snapshot of etcd: it does not begin with a bbolt page')
  return size
}

/**
 * Passes the bytes on and checks them. Calls `found` after the last byte.
 * @throws BackupRefused if the bytes are no snapshot of etcd, are cut off, or don't have the hash at their end
 */
export async function* checkedEtcdFile(source: AsyncIterable<Uint8Array>, found: (file: EtcdFile) => void): AsyncGenerator<Buffer> {
  const pages = new Pages()
  const ofDatabase = createHash('sha256')
  const ofFile = createHash('sha256')
  /** The last bytes, which may be the hash. */
  let last: Buffer = Buffer.alloc(0)
  let sizeBytes = 0
  for await (const piece of source) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    sizeBytes += bytes.length
    ofFile.update(bytes)
    const all = last.length === 0 ? bytes : Buffer.concat([last, bytes])
    const body = all.subarray(0, Math.max(0, all.length - hashBytes))
    last = Buffer.from(all.subarray(body.length))
    ofDatabase.update(body)
    if (body.length > 0) pages.push(body)
    yield bytes
  }
  if (sizeBytes === 0) throw new BackupRefused('The snapshot is empty')
  // etcd recognises the hash by the length of the file, a multiple of 512 plus 32.
  if (sizeBytes % 512 !== hashBytes)
    throw new BackupRefused(
      'The snapshot is incomplete, or has no hash at its end: a file of `etcdctl snapshot save` has one, a copy of the file `db` has none',
    )
  if (!ofDatabase.digest().equals(last)) throw new BackupRefused('The snapshot is damaged: its content does not match the hash at its end')
  pages.end()
  const { revision, version, identity, encryption } = pages.facts
  found({ sizeBytes, sha256: ofFile.digest('hex'), revision, version, identity, encryption })
}
