import { expect, test } from 'vitest'
import { addressPattern } from '#contract/clusters/clusters.ts'
import { addressOf, checksummed, makeChainKey } from './chain-key.ts'

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
