import * as fc from 'fast-check'
import { isIP } from 'node:net'
import { expect, test } from 'vitest'
import {
  contains,
  formatAddress,
  formatCidr,
  hostsOf,
  overlap,
  parseAddress,
  parseCidr,
  readCidr,
  sizeOf,
} from './addresses.ts'

const v4 = fc
  .bigInt({ min: 0n, max: 2n ** 32n - 1n })
  .map((value) => ({ family: 4 as const, value }))
const v6 = fc
  .bigInt({ min: 0n, max: 2n ** 128n - 1n })
  .filter((v) => v >> 32n !== 0xffffn)
  .map((value) => ({ family: 6 as const, value }))

test('a formatted address parses back to itself', () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6), (address) => {
      expect(parseAddress(formatAddress(address))).toEqual(address)
    }),
  )
})

test('Node.js reads every formatted address as the same family', () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6), (address) => {
      expect(isIP(formatAddress(address))).toBe(address.family)
    }),
  )
})

test.each([
  '01.2.3.4',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '0x7f.0.0.1',
  '2130706433',
  '1.2.3.4 ',
  '',
  '١.٢.٣.٤',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  'fe80::1%eth0',
  '1::2::3',
  ':1',
  '12345::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7::8',
])('%j is not a valid address', (text) => expect(parseAddress(text)).toBeNull())

test.each([
  ['2001:db8:0:0:0:0:0:1', '2001:db8::1'],
  ['0:0:0:0:0:0:0:0', '::'],
  ['2001:DB8:0:1:0:0:0:1', '2001:db8:0:1::1'],
])('%s is formatted as %s (RFC 5952)', (text, canonical) =>
  expect(formatAddress(parseAddress(text)!)).toBe(canonical),
)

test('a CIDR with host bits is refused, and the probable network is suggested', () => {
  expect(readCidr('10.0.0.7/24')).toEqual({ ok: false, corrected: '10.0.0.0/24' })
  expect(readCidr('10.0.0.0/33')).toEqual({ ok: false, corrected: null })
  expect(readCidr('10.0.0.0/024')).toEqual({ ok: false, corrected: null })
})

test('two networks overlap if and only if one contains the first address of the other', () => {
  const cidr = fc.tuple(v4, fc.integer({ min: 0, max: 32 })).map(([a, prefix]) => ({
    family: 4 as const,
    base: (a.value >> BigInt(32 - prefix)) << BigInt(32 - prefix),
    prefix,
  }))
  fc.assert(
    fc.property(cidr, cidr, (a, b) => {
      expect(overlap(a, b)).toBe(
        contains(a, { family: 4, value: b.base }) || contains(b, { family: 4, value: a.base }),
      )
    }),
  )
})

test.each([
  ['10.0.0.0/30', ['10.0.0.1', '10.0.0.2']],
  ['10.0.0.0/31', ['10.0.0.0', '10.0.0.1']],
  ['10.0.0.9/32', ['10.0.0.9']],
])('the host addresses of %s are enumerated', (text, hosts) =>
  expect([...hostsOf(parseCidr(text)!)].map(formatAddress)).toEqual(hosts),
)

test('the size of a network counts every address', () => {
  expect(sizeOf(parseCidr('10.0.0.0/24')!)).toBe(256n)
  expect(sizeOf(parseCidr('2001:db8::/64')!)).toBe(2n ** 64n)
  expect(formatCidr(parseCidr('2001:db8::/64')!)).toBe('2001:db8::/64')
})
