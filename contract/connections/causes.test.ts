import { expect, test } from 'vitest'
import { connectionCauses, connectionFault, NoStarttls, OutOfTime, ProxyRefused } from './causes.ts'
import { type Attempt, connectionReason, connectionSentence, mayPass } from './words.ts'

const coded = (code: string, more: object = {}) =>
  Object.assign(new Error('a text that nobody reads'), { code, ...more })
const attempt: Attempt = {
  by: 'https',
  authority: 'set NODE_EXTRA_CA_CERTS to its PEM file',
  now: new Date('2026-11-30T00:00:00Z'),
}

test('Test that the cause is read from codes, and that wrapped errors are looked through', () => {
  const causeOf = (error: unknown) => connectionFault(error)?.cause
  expect(causeOf(coded('ECONNREFUSED'))).toBe('refused')
  expect(causeOf(new TypeError('fetch failed', { cause: coded('ENOTFOUND') }))).toBe('unknown_name')
  expect(causeOf(new AggregateError([coded('ODD'), coded('EHOSTUNREACH')]))).toBe('no_route')
  expect(causeOf(coded('ESOCKET', { originalCode: 'CERT_HAS_EXPIRED' }))).toBe('expired')
  expect(causeOf(coded('HPE_INVALID_CONSTANT', { rawPacket: Buffer.from('220 x') }))).toBe(
    'not_http',
  )
  expect(
    causeOf(coded('HPE_INVALID_CONSTANT', { rawPacket: Buffer.from([0x15, 3, 3, 0, 2]) })),
  ).toBe('wants_tls')
  expect(causeOf(coded('ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED'))).toBe('own_expired')
  expect(causeOf(coded('ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE'))).toBe('own_certificate')
  expect(causeOf(coded('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'))).toBe('tls_versions')
  expect(causeOf(coded('CERT_REVOKED'))).toBe('untrusted')
  const around = new Error('a circle')
  around.cause = around
  for (const error of [around, new Error('ECONNREFUSED'), coded('42P01'), 'ECONNREFUSED', null])
    expect(causeOf(error)).toBeUndefined()
})

test('Test that a code that says no more than EPROTO is told apart by the number of OpenSSL', () => {
  const causeOf = (number: string) =>
    connectionFault(
      Object.assign(new Error(`write EPROTO 80CC:error:${number}:SSL routines:x:`), {
        code: 'EPROTO',
      }),
    )?.cause
  expect(
    ['0A00010B', '0A0000C6', '0A000412', '0A000415', '0A00042E', '0A000001'].map(causeOf),
  ).toEqual(['plain', 'plain', 'own_certificate', 'own_expired', 'tls_versions', 'tls'])
})

test("Test that the program's own limit is told in seconds, also as the cause of an AbortError", () => {
  const aborted = Object.assign(new Error('The operation was aborted'), {
    name: 'AbortError',
    code: 'ABORT_ERR',
    cause: new OutOfTime(4_000),
  })
  expect(connectionReason(aborted)).toBe('did not answer within 4 s')
  expect(connectionReason(new OutOfTime(300))).toBe('did not answer within 300 ms')
  expect(connectionReason(new DOMException('The operation was aborted', 'TimeoutError'))).toBe(
    'did not answer in time',
  )
})

test('Test that a proxy that wants a user says which methods it offers', () => {
  const told = (challenges: string[], hasUser = false) =>
    connectionSentence('steelyard', new ProxyRefused(407, challenges, hasUser), attempt)
  expect(told(['Negotiate', 'NTLM'])).toBe(
    'steelyard is behind a proxy that wants a user: it offers Negotiate, NTLM, of which only Basic is supported here. NO_PROXY may name the host, if it can be reached without the proxy',
  )
  expect(told(['Digest realm="Basic a, Basic b", nonce="x=y, z", Negotiate'])).toContain(
    'it offers Digest, Negotiate,',
  )
  expect(told(['Negotiate, basic realm="corp"'])).toContain('HTTPS_PROXY=http://USER:PASSWORD@')
  expect(told([])).toContain('HTTPS_PROXY=http://USER:PASSWORD@')
  expect(told(['Basic realm="x"'], true)).toContain('check the user and the password')
  expect(connectionReason(new ProxyRefused(403, [], false))).toBe(
    'the proxy refuses the connection (403)',
  )
})

test('Test that every cause has a sentence of its own, and that no text of a library is in it', () => {
  const codes = {
    refused: 'ECONNREFUSED',
    lost: 'ECONNRESET',
    unknown_name: 'ENOTFOUND',
    no_name_server: 'EAI_AGAIN',
    no_route: 'EHOSTUNREACH',
    no_network: 'ENETUNREACH',
    no_address: 'EADDRNOTAVAIL',
    late: 'ETIMEDOUT',
    plain: 'ERR_SSL_WRONG_VERSION_NUMBER',
    not_http: 'HPE_INVALID_CONSTANT',
    not_http2: 'ERR_HTTP2_ERROR',
    tls_versions: 'ERR_SSL_UNSUPPORTED_PROTOCOL',
    tls: 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR',
    own_certificate: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    own_expired: 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED',
    self_signed: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    unknown_authority: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    expired: 'CERT_HAS_EXPIRED',
    not_yet_valid: 'CERT_NOT_YET_VALID',
    wrong_name: 'ERR_TLS_CERT_ALTNAME_INVALID',
    untrusted: 'INVALID_PURPOSE',
  }
  const errors: unknown[] = [
    ...Object.values(codes).map((code) => coded(code)),
    coded('HPE_INVALID_CONSTANT', { rawPacket: Uint8Array.of(0x15, 3) }),
    new NoStarttls(),
    new ProxyRefused(407, [], false),
    new ProxyRefused(502, [], false),
    new DOMException('The operation was aborted', 'AbortError'),
  ]
  expect(new Set(errors.map((error) => connectionFault(error)?.cause))).toEqual(
    new Set(connectionCauses),
  )
  const sentences = errors.flatMap((error) => [
    connectionSentence('X', error, attempt),
    connectionReason(error),
  ])
  expect(new Set(sentences).size).toBe(sentences.length)
  for (const sentence of sentences) expect(sentence).not.toMatch(/nobody reads|abort|cancel|SSL/i)
  expect(connectionSentence('X', coded('EODD'), attempt)).toBe("X can't be reached (EODD)")
  expect(connectionSentence('X', new Error('odd'), attempt)).toBe("X can't be reached")
  expect([mayPass(coded('ECONNRESET')), mayPass(coded('CERT_HAS_EXPIRED')), mayPass(null)]).toEqual(
    [true, false, false],
  )
})

test('Test that the names of a certificate are shown within bounds', () => {
  const error = (subjectaltname: string) =>
    coded('ERR_TLS_CERT_ALTNAME_INVALID', { cert: { subjectaltname } })
  expect(connectionReason(error('DNS:a.example, IP Address:192.0.2.1'))).toBe(
    'its certificate is for a.example, 192.0.2.1',
  )
  expect(connectionReason(error(''))).toBe('its certificate is for no name')
  expect(connectionReason(error(`DNS:\u{1b}[31m${'x'.repeat(5000)}`)).length).toBeLessThan(300)
})
