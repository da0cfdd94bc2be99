#!/usr/bin/env node
// Proves to Steelyard that the key of a cluster is in this cluster, so that the cluster's offer is
// in use. Needs only Node.js 20 or newer, and no packages.
// STEELYARD_URL=https://steelyard.example.com OFFER_ID=0x… node prove-offer.mjs [--once] KEY_FOLDER
// (default /key) has the files `address` and `private-key` of the Secret
// kube-system/steelyard-cluster-key. offers.md shows the manifest. With --once it proves once and
// exits with 0, or with 1 and the reason. Otherwise it proves every ten minutes (EVERY_MINUTES),
// and again soon after a failure.
import { createECDH, createPrivateKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// Node.js as the first process of a container has no default reaction to SIGTERM.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))

const { STEELYARD_URL = '', OFFER_ID = '', KEY_FOLDER = '/key', EVERY_MINUTES = '10' } = process.env
const isOnce = process.argv.includes('--once')
const base = STEELYARD_URL.replace(/\/$/, '')
const everyMs = Number(EVERY_MINUTES) * 60_000

if (!URL.canParse(base) || !/^0x[0-9a-f]{64}$/.test(OFFER_ID) || !(everyMs >= 1_000)) {
  process.stderr.write(
    'Set STEELYARD_URL to the address of Steelyard, OFFER_ID to 0x and 64 hexadecimal digits, and EVERY_MINUTES to a number\n',
  )
  process.exit(2)
}

/**
 * The cluster's address and its private key. They are read for each proof, because the Secret may
 * change.
 */
function readKey() {
  const read = (name) => readFileSync(join(KEY_FOLDER, name), 'utf8').trim()
  const privateKey = Buffer.from(read('private-key'), 'hex')
  const pair = createECDH('secp256k1')
  pair.setPrivateKey(privateKey)
  // The public key is the byte 4, then x and y with 32 bytes each.
  const point = pair.getPublicKey()
  const [d, x, y] = [privateKey, point.subarray(1, 33), point.subarray(33)].map((bytes) =>
    bytes.toString('base64url'),
  )
  return {
    address: read('address'),
    key: createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'secp256k1', d, x, y } }),
  }
}

async function call(name, body = {}) {
  const answer = await fetch(`${base}/v1/offers/${OFFER_ID}/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(20_000),
  })
  const text = await answer.text()
  if (answer.ok) return JSON.parse(text)
  const error = new Error(`${name}: ${answer.status} ${text.slice(0, 500)}`)
  error.retryAfterMs = Number(answer.headers.get('retry-after') ?? 0) * 1000
  throw error
}

async function prove() {
  const { address, key } = readKey()
  const challenge = await call('challenge')
  // Only the nonce is taken from the answer: the key signs nothing but a proof for this offer and
  // this address.
  const message = `Steelyard proof of possession\nOffer: ${OFFER_ID}\nAddress: ${address}\nNonce: ${challenge.nonce}`
  if (challenge.message !== message)
    throw new Error(
      `The access address of the offer is ${challenge.address}, but the key in this cluster is that of ${address}`,
    )
  const signature = sign('sha256', Buffer.from(message), { key, dsaEncoding: 'ieee-p1363' })
  const { proven_at } = await call('prove', {
    nonce: challenge.nonce,
    signature: `0x${signature.toString('hex')}`,
  })
  process.stdout.write(`${OFFER_ID} is in use: ${address} proved at ${proven_at}\n`)
}

for (let failures = 0; ;) {
  let waitMs = everyMs
  try {
    await prove()
    failures = 0
  } catch (error) {
    process.stderr.write(`${error.cause?.message ?? error.message}\n`)
    if (isOnce) process.exit(1)
    failures++
    waitMs = Math.max(
      error.retryAfterMs ?? 0,
      Math.min(300_000, 2_500 * 2 ** Math.min(failures, 10)),
    )
  }
  if (isOnce) break
  await sleep(waitMs)
}
