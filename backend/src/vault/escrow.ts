/** The escrow file of a cluster: its secrets, sealed by a key of its own that is wrapped by the key file, readable without the database. */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { decrypt, encrypt, SealBroken } from './cipher.ts'
import { whyRefused } from '../refusal.ts'
import { writeDurably } from './durable.ts'
import type { KeyRing } from './key-file.ts'

/** An escrow file can't be written. The message says which, why, and what to do. */
class EscrowRefused extends Error {
  override readonly name = 'EscrowRefused'
}

interface EscrowFile {
  format: 1
  cluster: string
  wrapping_key: string
  wrapped: string
  sealed: string
}

const keyContext = (cluster: string) => `escrow key|${cluster}`
const textContext = (cluster: string) => `escrow|${cluster}`

function escrowFile(keys: KeyRing, cluster: string, bytes: Uint8Array): Buffer {
  const key = randomBytes(32)
  const file: EscrowFile = {
    format: 1,
    cluster,
    wrapping_key: keys.current.id,
    wrapped: encrypt(keys.current.key, key, keyContext(cluster)).toString('base64'),
    sealed: encrypt(key, bytes, textContext(cluster)).toString('base64'),
  }
  key.fill(0)
  return Buffer.from(`${JSON.stringify(file)}\n`)
}

/**
 * Writes the file of a cluster and returns its path once it is on the disk.
 * @throws EscrowRefused where it can't be written
 */
export async function writeEscrow(keys: KeyRing, folder: string, cluster: string, bytes: Uint8Array): Promise<string> {
  const name = `${cluster}.bin`
  try {
    return await writeDurably(folder, name, escrowFile(keys, cluster, bytes))
  } catch (cause) {
    throw new EscrowRefused(
      `The escrow file ${path.join(folder, name)} can't be written: ${whyRefused(cause)}. Nothing uses the cluster's secrets before it is on the disk; once it can be written this goes on by itself`,
      { cause },
    )
  }
}

/**
 * The reading side, for tests: an operator opens the escrow without Steelyard (`docs/open-escrow.mjs`).
 * @internal
 * @throws SealBroken where the file was changed or the key file lacks its key
 */
export function openEscrow(keys: KeyRing, text: Uint8Array): { cluster: string; bytes: Buffer } {
  const file = JSON.parse(Buffer.from(text).toString('utf8')) as EscrowFile
  const wrapping = keys.get(file.wrapping_key)
  if (!wrapping) throw new SealBroken(`The key file has no key ${file.wrapping_key}`)
  const key = decrypt(wrapping, Buffer.from(file.wrapped, 'base64'), keyContext(file.cluster))
  return { cluster: file.cluster, bytes: decrypt(key, Buffer.from(file.sealed, 'base64'), textContext(file.cluster)) }
}
