/**
 * The envelope of a snapshot: the chunks of a backup file (`sealed.ts`), encrypted with a random
 * key of this file. That key is encrypted with the key file's current key and stored in the header,
 * so the file can be opened with the key file alone, without the database.
 *
 * header: `steelyard-sealed-1\n` | length of the JSON (4 bytes) | JSON (`Head`)
 */
import type { Vault } from '../vault/vault.ts'
import { SealBroken } from '../vault/cipher.ts'
import { BackupRefused, sealPieces, unsealPieces } from './sealed.ts'

const magic = Buffer.from('steelyard-sealed-1\n')
const lengthBytes = 4
const longestHead = 16 * 1024

/**
 * Header of the file, for a reader without the database. `id` is also part of the context of the
 * key.
 */
export interface SealedAbout {
  readonly what: 'etcd snapshot'
  readonly id: string
  readonly cluster: string
  readonly cluster_id: string
}
interface Head extends SealedAbout {
  readonly wrapping_key: string
  readonly wrapped: string
}
const contextOf = ({ what, id }: SealedAbout): string => `${what}|${id}`

/** Encrypts the bytes of `source`. */
export async function* sealWithKey(
  vault: Pick<Vault, 'fileKey'>,
  about: SealedAbout,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const { key, wrappingKey, wrapped } = vault.fileKey(contextOf(about))
  const json = Buffer.from(
    JSON.stringify({
      ...about,
      wrapping_key: wrappingKey,
      wrapped: wrapped.toString('base64'),
    } satisfies Head),
  )
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(json.length)
  try {
    yield* sealPieces(key, Buffer.concat([magic, length, json]), source)
  } finally {
    key.fill(0)
  }
}

/**
 * Decrypts what `sealWithKey` wrote.
 * @throws BackupRefused if the file was not written by Steelyard, is not the snapshot `id`, or any
 * part of it was changed or is missing; SealBroken if the key file lacks its key
 */
export async function* unsealWithKey(
  vault: Pick<Vault, 'openFileKey'>,
  id: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const reader = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const fill = async (wanted: number): Promise<void> => {
    while (held.length < wanted) {
      const { value, done } = await reader.next()
      if (done)
        throw new BackupRefused(
          held.subarray(0, magic.length).equals(magic.subarray(0, held.length))
            ? 'The snapshot is cut off: its end is missing'
            : notOurs,
        )
      held = Buffer.concat([held, value])
    }
  }
  try {
    await fill(magic.length + lengthBytes)
    if (!held.subarray(0, magic.length).equals(magic)) throw new BackupRefused(notOurs)
    const length = held.readUInt32BE(magic.length)
    if (length > longestHead) throw new BackupRefused('The head of the snapshot was changed')
    const whole = magic.length + lengthBytes + length
    await fill(whole)
    const head = Buffer.from(held.subarray(0, whole))
    const key = keyOf(vault, id, head.subarray(magic.length + lengthBytes))
    const rest = async function* (): AsyncGenerator<Uint8Array> {
      yield held.subarray(whole)
      for (;;) {
        const { value, done } = await reader.next()
        if (done) return
        yield value
      }
    }
    try {
      yield* unsealPieces('snapshot', rest(), async () => ({ head, key }))
    } finally {
      key.fill(0)
    }
  } finally {
    await reader.return?.()
  }
}

const notOurs = 'This is not a snapshot that Steelyard has sealed'

function keyOf(vault: Pick<Vault, 'openFileKey'>, id: string, json: Buffer): Buffer {
  let head: Partial<Head>
  try {
    head = JSON.parse(json.toString('utf8')) as Partial<Head>
  } catch (cause) {
    throw new BackupRefused('The head of the snapshot was changed', { cause })
  }
  if (
    head.what !== 'etcd snapshot' ||
    typeof head.wrapping_key !== 'string' ||
    typeof head.wrapped !== 'string'
  )
    throw new BackupRefused('The head of the snapshot was changed')
  if (head.id !== id)
    throw new BackupRefused(`The file is another snapshot (${String(head.id).slice(0, 40)})`)
  try {
    return vault.openFileKey(contextOf({ what: head.what, id } as SealedAbout), {
      wrappingKey: head.wrapping_key,
      wrapped: Buffer.from(head.wrapped, 'base64'),
    })
  } catch (cause) {
    if (cause instanceof SealBroken && cause.message.startsWith('The key file has no key'))
      throw cause
    throw new BackupRefused('The head of the snapshot was changed', { cause })
  }
}
