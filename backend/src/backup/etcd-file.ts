/**
 * Reads the identity and the version of an etcd snapshot from a stream, so that the whole file is
 * never in memory. The file is a bbolt database followed by the SHA-256 of the database (etcd
 * `client/v3/snapshot/v3_snapshot.go`, `hasChecksum`). Format: bbolt `internal/common/page.go`,
 * `meta.go`, `inode.go`.
 *
 * Every page marked as a leaf is read, also pages that bbolt has freed. Those have older content,
 * so the highest revision and version are used.
 *
 * A control plane that somebody has broken into sends any bytes, so the work is bounded by the
 * length of the file: elements of a page don't share bytes, a bucket inside of its parent has no
 * buckets (bbolt `bucket.go`, `inlineable`), and pages that lie inside of others are read at most a
 * few times.
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
  /**
   * The beginning of the newest encrypted Secret of each provider; empty if no Secret is encrypted.
   */
  readonly encryption: readonly SecretSample[]
}

const hashBytes = 32
const magic = 0xed_0c_da_ed
const pageHead = 16
const elementBytes = 16
const leafFlag = 0x02
const bucketFlag = 1
const metaChecksumAt = pageHead + 56
/**
 * Of a longer page only the beginning is read. etcd's largest request is 1.5 MiB by default; the
 * keys lie before their values.
 */
const longestPage = 4 * 1024 * 1024
/**
 * Bytes that are looked at for each byte of the file. A valid file takes less than two: a freed
 * page may have been part of a longer page since, and keeps its head only until then.
 */
const mostLooks = 4
const fewBytes = 1024 * 1024
const tangled = () =>
  new BackupRefused('The snapshot is damaged: its pages lie inside of each other')
