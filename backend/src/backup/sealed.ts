/**
 * The envelope of a backup file: a stream of bytes encrypted with a passphrase in pieces, so that
 * the file is never in memory as a whole.
 *
 * head: `steelyard-backup-1\n` | log2 N | r | p | salt (16) | check (16) then pieces of 64 KiB,
 * each AES-256-GCM followed by its tag (16); only the last piece may be shorter.
 *
 * The key is derived from the passphrase by scrypt (RFC 7914) with a salt per file, so no nonce is
 * used twice with a key. The nonce of a piece is its number and a flag for the last piece: the
 * STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015), by which pieces can't be left
 * out, reordered, or cut off at the end. The head is additional data of each piece. `check` tells a
 * wrong passphrase from a damaged file.
 */
import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { Refusal } from '../refusal.ts'

/** The file can't be used. The message says why. */
export class BackupRefused extends Refusal {
  override readonly name = 'BackupRefused'
}

/** The passphrase is another than that of the file. The file may be right. */
export class WrongPassphrase extends BackupRefused {}

const magic = Buffer.from('steelyard-backup-1\n')
const saltBytes = 16
const checkBytes = 16
const costAt = magic.length
const saltAt = costAt + 3
const checkAt = saltAt + saltBytes
const headBytes = checkAt + checkBytes
const pieceBytes = 64 * 1024
const tagBytes = 16

/**
 * Parameters of scrypt (OWASP's first choice): deriving a key takes 128 MiB of memory and about
 * half a second. Steelyard has never written others, so a file with others is refused before any
 * work: a stranger's file can't choose how much work and memory it takes. Only tests change them
 * (`testing/work.ts`).
 */
export const keyCost = { log2N: 17, r: 8, p: 1 }

interface Keys {
  readonly key: Buffer
  readonly check: Buffer
}

async function keysOf(passphrase: string, salt: Uint8Array): Promise<Keys> {
  const { log2N, r, p } = keyCost
  const N = 2 ** log2N
  const master = await new Promise<Buffer>((resolve, reject) => {
    scrypt(
      passphrase.normalize('NFKC'),
      salt,
      32,
      { N, r, p, maxmem: 256 * N * r },
      (error, made) => (error ? reject(error) : resolve(made)),
    )
  })
  const derived = (info: string, size: number) =>
    Buffer.from(hkdfSync('sha256', master, salt, info, size))
  return {
    key: derived('steelyard backup', 32),
    check: derived('steelyard backup check', checkBytes),
  }
}

const nonceOf = (number: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/**
 * Keys derived from a passphrase, cached between two reads of one file: deriving a key is slow by
 * design.
 */
export type KnownKeys = Map<string, Keys>

/** Encrypts the bytes of `source`. */
export async function* seal(
  passphrase: string,
  source: AsyncIterable<Uint8Array>,
  known: KnownKeys = new Map(),
): AsyncGenerator<Buffer> {
  const salted = Buffer.concat([
    Buffer.from([keyCost.log2N, keyCost.r, keyCost.p]),
    randomBytes(saltBytes),
  ])
  const keys = await keysOf(passphrase, salted.subarray(saltAt - costAt))
  known.set(salted.toString('hex'), keys)
  yield* sealPieces(keys.key, Buffer.concat([magic, salted, keys.check]), source)
}

/** The head, then the encrypted pieces. The key must not be used for another file. */
export async function* sealPieces(
  key: Uint8Array,
  head: Buffer,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  yield head
  let number = 0
  const piece = (bytes: Uint8Array, isLast: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number++, isLast), {
      authTagLength: tagBytes,
    })
    cipher.setAAD(head)
    return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }
  for await (const { bytes, isLast } of pieces(source, pieceBytes)) yield piece(bytes, isLast)
}

/**
 * Splits the bytes into pieces of equal size and marks the last piece. Empty input gives one empty
 * piece.
 */
