import { expect, test } from 'vitest'
import { createAuthority, issueCertificate } from '#talos/pki/certificates.ts'
import { certificateSaid } from './certificate.ts'

const now = new Date('2026-11-29T20:00:00Z')
const dayMs = 86_400_000
const authority = await createAuthority({
  kind: 'p256',
  subject: { commonName: 'Test authority' },
  now,
})
const pemFor = async (days: number) => {
  const { crt } = await issueCertificate(authority, {
    subject: { commonName: 'steelyard.example.com' },
    names: { dns: ['steelyard.example.com'], addresses: ['192.0.2.7', '2001:db8::7'] },
    usages: ['server'],
    lifetimeMs: days * dayMs,
    now,
  })
  return Buffer.from(crt)
}
const [long, short] = [await pemFor(90), await pemFor(13)]
const said = (
  pem: Buffer,
  { host = 'steelyard.example.com', afterDays = 0 }: { host?: string | null; afterDays?: number },
) =>
  certificateSaid(pem, {
    publicUrl: host === null ? null : `https://${host}:8443`,
    now: new Date(now.getTime() + afterDays * dayMs),
  })

test('doctor says for which host a certificate is, and how long', () => {
  expect(said(long, {})).toEqual({
    verdict: 'good',
    text: 'The certificate in STEELYARD_TLS_CERT is valid for steelyard.example.com until 2027-02-27 20:00 UTC',
  })
  expect(said(long, { host: '192.0.2.7' }).verdict).toBe('good')
  expect(said(long, { host: '[2001:db8::7]' }).verdict).toBe('good')
})

test('doctor warns of a certificate that ends within 14 days, and an ended one is a problem', () => {
  expect(said(short, {})).toMatchObject({
    verdict: 'warning',
    text: expect.stringContaining('ends on 2026-12-12 20:00 UTC') as string,
  })
  expect(said(short, { afterDays: 13 })).toMatchObject({
    verdict: 'bad',
    text: expect.stringContaining('ended on 2026-12-12 20:00 UTC') as string,
  })
})

test('a certificate that is not valid yet is a problem, whose usual cause is the clock', () => {
  expect(said(long, { afterDays: -2 })).toMatchObject({
    verdict: 'bad',
    text: expect.stringContaining("compare this machine's clock") as string,
  })
})

test('doctor warns of a certificate for another host, but not behind a proxy', () => {
  for (const host of ['other.example.com', '192.0.2.8'])
    expect(said(long, { host })).toMatchObject({
      verdict: 'warning',
      text: expect.stringContaining(`is not for ${host}`) as string,
    })
  expect(said(long, { host: null }).verdict).toBe('good')
})
