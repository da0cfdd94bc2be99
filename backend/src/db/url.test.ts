import { expect, test } from 'vitest'
import { readDatabaseUrl } from './url.ts'

const problem = (text: string) => {
  const read = readDatabaseUrl(text)
  return read.ok ? null : read.problem
}
const parts = (text: string) => {
  const read = readDatabaseUrl(text)
  if (!read.ok) throw new Error(read.problem)
  return read.url
}

test('one host is read with its account, port and database', () => {
  expect(parts('postgresql://stee%40l:p%3Aw:d@db.example:6432/steel%20yard')).toMatchObject({
    hosts: [{ host: 'db.example', port: 6432 }],
    user: 'stee@l',
    password: 'p:w:d',
    database: 'steel yard',
    tls: 'prefer',
    namesTls: false,
  })
  expect(parts('postgres://db').hosts).toEqual([{ host: 'db', port: 5432 }])
  // An @ in a password that isn't encoded: the last one ends the account, as in other programs.
  expect(parts('postgresql://u:p@ss@db/x')).toMatchObject({
    password: 'p@ss',
    hosts: [{ host: 'db' }],
  })
})

test('several hosts are read in order, with IPv6 addresses, sockets and ports of their own', () => {
  expect(
    parts('postgresql://u@db-a:5433,[fd00::7]:5434,%2Frun%2Fpg/s?target_session_attrs=read-write')
      .hosts,
  ).toEqual([
    { host: 'db-a', port: 5433 },
    { host: 'fd00::7', port: 5434 },
    { host: '/run/pg', port: 5432 },
  ])
  expect(parts('postgresql:///s?host=a,b&port=1,2').hosts).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ])
  expect(parts('postgresql:///s?host=a,b&port=7').hosts.map((h) => h.port)).toEqual([7, 7])
})

test('the files and the mode of TLS are read', () => {
  expect(
    parts('postgresql://db/s?sslmode=verify-full&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem'),
  ).toMatchObject({
    tls: 'verify-full',
    namesTls: true,
    rootCert: '/ca.pem',
    cert: '/c.pem',
    key: '/k.pem',
  })
})

test.each([
  ['mysql://db/s', 'must be a URL that begins with postgresql://'],
  [
    'postgresql://db/s?sslmode=on',
    'has sslmode=on, which is none of disable, allow, prefer, require, verify-ca, verify-full',
  ],
  [
    'postgresql://a,b/s?target_session_attrs=prefer-standby',
    'has target_session_attrs=prefer-standby: Steelyard writes, so it must be read-write or primary',
  ],
  ['postgresql://db/s?sslcert=/c', 'must have sslcert and sslkey together'],
  [
    'postgresql://db/s?hostaddr=10.0.0.1',
    "has the parameter hostaddr, which Steelyard doesn't know",
  ],
  ['postgresql://db:70000/s', 'names the port 70000, which is not a number from 1 to 65535'],
  ['postgresql:///s?host=a,b,c&port=1,2', 'names 3 hosts and 2 ports'],
  ['postgresql://a,,b/s', 'has an empty host in its list'],
  [
    'postgresql://u:100%@db/s',
    'has a password with a % that begins no two hexadecimal digits: write it as %25',
  ],
  ['postgresql://fd00::7/s', 'has a host that is not readable: write IPv6 addresses as [::1]'],
])('%s is refused with a sentence', (text, sentence) => {
  expect(problem(text)).toBe(sentence)
})

test('a problem never repeats the password', () => {
  for (const text of [
    'postgresql://u:hidden-word%@db/s',
    'postgresql://u:hidden-word@db:x/s',
    'postgresql://u:hidden-word@db/s?sslmode=x',
    'http://u:hidden-word@db/s',
  ])
    expect(problem(text)).not.toContain('hidden-word')
})
