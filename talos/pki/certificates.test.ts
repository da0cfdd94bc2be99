import 'reflect-metadata'
import { execFileSync } from 'node:child_process'
import { createHash, type webcrypto, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate as Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateConfig } from '../config/generate.ts'
import {
  secretsOfControlPlane,
  generateSecrets,
  readSecrets,
  type SecretsBundle,
  writeSecrets,
} from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { issueCertificate, mintKubernetesClient, mintTalosClient } from './certificates.ts'
import { generateKey, signingKeys } from './keys.ts'

const now = new Date()
const hourMs = 3_600_000
let bundle: SecretsBundle

beforeAll(async () => {
  bundle = await generateSecrets({ now, keys: await readyKeys() })
})

describe('authorities', () => {
  test('authorities have Talos’s subjects, keys and extensions', () => {
    const { os, etcd, k8s, k8sAggregator, k8sServiceAccount } = bundle.certs
    expect(os.key).toMatch(/^-----BEGIN ED25519 PRIVATE KEY-----\n/)
    for (const pair of [etcd, k8s, k8sAggregator])
      expect(pair.key).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/)
    expect(k8sServiceAccount.key).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/)
    const subjects = [os, etcd, k8s].map((pair) => new X509Certificate(pair.crt).subject)
    expect(subjects).toEqual(['O=talos', 'O=etcd', 'O=kubernetes'])
    for (const pair of [os, etcd, k8s, k8sAggregator]) {
      const read = new X509Certificate(pair.crt)
      expect(read.ca).toBe(true)
      expect(read.verify(read.publicKey)).toBe(true)
      expect(read.validToDate.getTime() - now.getTime()).toBeGreaterThan(87_599 * hourMs)
      expect(read.validFromDate.getTime()).toBeLessThan(now.getTime())
      expect(pair.crt.endsWith('-----END CERTIFICATE-----\n')).toBe(true)
    }
  })

  test('tokens and ids have Talos’s form', async () => {
    expect(bundle.trustdInfo.token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
    expect(bundle.secrets.bootstrapToken).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
    const older = await generateSecrets({ now, contract: 'v1.13', keys: await readyKeys() })
    expect(older.cluster.id).toMatch(/^[A-Za-z0-9_-]{43}=$/)
    expect(bundle.cluster.id).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    expect(Buffer.from(bundle.cluster.secret, 'base64')).toHaveLength(32)
  })

  test('for Talos 1.6 and older, service accounts have an elliptic-curve key', async () => {
    const { k8sServiceAccount: _, ...keys } = await readyKeys()
    const old = await generateSecrets({ now, contract: 'v1.6', keys })
    expect(old.certs.k8sServiceAccount.key).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/)
  })
})

describe('secrets file', () => {
  test('a written bundle reads back unchanged', () => {
    expect(readSecrets(writeSecrets(bundle))).toEqual(bundle)
  })

  test('a bundle with an AES-CBC encryption key is read, and the key is used in the configuration of control planes', () => {
    const { bootstrapToken, secretboxEncryptionSecret: key } = bundle.secrets
    const older = { ...bundle, secrets: { bootstrapToken, aescbcEncryptionSecret: key! } }
    expect(readSecrets(writeSecrets(older))).toEqual(older)
    const config = generateConfig({
      role: 'control_plane',
      clusterName: 'older',
      endpoint: 'https://10.0.0.1:6443',
      talosVersion: 'v1.13.9',
      kubernetesVersion: '1.36.3',
      secrets: older,
      installDisk: '/dev/sda',
      installImage: 'ghcr.io/siderolabs/installer:v1.13.9',
    })
    expect(config).toContain(`aescbcEncryptionSecret: ${key}`)
    expect(config).not.toContain('secretboxEncryptionSecret')
    expect(secretsOfControlPlane(config)).toEqual(older)
  })

  test('errors name the missing or invalid field', () => {
    const text = writeSecrets(bundle)
    expect(() => readSecrets(text.replace(/ {4}secretbox.*\n/, ''))).toThrow(
      'Secrets: secrets.secretboxencryptionsecret is missing',
    )
    expect(() => readSecrets(text.replace(/trustdinfo:\n {4}token: .*\n/, ''))).toThrow(
      'Secrets: trustdinfo.token is missing',
    )
    expect(() => readSecrets(text.replace(/(os:\n {8}crt: )\S+/, '$1aGVsbG8='))).toThrow(
      'Secrets: certs.os.crt is not the PEM text',
    )
    expect(() => readSecrets('- just a list')).toThrow(
      'Secrets: the text is no YAML mapping of plain values (line 1)',
    )
    expect(() => readSecrets('{a: 1}')).toThrow('Secrets: cluster.id is missing')
  })
})

