import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createAuthority } from '#talos/pki/certificates.ts'
import { createRequest, fingerprintOf, issue, signRequest } from './certificates.ts'

test.each(['ed25519', 'p256'] as const)(
  'certificates of an authority with a key of kind %s are signed by it and name its key identifier',
  async (kind) => {
    const now = Date.now()
    const pair = await createAuthority({
      kind,
      subject: { organizations: ['talos'] },
      now: new Date(now),
    })
    const authority = new X509Certificate(pair.crt)
    const leaf = {
      commonName: 'node-1',
      organizations: ['os:admin'],
      names: ['node-1', '10.1.2.3', '::1', ''],
      lifetimeMs: 3_600_000,
      now,
    }
    const own = issue(pair, { ...leaf, usages: ['serverAuth', 'clientAuth'] })
    const certificate = new X509Certificate(own.crt)
    expect(certificate).toMatchObject({
      subject: 'O=os:admin\nCN=node-1',
      issuer: authority.subject,
      subjectAltName: 'DNS:node-1, IP Address:10.1.2.3, IP Address:0:0:0:0:0:0:0:1',
      keyUsage: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
      ca: false,
    })
    expect(Date.parse(certificate.validTo)).toBe(Math.floor((now + leaf.lifetimeMs) / 1000) * 1000)
    expect(own.fingerprint).toBe(fingerprintOf(own.crt))
    const signed = new X509Certificate(
      await signRequest(pair, (await createRequest(['node-2'])).csr, now),
    )
    expect(signed.subjectAltName).toBe('DNS:node-2')
    // `checkIssued` compares names and key identifiers, `verify` the signature.
    for (const each of [certificate, signed])
      expect([each.checkIssued(authority), each.verify(authority.publicKey)]).toEqual([true, true])
  },
)
