import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { base32, codeAt, stepAt, stepOf, uriOf } from './totp.ts'

/** The secret of RFC 4226, appendix D, and of RFC 6238, appendix B. */
const secret = Buffer.from('12345678901234567890')

test('codes are those of RFC 4226, appendix D', () => {
  expect(Array.from({ length: 10 }, (_, step) => codeAt(secret, step))).toEqual([
    '755224',
    '287082',
    '359152',
    '969429',
    '338314',
    '254676',
    '287922',
    '162583',
    '399871',
    '520489',
  ])
})

test.each([
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
])('the code at second %i is that of RFC 6238, appendix B', (second, eightDigits) => {
  expect(codeAt(secret, stepAt(second * 1000))).toBe(eightDigits.slice(-6))
})

test('a code is accepted during its step and the steps beside it', () => {
  const at = 1_700_000_010_000
  const step = stepAt(at)
  for (const off of [-1, 0, 1])
    expect(stepOf(secret, codeAt(secret, step + off), at)).toBe(step + off)
  for (const off of [-2, 2]) expect(stepOf(secret, codeAt(secret, step + off), at)).toBeUndefined()
})

test('texts that are not a code are refused', () => {
  for (const text of ['', '12345', '1234567', 'abcdef', '１２３４５６', '-12345'])
    expect(stepOf(secret, text, 59_000)).toBeUndefined()
})

test('base32 is that of RFC 4648, section 10, without padding', () => {
  const texts = {
    '': '',
    f: 'MY',
    fo: 'MZXQ',
    foo: 'MZXW6',
    foob: 'MZXW6YQ',
    fooba: 'MZXW6YTB',
    foobar: 'MZXW6YTBOI',
  }
  for (const [text, encoded] of Object.entries(texts))
    expect(base32(Buffer.from(text))).toBe(encoded)
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      (bytes) => base32(bytes).length === Math.ceil((bytes.length * 8) / 5),
    ),
  )
})

test('the URI escapes issuer and account', () => {
  const uri = new URL(
    uriOf(secret, { issuer: 'Steelyard at example.com', account: 'a+b&c@example.com' }),
  )
  expect(uri.protocol).toBe('otpauth:')
  expect(decodeURIComponent(uri.pathname)).toContain('Steelyard at example.com:a+b&c@example.com')
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    secret: base32(secret),
    issuer: 'Steelyard at example.com',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
