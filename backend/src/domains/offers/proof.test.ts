import { secp256k1 } from '@noble/curves/secp256k1.js'
import { beforeEach, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  challengeLifetimeMs,
  offerAccessAddressSet,
  offerChallenge,
  offerProve,
  offerUpdate,
  proofMessage,
} from '#contract/marketplace/offers.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'
import { makeChainKey } from '../clusters/create/chain-key.ts'
import { nonces } from './proof.ts'
import { offerWorld, prove, signature64, signature65 } from './testing.ts'

const backend = await startBackend()
const world = await offerWorld(backend)
let operator: SignedIn
// The clock advances, so sessions end. A source may call about once in two seconds after its first
// twenty calls.
beforeEach(async () => {
  backend.clock.advance(60_000)
  operator = await backend.signIn({ role: 'operator' })
})
const challenge = (id: string) => backend.call(offerChallenge, { params: { id } })
const answer = (id: string, body: { nonce: string; signature: string }) =>
  backend.call(offerProve, { params: { id }, body })

test('a challenge names the address, the nonce and the text to sign, and needs no session', async () => {
  const { offer, cluster } = await world.offer(operator)
  const { status, answer: given } = await challenge(offer.id)
  expect(status).toBe(200)
  const { address } = cluster.key
  expect(given).toEqual({
    address,
    nonce: expect.stringMatching(/^[\w-]{72}$/) as string,
    message: proofMessage({ offerId: offer.id, address, nonce: given!.nonce }),
    expires_at: new Date(backend.clock.now() + challengeLifetimeMs).toISOString(),
  })
  expect((await challenge(offer.id)).answer!.nonce).not.toBe(given!.nonce)
})

test.each([
  ['ES256K', signature64],
  ['an Ethereum wallet', signature65],
])(
  "a proof with the key in the cluster, signed as by %s, makes the offer 'in use'",
  async (_name, sign) => {
    const { offer, cluster } = await world.offer(operator)
    expect(offer).toMatchObject({ in_use: false, proven_at: null })
    const { called } = await prove(backend, offer.id, cluster.key, sign)
    const proven_at = new Date(backend.clock.now()).toISOString()
    expect(called).toMatchObject({
      status: 200,
      answer: { offer_id: offer.id, address: cluster.key.address, proven_at },
    })
    expect(await world.look(operator, offer.id)).toMatchObject({ in_use: true, proven_at })
  },
)

test('another key proves nothing, and its nonce can still be used with the right key', async () => {
  const { offer, cluster } = await world.offer(operator)
  for (const sign of [signature64, signature65]) {
    const { body, called } = await prove(backend, offer.id, await makeChainKey(), sign)
    expect(called).toMatchObject({ status: 409, problem: { code: 'wrong_key' } })
    expect(await world.look(operator, offer.id)).toEqual(offer)
    const message = proofMessage({
      offerId: offer.id,
      address: cluster.key.address,
      nonce: body.nonce,
    })
    expect(
      (await answer(offer.id, { nonce: body.nonce, signature: sign(message, cluster.key) })).status,
    ).toBe(200)
    operator = await backend.signIn({ role: 'operator' })
    await operator.call(offerAccessAddressSet, {
      params: { id: offer.id },
      body: { address: (await makeChainKey()).address },
    })
    await operator.call(offerAccessAddressSet, {
      params: { id: offer.id },
      body: { address: cluster.key.address },
    })
    Object.assign(offer, await world.look(operator, offer.id))
  }
})

test('a nonce can be used once, also by two processes at once and in another spelling', async () => {
  const { offer, cluster } = await world.offer(operator)
  const { body } = await prove(backend, offer.id, cluster.key)
  expect((await answer(offer.id, body)).problem).toMatchObject({ code: 'challenge_over' })
  for (const nonce of [
    `${body.nonce}=`,
    `${body.nonce}\n`,
    `${body.nonce}A`,
    body.nonce.replaceAll('-', '+'),
  ].filter((other) => other !== body.nonce))
    expect((await answer(offer.id, { ...body, nonce })).problem).toMatchObject({
      code: 'challenge_over',
    })
  // (r, n - s) is a signature of the same key.
  const { r, s } = secp256k1.Signature.fromBytes(
    Buffer.from(body.signature.slice(2), 'hex'),
    'compact',
  )
  const twin = Buffer.from(
    new secp256k1.Signature(r, secp256k1.Point.Fn.ORDER - s).toBytes('compact'),
  ).toString('hex')
  expect((await answer(offer.id, { ...body, signature: `0x${twin}` })).problem).toMatchObject({
    code: 'challenge_over',
  })

  const other = await startBackend({ beside: backend, clock: backend.clock })
  const given = (await challenge(offer.id)).answer!
  const second = { nonce: given.nonce, signature: signature64(given.message, cluster.key) }
  const both = await Promise.all(
    [backend, other].map((process) =>
      process.call(offerProve, { params: { id: offer.id }, body: second }),
    ),
  )
  expect(both.map((called) => called.status).toSorted((a, b) => a - b)).toEqual([200, 409])
})

test('a nonce ends after five minutes, and one of a clock that was ahead counts as ended', async () => {
  const { offer, cluster } = await world.offer(operator)
  const given = (await challenge(offer.id)).answer!
  const body = { nonce: given.nonce, signature: signature64(given.message, cluster.key) }
  backend.clock.advance(challengeLifetimeMs)
  expect((await answer(offer.id, body)).problem).toMatchObject({ code: 'challenge_over' })
  backend.clock.jump(-challengeLifetimeMs - 1)
  expect((await answer(offer.id, body)).problem).toMatchObject({ code: 'challenge_over' })
  backend.clock.jump(1_000)
  expect((await answer(offer.id, body)).status).toBe(200)
})

