#!/usr/bin/env node
// Decrypts an escrow file without Steelyard and its database, and prints the cluster's secrets in
// the format of talosctl. Needs only Node.js 20 or newer. node docs/open-escrow.mjs KEY_FILE
// DATA_FOLDER/escrow/CLUSTER_ID.bin > secrets.yaml Anybody with this output controls the cluster.
// With --chain-key, prints the cluster's own private key (hex) instead. If the file was written
// during a rotation of secrets, --new prints the new ones, which some servers may already have.
// --former N prints the secrets that the Nth last rotation has replaced (1: the last one).
import { createDecipheriv } from 'node:crypto'
import { readFileSync } from 'node:fs'

// Prints only the error message, because a stack trace doesn't help users.
process.on('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
})

const [keyFile, escrowFile, flag, number] = process.argv.slice(2)
if (!keyFile || !escrowFile || !['--chain-key', '--new', '--former', undefined].includes(flag)) {
  process.stderr.write(
    'node docs/open-escrow.mjs KEY_FILE ESCROW_FILE [--chain-key | --new | --former N]\n',
  )
  process.exit(2)
}

/**
 * Decrypts nonce (12 bytes) | tag (16 bytes) | ciphertext with AES-256-GCM. `context` is the
 * additional authenticated data.
 */
function decrypt(key, sealed, context) {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), {
    authTagLength: 16,
  })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
}

const { cluster, wrapping_key, wrapped, sealed } = JSON.parse(readFileSync(escrowFile, 'utf8'))
// The file has one key per line: `steelyard-key-1`, the key's id, and the key in base64.
const line = readFileSync(keyFile, 'utf8')
  .split('\n')
  .map((text) => text.split(' '))
  .find(([, id]) => id === wrapping_key)
if (!line)
  throw new Error(`${keyFile} does not hold the key ${wrapping_key} that this file was sealed with`)

const dataKey = decrypt(
  Buffer.from(line[2], 'base64'),
  Buffer.from(wrapped, 'base64'),
  `escrow key|${cluster}`,
)
const {
  bundle,
  chain_key,
  rotation,
  former = [],
} = JSON.parse(
  decrypt(dataKey, Buffer.from(sealed, 'base64'), `escrow|${cluster}`).toString('utf8'),
)
const asked = {
  '--chain-key': `${chain_key}\n`,
  '--new': rotation?.bundle,
  '--former': former[Number(number ?? 1) - 1]?.bundle,
}
const text = flag === undefined ? bundle : asked[flag]
if (text === undefined)
  throw new Error(
    flag === '--new'
      ? 'No rotation was running when the file was written'
      : `The file has ${former.length} former bundles`,
  )
process.stdout.write(text)
