import { expect, test } from 'vitest'
import { count } from '#contract/words.ts'
import { blankBmcs, readBmcs, readPlaces } from './add-bmcs.ts'

test('addresses, one CIDR and a CSV text are told apart', () => {
  expect(readPlaces('10.0.8.11, 10.0.8.12\n10.0.8.11')).toEqual({
    ok: true,
    body: { addresses: ['10.0.8.11', '10.0.8.12'] },
  })
  expect(readPlaces('10.0.8.0/24')).toEqual({ ok: true, body: { cidr: '10.0.8.0/24' } })
  const csv = 'address,username,password\n10.0.8.11,root,calvin\n'
  expect(readPlaces(csv)).toEqual({ ok: true, body: { csv } })
})

test.each([
  ['', 'Enter at least one address'],
  ['10.0.8.1/24', 'Host bits are set: did you mean 10.0.8.0/24?'],
  ['10.0.0.0/16', `A CIDR may hold at most ${count(1024)} addresses (an IPv4 /22)`],
  ['10.0.8.0/24, 10.0.9.1', 'Give either addresses or a single CIDR'],
  ['bmc-1.example.com', '"bmc-1.example.com" is not an IP address'],
])('%j is refused: %s', (text, sentence) => {
  expect(readPlaces(text)).toEqual({ ok: false, fields: { what: sentence } })
})

test('a credential, an own account or neither is sent with the addresses', () => {
  const typed = { ...blankBmcs, what: '10.0.8.11' }
  expect(readBmcs(typed)).toEqual({ ok: false, fields: { credential_id: 'Choose a credential' } })
  expect(readBmcs({ ...typed, signIn: 'later', port: '8443' })).toEqual({
    ok: true,
    body: { addresses: ['10.0.8.11'], port: 8443 },
  })
  expect(readBmcs({ ...typed, signIn: 'own', username: 'root' })).toMatchObject({
    fields: { password: 'Enter the password of the account on the BMC' },
  })
  expect(readBmcs({ ...typed, signIn: 'own', username: 'root', password: 'x' })).toEqual({
    ok: true,
    body: { addresses: ['10.0.8.11'], port: 443, username: 'root', password: 'x' },
  })
})
