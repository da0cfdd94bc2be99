/**
 * The content of a backup file: a list of parts. A part begins with a JSON record. For tables and
 * files, data records follow, then a record with a count, so that missing data is detected. Format
 * of a record: kind (1 byte) | length (4 bytes) | bytes
 */
import { BackupRefused } from './sealed.ts'

/** The source of the backup, and the version of the program that made it. */
export interface Manifest {
  readonly part: 'manifest'
  readonly madeAt: string
  readonly version: string
  readonly installation: string
  readonly migrations: readonly {
    readonly number: number
    readonly name: string
    readonly checksum: string
  }[]
}
/** Rows of a table in PostgreSQL's text format, one per line. */
export type TablePart = {
  readonly part: 'table'
  readonly name: string
  readonly columns: readonly string[]
}
/** A file. `name` is its name without a folder. */
export type FilePart = {
  readonly part: 'file'
  readonly kind: 'key' | 'escrow'
  readonly name: string
}
/** A sequence with its last value. */
type SequencePart = { readonly part: 'sequence'; readonly name: string; readonly last: string }
/** After a table or a file: its number of rows or of bytes. */
type EndPart = { readonly part: 'end'; readonly count: number }
/** The last record. */
type ClosingPart = {
  readonly part: 'closing'
  readonly tables: number
  readonly rows: number
  readonly files: number
}

export type Part = Manifest | TablePart | FilePart | SequencePart | EndPart | ClosingPart

const named = 1
const data = 2
const frameBytes = 5
const largestBytes = 16 * 1024 ** 2
/** Maximum bytes of a record in JSON: a manifest with the checksums of hundreds of migrations. */
const largestPart = 64 * 1024

const frame = (kind: number, bytes: Uint8Array): Buffer => {
  const head = Buffer.alloc(frameBytes)
  head.writeUInt8(kind, 0)
  head.writeUInt32BE(bytes.byteLength, 1)
  return Buffer.concat([head, bytes])
}

export const partRecord = (part: Part): Buffer => frame(named, Buffer.from(JSON.stringify(part)))
export function* dataRecords(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += largestBytes)
    yield frame(data, bytes.subarray(at, at + largestBytes))
}

/** Reads records. @throws BackupRefused if the input is malformed */
export async function* readRecords(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Part | Buffer> {
  let waiting: Buffer[] = []
  let length = 0
  let wanted = frameBytes
  for await (const bytes of source) {
    waiting.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    length += bytes.byteLength
    // Chunks are joined only after the record is complete, so that a long record takes no more
    // memory than its length.
    if (length < wanted) continue
    let held = Buffer.concat(waiting)
    for (;;) {
      wanted = frameBytes
      if (held.length < frameBytes) break
      const [kind, size] = [held.readUInt8(0), held.readUInt32BE(1)]
      if (size > (kind === named ? largestPart : largestBytes) || (kind !== named && kind !== data))
        throw new BackupRefused(
          'The backup contains a kind of record that this version of Steelyard does not know',
        )
      wanted = frameBytes + size
      if (held.length < wanted) break
      const content = held.subarray(frameBytes, wanted)
      yield kind === data ? content : (JSON.parse(content.toString('utf8')) as Part)
      held = held.subarray(wanted)
    }
    waiting = [held]
    length = held.length
  }
  if (length > 0) throw new BackupRefused('The backup ends in the middle of a record')
}