async function* pieces(
  source: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let waiting: Buffer[] = []
  let length = 0
  for await (const bytes of source) {
    waiting.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    length += bytes.byteLength
    if (length <= size) continue
    let whole = Buffer.concat(waiting)
    // A byte beyond the piece proves that the piece isn't the last.
    for (; whole.length > size; whole = whole.subarray(size))
      yield { bytes: whole.subarray(0, size), isLast: false }
    waiting = [whole]
    length = whole.length
  }
  yield { bytes: Buffer.concat(waiting), isLast: true }
}

async function* after(
  head: number,
  source: AsyncIterable<Uint8Array>,
  give: (head: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  let begun: Buffer | undefined = Buffer.alloc(0)
  for await (const bytes of source) {
    if (begun === undefined) {
      yield bytes
      continue
    }
    begun = Buffer.concat([begun, bytes])
    if (begun.length < head) continue
    give(begun.subarray(0, head))
    if (begun.length > head) yield begun.subarray(head)
    begun = undefined
  }
  if (begun !== undefined) give(begun)
}

/**
 * Decrypts what `seal` wrote.
 * @throws BackupRefused if the file is no backup, the passphrase is wrong, or any part of the file
 * was changed or is missing
 */
export async function* unseal(
  passphrase: string,
  source: AsyncIterable<Uint8Array>,
  known: KnownKeys = new Map(),
): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0)
  const rest = after(headBytes, source, (given) => (head = Buffer.from(given)))
  yield* unsealPieces('backup', rest, async () => ({
    head,
    key: (await openHead(passphrase, head, known)).key,
  }))
}

/**
 * Decrypts what follows the head of a file. `open` is called once, after the first bytes were read.
 * @throws BackupRefused like `unseal`
 */
export async function* unsealPieces(
  what: 'backup' | 'snapshot',
  rest: AsyncIterable<Uint8Array>,
  open: () => Promise<{ head: Buffer; key: Uint8Array }>,
): AsyncGenerator<Buffer> {
  let opened: Awaited<ReturnType<typeof open>> | undefined
  let number = 0
  for await (const { bytes, isLast } of pieces(rest, pieceBytes + tagBytes)) {
    opened ??= await open()
    if (bytes.length < tagBytes)
      throw new BackupRefused(`The ${what} is cut off: its end is missing`)
    try {
      const decipher = createDecipheriv('aes-256-gcm', opened.key, nonceOf(number, isLast), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(opened.head)
      decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes))
      yield Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()])
    } catch (cause) {
      if (cause instanceof BackupRefused) throw cause
      const where = `around byte ${opened.head.length + number * (pieceBytes + tagBytes)}`
      throw new BackupRefused(
        isLast
          ? `The ${what} is cut off, or was changed ${where}`
          : `The ${what} was changed ${where}`,
        { cause },
      )
    }
    number++
  }
}

async function openHead(passphrase: string, head: Buffer, known: KnownKeys): Promise<Keys> {
  if (!head.subarray(0, magic.length).equals(magic))
    throw new BackupRefused('This is not a backup of Steelyard')
  if (head.length < headBytes) throw new BackupRefused('The backup is cut off: its end is missing')
  const [log2N, r, p] = [
    head.readUInt8(costAt),
    head.readUInt8(costAt + 1),
    head.readUInt8(costAt + 2),
  ]
  if (log2N !== keyCost.log2N || r !== keyCost.r || p !== keyCost.p)
    throw new BackupRefused('The header of the backup was changed')
  const salt = head.subarray(saltAt, checkAt)
  const name = head.subarray(costAt, checkAt).toString('hex')
  const keys = known.get(name) ?? (await keysOf(passphrase, salt))
  if (!timingSafeEqual(keys.check, head.subarray(checkAt, headBytes)))
    throw new WrongPassphrase('This is not the passphrase of this backup')
  known.set(name, keys)
  return keys
}
