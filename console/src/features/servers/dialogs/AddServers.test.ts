// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { readAddresses } from './AddServers.tsx'

describe('addresses of servers to add', () => {
  it('addresses are separated by lines or commas, and duplicates are removed', () => {
    expect(readAddresses('10.0.0.1, 10.0.0.2\n10.0.0.1\n\nfd00::1')).toEqual({
      ok: true,
      body: { addresses: ['10.0.0.1', '10.0.0.2', 'fd00::1'] },
      count: 3,
    })
  })

  it('addresses can be entered as a single CIDR, at most a /22', () => {
    expect(readAddresses('10.0.0.0/28')).toEqual({
      ok: true,
      body: { cidr: '10.0.0.0/28' },
      count: 14,
    })
    expect(readAddresses('10.0.0.0/31')).toMatchObject({ count: 2 })
    expect(readAddresses('10.0.0.0/22')).toMatchObject({ ok: true, count: 1022 })
    expect(readAddresses('10.0.0.0/21')).toMatchObject({
      ok: false,
      problem: expect.stringContaining('at most 1\u202f024'),
    })
    expect(readAddresses('10.0.0.5/24')).toEqual({
      ok: false,
      problem: 'Host bits are set: did you mean 10.0.0.0/24?',
    })
    expect(readAddresses('10.0.0.0/24, 10.1.0.1')).toEqual({
      ok: false,
      problem: 'Give either addresses or a single CIDR',
    })
  })

  it('the error quotes invalid addresses', () => {
    expect(readAddresses(' ')).toEqual({ ok: false, problem: 'Enter at least one address' })
    expect(readAddresses('10.0.0.256')).toEqual({
      ok: false,
      problem: '"10.0.0.256" is not an IP address',
    })
    expect(readAddresses('10.0.0.0/33')).toEqual({
      ok: false,
      problem: '"10.0.0.0/33" is not a CIDR',
    })
    expect(
      readAddresses(Array.from({ length: 1001 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(',')),
    ).toMatchObject({
      ok: false,
      problem: '1\u202f001 addresses are too many: at most 1\u202f000 at once',
    })
  })
})