/** Kubernetes itself has five. */
const mostProviders = 16
/** Length of a version such as `3.6.12`. */
const longestVersion = 11
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
  #lookedBytes = 0

  /** Bytes that have been looked at. */
  get lookedBytes(): number {
    return this.#lookedBytes
  }

  get encryption(): SecretSample[] {
    return [...this.#samples.values()].map(({ sample }) => sample)
  }

  /**
   * @param at offset of the page in `bytes`; `isInline`: the page is a bucket inside of its parent
   */
  leaf(bytes: Buffer, at: number, isInline: boolean): void {
    const count = bytes.readUInt16LE(at + 10)
    // bbolt writes the content of the elements one after another behind their heads
    // (`internal/common/inode.go`, `WriteInodeToPage`).
    let free = at + pageHead + count * elementBytes
    for (let i = 0; i < count; i++) {
      const element = at + pageHead + i * elementBytes
      if (element + elementBytes > bytes.length) return
      const key = element + bytes.readUInt32LE(element + 4)
      const keyEnd = key + bytes.readUInt32LE(element + 8)
      const end = Math.min(keyEnd + bytes.readUInt32LE(element + 12), bytes.length)
      if (key < free || keyEnd > bytes.length) return
      free = end
      this.#lookedBytes += elementBytes
      this.#element(bytes, { flags: bytes.readUInt32LE(element), key, keyEnd, end }, isInline)
    }
  }

  #element(
    bytes: Buffer,
    {
      flags,
      key,
      keyEnd,
      end,
    }: {
      readonly flags: number
      readonly key: number
      readonly keyEnd: number
      readonly end: number
    },
    isInline: boolean,
  ): void {
    const length = keyEnd - key
    // The revision of an entry: main, an underscore, sub; with a `t` for a deletion (etcd
    // `server/storage/mvcc/revision.go`).
    if ((length === 17 || length === 18) && bytes[key + 8] === 0x5f) {
      const revision = Number(bytes.readBigUInt64BE(key))
      if (Number.isSafeInteger(revision) && (this.revision === null || revision > this.revision))
        this.revision = revision
      // The entry is a `mvccpb.KeyValue` that begins with field 1, the key.
      const isNamespace =
        bytes[keyEnd] === 0x0a &&
        bytes[keyEnd + 1] === kubeSystem.length &&
        bytes.subarray(keyEnd + 2, keyEnd + 2 + kubeSystem.length).equals(kubeSystem)
      if (bytes[keyEnd] === 0x0a && isSecret(bytes, keyEnd)) {
        this.#lookedBytes += end - keyEnd
        this.#secret(revision, valueOf(bytes, keyEnd, end))
      }
      if (isNamespace && this.identity === null) {
        this.#lookedBytes += end - keyEnd
        this.identity = uuidPattern.exec(bytes.toString('latin1', keyEnd, end))?.[1] ?? null
      }
      return
    }
    const name = length === 14 ? bytes.toString('latin1', key, keyEnd) : ''
    if (name === 'storageVersion' || name === 'clusterVersion') {
      const version = bytes.toString('latin1', keyEnd, Math.min(end, keyEnd + longestVersion + 1))
      if (
        /^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(version) &&
        (this.version === null || compare(version, this.version) > 0)
      )
        this.version = version
      return
    }
    // A small bucket lies inside of its parent: a head of 16 bytes, whose page number is 0, and a
    // page.
    const isBucket =
      !isInline &&
      (flags & bucketFlag) !== 0 &&
      end - keyEnd > pageHead * 2 &&
      bytes.readBigUInt64LE(keyEnd) === 0n
    if (isBucket && bytes.readUInt16LE(keyEnd + pageHead + 8) === leafFlag)
      this.leaf(bytes.subarray(0, end), keyEnd + pageHead, true)
  }

  #secret(revision: number, value: Buffer): void {
    const sample = sampleOf(value)
    if (!sample || (this.#samples.size >= mostProviders && !this.#samples.has(sample.provider)))
      return
    if ((this.#samples.get(sample.provider)?.revision ?? -1) < revision)
      this.#samples.set(sample.provider, { revision, sample })
  }
}

/** Whether the key of a `mvccpb.KeyValue` is that of a Secret. */
function isSecret(bytes: Buffer, from: number): boolean {
  const { next } = varint(bytes, from + 1)
  return (
    bytes.compare(
      secrets,
      0,
      secrets.length,
      next,
      Math.min(bytes.length, next + secrets.length),
    ) === 0
  )
}

/** Collects pages until enough of them are there to read one. */
class Pages {
  readonly facts = new Facts()
  /** The bytes that aren't read yet are those from `#from` to `#to`. */
  #buffer = Buffer.allocUnsafe(128 * 1024)
  #from = 0
  #to = 0
  #passedBytes = 0
  #pageBytes = 0
  #number = 0
  #wanted = pageHead + 64

  push(bytes: Buffer): void {
    this.#append(bytes)
    if (this.#to - this.#from >= this.#wanted) this.#read(false)
  }

  end(): void {
    this.#read(true)
    if (this.#number === 0)
      throw new BackupRefused('This is not a snapshot of etcd: it has no bbolt pages')
  }

  /**
   * The buffer is at least twice as long as the unread bytes that are moved in it, so each byte is
   * moved about twice.
   */
  #append(bytes: Buffer): void {
    const unread = this.#to - this.#from
    if (this.#to + bytes.length > this.#buffer.length) {
      const needed = 2 * (unread + bytes.length)
      const to = needed > this.#buffer.length ? Buffer.allocUnsafe(needed) : this.#buffer
      this.#buffer.copy(to, 0, this.#from, this.#to)
      this.#buffer = to
      this.#from = 0
      this.#to = unread
    }
    bytes.copy(this.#buffer, this.#to)
    this.#to += bytes.length
    this.#passedBytes += bytes.length
  }

  #read(isEnd: boolean): void {
    const all = this.#buffer.subarray(this.#from, this.#to)
    let at = 0
    if (this.#pageBytes === 0) {
      if (all.length < this.#wanted) return
      this.#pageBytes = pageSizeOf(all)
    }
    this.#wanted = this.#pageBytes
    for (; all.length - at >= this.#pageBytes; at += this.#pageBytes, this.#number++) {
      const isLeaf =
        all.readUInt16LE(at + 8) === leafFlag && all.readBigUInt64LE(at) === BigInt(this.#number)
      if (!isLeaf) continue
      const whole = Math.min((1 + all.readUInt32LE(at + 12)) * this.#pageBytes, longestPage)
      if (all.length - at < whole && !isEnd) {
        this.#wanted = whole
        break
      }
      this.facts.leaf(all.subarray(at, at + whole), 0, false)
      if (this.facts.lookedBytes > mostLooks * this.#passedBytes + fewBytes) throw tangled()
    }
    this.#from += at
  }
}

/** The size of a page, from the first page. @throws BackupRefused */
function pageSizeOf(first: Buffer): number {
  const size = first.readUInt32LE(pageHead + 8)
  const isMeta = first.readUInt32LE(pageHead) === magic && first.readUInt32LE(pageHead + 4) === 2
  const isWhole =
    isMeta &&
    first.readBigUInt64LE(metaChecksumAt) === fnv1a(first.subarray(pageHead, metaChecksumAt))
  if (!isWhole || size < 1024 || size > 1024 * 1024 || (size & (size - 1)) !== 0)
    throw new BackupRefused('This is not a snapshot of etcd: it does not begin with a bbolt page')
  return size
}

/** Reads a snapshot piece by piece. */
export class EtcdReader {
  readonly #pages = new Pages()
  readonly #ofDatabase = createHash('sha256')
  readonly #ofFile = createHash('sha256')
  /** The last bytes, which may be the hash. */
  #last: Buffer = Buffer.alloc(0)
  #sizeBytes = 0

  /** @throws BackupRefused if the bytes are no snapshot of etcd */
  push(bytes: Buffer): void {
    this.#sizeBytes += bytes.length
    this.#ofFile.update(bytes)
    const all = this.#last.length === 0 ? bytes : Buffer.concat([this.#last, bytes])
    const body = all.subarray(0, Math.max(0, all.length - hashBytes))
    this.#last = Buffer.from(all.subarray(body.length))
    this.#ofDatabase.update(body)
    if (body.length > 0) this.#pages.push(body)
  }

  /**
   * @throws BackupRefused if the bytes are no whole snapshot of etcd, or don't have the hash at
   * their end
   */
  end(): EtcdFile {
    const sizeBytes = this.#sizeBytes
    if (sizeBytes === 0) throw new BackupRefused('The snapshot is empty')
    // etcd recognises the hash by the length of the file, a multiple of 512 plus 32.
    if (sizeBytes % 512 !== hashBytes)
      throw new BackupRefused(
        'The snapshot is incomplete, or has no hash at its end: a file of `etcdctl snapshot save` has one, a copy of the file `db` has none',
      )
    if (!this.#ofDatabase.digest().equals(this.#last))
      throw new BackupRefused(
        'The snapshot is damaged: its content does not match the hash at its end',
      )
    this.#pages.end()
    const { revision, version, identity, encryption } = this.#pages.facts
    if (revision === null)
      throw new BackupRefused(
        'The snapshot has no data of etcd: there is no key in it, so nothing could be restored from it',
      )
    return {
      sizeBytes,
      sha256: this.#ofFile.digest('hex'),
      revision,
      version,
      identity,
      encryption,
    }
  }
}
