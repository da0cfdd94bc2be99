import 'reflect-metadata'
import { X509Certificate } from 'node:crypto'
import { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } from '@peculiar/x509'
import { expect, test } from 'vitest'
import { generateKey, signingKeys } from '#talos/pki/keys.ts'
import { createRequest, issue, signRequest } from './certificates.ts'

test('a certificate contains the key identifier of its authority', async () => {
  const key = await generateKey('ed25519')
  const { privateKey, publicKey, algorithm } = signingKeys(key)
  const now = Date.now()
  const made = await X509CertificateGenerator.createSelfSigned({
    name: 'O=talos',
    notAfter: new Date(now + 86_400_000),
    signingAlgorithm: algorithm,
    keys: { privateKey, publicKey },
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign, true),
      new BasicConstraintsExtension(true, undefined, true),
      new SubjectKeyIdentifierExtension('00112233445566778899aabbccddeeff00112233'),
    ],
  })
  const pair = { crt: made.toString('pem'), key }
  const authority = new X509Certificate(pair.crt)
  const own = await issue(pair, { commonName: 'node-1', names: ['node-1'], usages: ['serverAuth'], lifetimeMs: 3_600_000, now })
  const signed = await signRequest(pair, (await createRequest(['node-2'])).csr, now)
  expect([own.crt, signed].map((crt) => new X509Certificate(crt).checkIssued(authority))).toEqual([true, true])
})
