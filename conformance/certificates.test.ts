/**
 * Compares our certificates with Talos's, and checks that Go accepts ours. See `README.md` of this
 * folder.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { issueCertificate } from '#talos/pki/certificates.ts'
import type { KeyPair } from '#talos/pki/keys.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { answersFile, authoritiesFile, versions } from './answers.ts'
import {
  certificateCases,
  hasSha256KeyId,
  now,
  ourCertificates,
  profileOf,
  type Profile,
} from './certificates.ts'
import type { Answers } from './compare.ts'
import { knownCertificateDifferences } from './differences.ts'
import { allCases } from './make-cases.ts'

const ours = await ourCertificates(readSecrets(allCases().secrets))
const folder = mkdtempSync(join(tmpdir(), 'steelyard-conformance-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The names of the fields in which two profiles differ. */
const differing = (one: Profile, other: Profile): string[] =>
  (Object.keys(one) as (keyof Profile)[]).filter(
    (field) => JSON.stringify(one[field]) !== JSON.stringify(other[field]),
  )

describe.each(versions)('Talos %s', (version) => {
  const { certificates, talos } = JSON.parse(readFileSync(answersFile(version), 'utf8')) as Answers

  test("Go accepts every certificate that Steelyard issues, and each equals Talos's certificate except for the known differences", () => {
    const unknown: string[] = []
    for (const { id } of certificateCases) {
      const theirs = certificates.talos[id]
      const read = certificates.ours[id]
      if (theirs === undefined || read === undefined) {
        unknown.push(`${id}: Talos was not asked this yet; where Go is, run: npm run conformance`)
        continue
      }
      const own = profileOf(ours[id]!)
      // Node.js and Go must read the same values from our certificate.
      for (const field of differing(own, read))
        unknown.push(
          `${id}: ${field} is ${JSON.stringify(own[field as keyof Profile])}, Go has read another`,
        )
      if (read.verified !== 'yes') unknown.push(`${id}: Go refuses it: ${read.verified}`)
      for (const field of differing(read, theirs))
        if (
          !knownCertificateDifferences.some(
            (known) => known.field === field && known.cases.test(id),
          )
        )
          unknown.push(
            `${id}: ${field}; ours: ${JSON.stringify(read[field as keyof Profile])}; Talos: ${JSON.stringify(theirs[field as keyof Profile])}`,
          )
    }
    expect(unknown).toEqual([])
    process.stdout.write(
      `Talos ${talos}: ${certificateCases.length} of ${certificateCases.length} certificates verified by Go\n`,
    )
  })

  test('Steelyard signs with authorities created by Go, and accepts certificates signed by Go', async () => {
    const made = JSON.parse(readFileSync(authoritiesFile(version), 'utf8')) as Record<
      string,
      KeyPair & { leaf: KeyPair }
    >
    expect(Object.keys(made)).toEqual(['crypto/x509', 'talos etcd', 'talos k8s', 'talos os'])
    expect(hasSha256KeyId(made['crypto/x509']!.crt)).toBe(true)
    for (const { leaf, ...authority } of Object.values(made)) {
      const own = await issueCertificate(authority, {
        subject: { commonName: 'node-1' },
        usages: ['server'],
        names: { dns: ['node-1'] },
        lifetimeMs: 3_600_000,
        now,
      })
      for (const pair of [leaf, own]) {
        expect(profileOf({ ca: authority.crt, ...pair })).toMatchObject({
          authorityKeyId: 'of the authority',
          verified: 'yes',
          commonName: 'node-1',
        })
        expect(!hasOpenssl || opensslAccepts(authority.crt, pair.crt)).toBe(true)
      }
    }
  })
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

function opensslAccepts(ca: string, crt: string): boolean {
  writeFileSync(join(folder, 'ca.pem'), ca)
  writeFileSync(join(folder, 'crt.pem'), crt)
  const at = String(now.getTime() / 1000 + 60)
  const said = execFileSync('openssl', [
    'verify',
    '-x509_strict',
    '-attime',
    at,
    '-purpose',
    'sslserver',
    '-CAfile',
    join(folder, 'ca.pem'),
    join(folder, 'crt.pem'),
  ])
  return said.toString().endsWith(': OK\n')
}

test('every known difference between the certificates still exists and is explained in talos/README.md', () => {
  const readme = readFileSync(join(import.meta.dirname, '../talos/README.md'), 'utf8')
  const all = versions.map(
    (version) => (JSON.parse(readFileSync(answersFile(version), 'utf8')) as Answers).certificates,
  )
  const wrong = knownCertificateDifferences.flatMap(({ title, field, cases }) => [
    ...(all.some((one) =>
      Object.keys(one.talos).some(
        (id) => cases.test(id) && differing(one.ours[id]!, one.talos[id]!).includes(field),
      ),
    )
      ? []
      : [`${title}: no certificate differs any more; remove it`]),
    ...(readme.includes(`| ${title} |`) ? [] : [`${title}: missing in talos/README.md`]),
  ])
  expect(wrong).toEqual([])
})