test('a nonce is valid only for its offer and for the address that the offer had', async () => {
  const { offer, cluster } = await world.offer(operator)
  const { offer: other } = await world.offer(operator)
  const given = (await challenge(offer.id)).answer!
  const body = { nonce: given.nonce, signature: signature64(given.message, cluster.key) }
  expect((await answer(other.id, body)).problem).toMatchObject({ code: 'challenge_over' })
  const made = await makeChainKey()
  await operator.call(offerAccessAddressSet, {
    params: { id: offer.id },
    body: { address: made.address },
  })
  expect((await answer(offer.id, body)).problem).toMatchObject({ code: 'challenge_over' })
  for (const nonce of ['', 'x', 'A'.repeat(72)])
    expect((await answer(offer.id, { ...body, nonce })).problem).toMatchObject({
      code: 'challenge_over',
    })
})

test('a nonce that is presented for another offer or address is unknown', async () => {
  const own = nonces(async () => new Uint8Array(32).fill(7))
  const nonce = await own.make('offer', 'address', 1_800_000_000_000)
  expect(await own.endOf(nonce, 'offer', 'address')).toBe(1_800_000_000_000)
  expect(await own.endOf(nonce, 'another offer', 'address')).toBeUndefined()
  expect(await own.endOf(nonce, 'offer', 'another address')).toBeUndefined()
  const later = Buffer.from(nonce, 'base64url')
  later[21]! += 1
  expect(await own.endOf(later.toString('base64url'), 'offer', 'address')).toBeUndefined()
  expect(
    await nonces(async () => new Uint8Array(32)).endOf(nonce, 'offer', 'address'),
  ).toBeUndefined()
})

test.each([
  '',
  '0x',
  `0x${'g'.repeat(128)}`,
  `0x${'0'.repeat(129)}`,
  `0x${'0'.repeat(132)}`,
  `0x${'0'.repeat(128)}\n`,
])('the signature %j is malformed', async (signature) => {
  const { offer } = await world.offer(operator)
  const { nonce } = (await challenge(offer.id)).answer!
  expect((await answer(offer.id, { nonce, signature })).problem).toMatchObject({
    code: 'invalid',
    fields: { signature: expect.any(String) as string },
  })
})

test('there is nothing to prove without an access address, for a withdrawn offer, and after the cluster was removed', async () => {
  const { offer: bare } = await world.offer(operator, { bare: true })
  expect((await challenge(bare.id)).problem).toMatchObject({
    code: 'transition_refused',
    error: 'The offer has no access address yet',
  })

  const { offer, cluster } = await world.offer(operator)
  const given = (await challenge(offer.id)).answer!
  await operator.call(offerUpdate, { params: { id: offer.id }, body: { status: 'withdrawn' } })
  const late = await answer(offer.id, {
    nonce: given.nonce,
    signature: signature64(given.message, cluster.key),
  })
  expect(late.problem).toMatchObject({
    code: 'transition_refused',
    error: 'The offer is withdrawn',
  })

  const { offer: second, cluster: removed } = await world.offer(operator)
  await world.remove(removed)
  expect((await challenge(second.id)).problem).toMatchObject({ code: 'transition_refused' })
  expect((await challenge(`0x${'00'.repeat(32)}`)).status).toBe(404)
})

test('the first proof is in the audit log; later ones only update the time, and make no change of a user stale', async () => {
  const { offer, cluster } = await world.offer(operator)
  await prove(backend, offer.id, cluster.key)
  const { version } = await world.look(operator, offer.id)
  backend.clock.advance(120_000)
  await prove(backend, offer.id, cluster.key)
  operator = await backend.signIn({ role: 'admin' })
  expect(await world.look(operator, offer.id)).toMatchObject({
    version,
    proven_at: new Date(backend.clock.now()).toISOString(),
  })
  await backend.publish()
  const { items } = (
    await operator.call(auditList, { query: { target: offer.id, action: 'offer.proven' } })
  ).answer!
  expect(items).toMatchObject([{ actor: null, after: { access_address: cluster.key.address } }])
})

test('a source that asks too often is slowed down, and is told when to come back', async () => {
  const { offer } = await world.offer(operator)
  let slowed: Awaited<ReturnType<typeof challenge>> | undefined
  for (let asked = 0; asked < 30 && slowed?.status !== 429; asked++)
    slowed = await challenge(offer.id)
  expect(slowed).toMatchObject({ status: 429, problem: { code: 'throttled' } })
  expect(Number(slowed!.headers['retry-after'])).toBeGreaterThan(0)
  backend.clock.advance(4_000)
  expect((await challenge(offer.id)).status).toBe(200)
})

test('used nonces are removed after they would have ended', async () => {
  const { offer, cluster } = await world.offer(operator)
  await prove(backend, offer.id, cluster.key)
  const count = async () =>
    (await backend.platform.db.selectFrom('offer_proof').select('nonce').execute()).length
  await backend.domains.offers.removeOld!()
  expect(await count()).toBeGreaterThan(0)
  backend.clock.advance(challengeLifetimeMs + 1)
  await backend.domains.offers.removeOld!()
  expect(await count()).toBe(0)
})