describe('client certificates', () => {
  test('Talos’s client certificates have the roles as organizations, and are valid for client authentication only', async () => {
    const made = await mintTalosClient(bundle, {
      roles: ['os:admin', 'os:reader'],
      lifetimeMs: hourMs,
      now,
    })
    const read = new X509Certificate(made.crt)
    expect(read.subject).toBe('O=os:admin\nO=os:reader')
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
    expect(read.ca).toBe(false)
    expect(read.validToDate.getTime()).toBeLessThanOrEqual(now.getTime() + hourMs)
    expect(read.verify(new X509Certificate(made.ca).publicKey)).toBe(true)
  })

  test('Kubernetes’ client certificates have user and groups', async () => {
    const made = await mintKubernetesClient(bundle, {
      commonName: 'admin',
      organizations: ['system:masters'],
      lifetimeMs: hourMs,
      now,
    })
    expect(new X509Certificate(made.crt).subject).toBe('O=system:masters\nCN=admin')
  })
})

const publicKeyBytes = async (key: webcrypto.CryptoKey) =>
  Buffer.from(await crypto.subtle.exportKey('spki', key))

const openssl = (() => {
  try {
    return execFileSync('openssl', ['version'], { encoding: 'utf8' }).startsWith('OpenSSL')
  } catch {
    return false
  }
})()

// The strictest parser available. Without openssl the other tests here still parse every
// certificate, with the parser of Node.js.
describe.runIf(openssl)('openssl verify -x509_strict', () => {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-pki-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  function verify(ca: string, crt: string, purpose: string): string {
    writeFileSync(join(folder, 'ca.pem'), ca)
    writeFileSync(join(folder, 'crt.pem'), crt)
    return execFileSync(
      'openssl',
      [
        'verify',
        '-x509_strict',
        '-purpose',
        purpose,
        '-CAfile',
        join(folder, 'ca.pem'),
        join(folder, 'crt.pem'),
      ],
      {
        encoding: 'utf8',
      },
    )
  }

  test('OpenSSL accepts every certificate that Steelyard makes', async () => {
    const { os, etcd, k8s, k8sAggregator } = bundle.certs
    for (const pair of [os, etcd, k8s, k8sAggregator])
      expect(verify(pair.crt, pair.crt, 'any')).toContain(': OK')
    const talos = await mintTalosClient(bundle, { roles: ['os:admin'], lifetimeMs: hourMs, now })
    expect(verify(talos.ca, talos.crt, 'sslclient')).toContain(': OK')
    const kubernetes = await mintKubernetesClient(bundle, {
      commonName: 'admin',
      organizations: ['system:masters'],
      lifetimeMs: hourMs,
      now,
    })
    expect(verify(kubernetes.ca, kubernetes.crt, 'sslclient')).toContain(': OK')
    const server = await issueCertificate(os, {
      subject: { commonName: 'node-1' },
      usages: ['server'],
      names: { dns: ['node-1'], addresses: ['127.20.1.1'] },
      lifetimeMs: 24 * hourMs,
      now,
    })
    expect(verify(os.crt, server.crt, 'sslserver')).toContain(': OK')
  })

  test('OpenSSL accepts certificates of an authority whose key identifier isn’t a SHA-1 hash, as created by Go since 1.25', async () => {
    const key = await generateKey('ed25519')
    const { privateKey, publicKey, algorithm } = signingKeys(key)
    const keyId = createHash('sha256')
      .update((await publicKeyBytes(publicKey)).subarray(-32))
      .digest('hex')
      .slice(0, 40)
    const authority = await X509CertificateGenerator.createSelfSigned({
      name: 'O=talos',
      notAfter: new Date(now.getTime() + 24 * hourMs),
      signingAlgorithm: algorithm,
      keys: { privateKey, publicKey },
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign, true),
        new BasicConstraintsExtension(true, undefined, true),
        new SubjectKeyIdentifierExtension(keyId),
      ],
    })
    const pair = { crt: `${authority.toString('pem')}\n`, key }
    const leaf = await issueCertificate(pair, {
      subject: { commonName: 'node-1' },
      usages: ['server'],
      names: { dns: ['node-1'] },
      lifetimeMs: hourMs,
      now,
    })
    expect(verify(pair.crt, leaf.crt, 'sslserver')).toContain(': OK')
    expect(new Certificate(leaf.crt).getExtension(AuthorityKeyIdentifierExtension)?.keyId).toBe(
      keyId,
    )
  })
})
