import { createECDH, createPrivateKey, sign } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { expect, test } from 'vitest'
import { addressPattern } from '#contract/clusters/clusters.ts'
import { addressOf, checksummed, isChecksummed, signersOf } from './chain-address.ts'
import { makeChainKey } from './domains/clusters/create/chain-key.ts'

// The examples from EIP-55.
const known = [
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0xde709f2102306220921060314715629080e2fb77',
]

test.each(known)('the address %s gets the checksum case of EIP-55', async (address) => {
  expect(await checksummed(address.toLowerCase())).toBe(address)
  expect(await isChecksummed(address)).toBe(true)
})

test.each([
  ['one letter in the wrong case', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ['one digit mistyped', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee'],
  ['no checksum', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
  ['no 0x', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ['one digit too few', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe'],
  ['a line break', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n'],
])('an address with %s is not accepted', async (_name, address) => {
  expect(await isChecksummed(address)).toBe(false)
})

test('the address derived from an example private key is correct', async () => {
  const key = Buffer.from('4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318', 'hex')
  expect(await addressOf(key)).toBe('0x2c7536E3605D9C16a7a3D7b1898e529396a65c23')
})

test('each generated private key has 32 bytes and a different, valid address', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, makeChainKey))
  expect(new Set(keys.map((k) => k.address)).size).toBe(20)
  for (const key of keys) {
    expect(key.privateKey).toHaveLength(32)
    expect(key.address).toMatch(addressPattern)
    expect(await checksummed(key.address)).toBe(key.address)
  }
})

test('the signer of a text is recovered from a signature of an Ethereum wallet', async () => {
  // The example of web3.js, `web3.eth.accounts.sign`, made with the private key above.
  const signature = Buffer.from(
    'b91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c',
    'hex',
  )
  expect(await signersOf('Some data', signature)).toEqual([
    '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23',
  ])
  signature[64] = 1
  expect(await signersOf('Some data', signature)).toEqual([
    '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23',
  ])
  expect(await signersOf('Other data', signature)).not.toContain(
    '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23',
  )
})

test('the signer of a text is one of two that are recovered from an ES256K signature of Node.js', async () => {
  for (let i = 0; i < 20; i++) {
    const { privateKey, address } = await makeChainKey()
    const ecdh = createECDH('secp256k1')
    ecdh.setPrivateKey(privateKey)
    const point = ecdh.getPublicKey()
    const [d, x, y] = [Buffer.from(privateKey), point.subarray(1, 33), point.subarray(33)].map(
      (bytes) => bytes.toString('base64url'),
    )
    const key = createPrivateKey({
      format: 'jwk',
      key: { kty: 'EC', crv: 'secp256k1', d, x, y } as never,
    })
    const signature = sign('sha256', Buffer.from(`text ${i}`), { key, dsaEncoding: 'ieee-p1363' })
    const signers = await signersOf(`text ${i}`, signature)
    expect(signers).toHaveLength(2)
    expect(signers).toContain(address)
    expect(await signersOf(`text ${i + 1}`, signature)).not.toContain(address)
  }
})

test('a malformed signature has no signer', async () => {
  const { privateKey } = await makeChainKey()
  const good = secp256k1.sign(new TextEncoder().encode('text'), privateKey)
  const withByte = (v: number) => Buffer.concat([good, Uint8Array.of(v)])
  for (const bad of [
    Buffer.alloc(0),
    Buffer.alloc(64),
    Buffer.alloc(64, 0xff),
    good.subarray(1),
    withByte(2),
    withByte(29),
    withByte(255),
    Buffer.alloc(65),
  ])
    expect(await signersOf('text', bad)).toEqual([])
})
