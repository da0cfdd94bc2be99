import { X509Certificate } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { request as plain } from 'node:http'
import { get } from 'node:https'
import path from 'node:path'
import { connect, type ConnectionOptions, Server } from 'node:tls'
import { expect, test } from 'vitest'
import { createAuthority, issueCertificate } from '#talos/pki/certificates.ts'
import { startBackend } from '../testing/backend.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { renewal } from './renewal.ts'

const folder = temporaryFolder('tls')
const now = new Date()
const authority = await createAuthority({
  kind: 'p256',
  subject: { commonName: 'Test authority' },
  now,
})
const issue = () =>
  issueCertificate(authority, {
    subject: { commonName: 'localhost' },
    names: { addresses: ['127.0.0.1'] },
    usages: ['server'],
    lifetimeMs: 86_400_000,
    now,
  })
const leaf = await issue()
const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')]
writeFileSync(cert, leaf.crt)
writeFileSync(key, leaf.key, { mode: 0o600 })
const backend = await startBackend({
  environment: { STEELYARD_TLS_CERT: cert, STEELYARD_TLS_KEY: key },
})
const port = Number(new URL(await backend.listen()).port)

test('with a certificate the server speaks HTTPS and sends HSTS', async () => {
  const answer = await new Promise<{ status: number | undefined; hsts: string | undefined }>(
    (resolve, reject) => {
      get({ host: '127.0.0.1', port, path: '/healthz', ca: authority.crt }, (response) => {
        response.resume()
        resolve({
          status: response.statusCode,
          hsts: response.headers['strict-transport-security'],
        })
      }).on('error', reject)
    },
  )
  expect(answer).toEqual({ status: 200, hsts: 'max-age=31536000; includeSubDomains' })
})

test('a chunked body is accepted over HTTPS as well', async () => {
  const ask = (extension: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca: authority.crt }, () =>
        socket.write(
          `POST /v1/authorize HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2${extension}\r\n{}\r\n0\r\n\r\n`,
        ),
      )
      let seen = ''
      socket.on('data', (piece: Buffer) => (seen += piece.toString()))
      socket.on('close', () => resolve(seen))
      socket.on('error', reject)
    })
  expect(await ask('')).toMatch(/^HTTP\/1\.1 422 /)
  expect(await ask(';a=b')).toMatch(/^HTTP\/1\.1 400 /)
})

test('plain HTTP on the HTTPS port is refused, not redirected', async () => {
  const outcome = await new Promise<string>((resolve) => {
    plain({ host: '127.0.0.1', port, path: '/' }, (response) =>
      resolve(String(response.statusCode)),
    )
      .on('error', () => resolve('refused'))
      .end()
  })
  expect(['refused', '400']).toContain(outcome)
})

test.each([
  'AES128-GCM-SHA256',
  'AES256-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA384',
  'ECDHE-ECDSA-AES128-SHA256',
])('a TLS 1.2 cipher suite with CBC or without forward secrecy is refused: %s', async (ciphers) => {
  expect(await agreed({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` })).toBe('refused')
})

test('TLS 1.3 is preferred, and TLS 1.2 is available for clients without 1.3', async () => {
  expect(await agreed({})).toBe('TLSv1.3')
  expect(await agreed({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2')
})

/** The TLS version negotiated by a client with these settings. */
const agreed = (settings: ConnectionOptions) =>
  new Promise<string>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca: authority.crt, ...settings }, () => {
      resolve(socket.getProtocol() ?? '')
      socket.destroy()
    })
    socket.on('error', () => resolve('refused'))
  })

test('TLS before 1.2 is refused', async () => {
  const outcome = await new Promise<string>((resolve) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port,
        ca: authority.crt,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT:@SECLEVEL=0',
      },
      () => resolve(socket.getProtocol() ?? ''),
    )
    socket.on('error', () => resolve('refused'))
  })
  expect(outcome).toBe('refused')
})

/** The serial number of the certificate that the server answers with. */
const answered = () =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: authority.crt }, () => {
      resolve(socket.getPeerX509Certificate()!.serialNumber)
      socket.destroy()
    }).on('error', reject)
  })

test('a renewed certificate is used without a restart, and one that does not fit leaves the former', async () => {
  const { server } = backend.app
  if (!(server instanceof Server)) throw new Error('It has no TLS')
  const told: string[] = []
  const tell = (event: string, { reason = '' }: { reason?: unknown } = {}) =>
    void told.push(`${event} ${String(reason)}`.trim())
  const look = renewal(
    server,
    { certFile: cert, keyFile: key },
    { debug: tell, info: tell, warn: tell, error: tell },
  )
  const serialOf = ({ crt }: { crt: string }) => new X509Certificate(crt).serialNumber
  await look()
  await look()
  expect([await answered(), told]).toEqual([serialOf(leaf), []])

  const renewed = await issue()
  writeFileSync(cert, renewed.crt)
  await look()
  expect([await answered(), told]).toEqual([serialOf(leaf), []])
  writeFileSync(key, renewed.key)
  await look()
  expect([await answered(), told]).toEqual([serialOf(renewed), ['certificate.renewed']])
  const weak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:@SECLEVEL=0' } as const
  expect(await agreed(weak)).toBe('refused')

  const goesOn = 'Steelyard goes on with the former certificate'
  writeFileSync(cert, 'no certificate')
  for (let looks = 0; looks < 3; looks++) await look()
  expect(await answered()).toBe(serialOf(renewed))
  expect(told).toHaveLength(2)
  expect(told[1]).toBe(
    `certificate.refused STEELYARD_TLS_CERT names ${cert}, which is not a certificate in PEM. ${goesOn}`,
  )

  const last = await issue()
  const begunChain = last.crt.slice(0, last.crt.length / 2)
  writeFileSync(cert, `${last.crt}${begunChain}`)
  writeFileSync(key, last.key)
  await look()
  await look()
  expect(told.splice(2)).toEqual([
    `certificate.refused STEELYARD_TLS_CERT names ${cert}, which can't be used for TLS: bad end line. ${goesOn}`,
  ])
  expect(await answered()).toBe(serialOf(renewed))

  writeFileSync(cert, last.crt)
  chmodSync(key, 0o644)
  await look()
  await look()
  expect(told.slice(2)).toEqual([
    `certificate.refused STEELYARD_TLS_KEY names ${key}, which all users of this machine may access: chmod o= ${key}. ${goesOn}`,
  ])
  chmodSync(key, 0o600)
  await look()
  expect(await answered()).toBe(serialOf(last))
})
