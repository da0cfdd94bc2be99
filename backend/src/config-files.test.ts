import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createAuthority } from '#talos/pki/certificates.ts'
import { ConfigRefused } from './config.ts'
import { checkedConfig } from './config.ts'
import { temporaryFolder } from './testing/folder.ts'

const folder = temporaryFolder('settings')
const file = (name: string, text: string): string => {
  const at = path.join(folder, name)
  writeFileSync(at, text)
  return at
}
const problems = (environment: Record<string, string>): Promise<readonly string[]> =>
  checkedConfig(
    { STEELYARD_DATA: path.join(folder, 'data', 'deeper'), ...environment },
    folder,
  ).then(
    () => [],
    (error: unknown) => {
      if (error instanceof ConfigRefused) return error.problems
      throw error
    },
  )

test('if a setting names a bad file, the problem is reported under that setting, together with all other problems', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = file('other.key', privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const { crt } = await createAuthority({
    kind: 'p256',
    subject: { commonName: 'Test authority' },
    now: new Date(),
  })
  expect(
    await problems({
      PORT: 'x',
      STEELYARD_TLS_CERT: 'nowhere.pem',
      STEELYARD_TLS_KEY: file('no.key', 'nonsense'),
      STEELYARD_SIMULATE: 'night.yaml',
    }),
  ).toEqual([
    'PORT must be a number from 0 to 65535, not x',
    `STEELYARD_TLS_CERT names ${folder}/nowhere.pem, which can't be read: there is no such file`,
    `STEELYARD_TLS_KEY names ${folder}/no.key, which is not a private key in PEM without a passphrase`,
    `STEELYARD_SIMULATE names ${folder}/night.yaml, which can't be read: there is no such file`,
  ])
  chmodSync(key, 0o640)
  expect(
    await problems({ STEELYARD_TLS_CERT: file('tls.crt', crt), STEELYARD_TLS_KEY: key }),
  ).toEqual(['STEELYARD_TLS_KEY is not the key of the certificate in STEELYARD_TLS_CERT'])
})

test('a TLS private key that other users of the machine can read is refused', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = file('open.key', privateKey.export({ type: 'pkcs8', format: 'pem' }))
  chmodSync(key, 0o644)
  expect(
    await problems({ STEELYARD_TLS_CERT: file('open.crt', 'nonsense'), STEELYARD_TLS_KEY: key }),
  ).toContain(
    `STEELYARD_TLS_KEY names ${key}, which all users of this machine may access: chmod o= ${key}`,
  )
})

test('an unusable data folder is refused before anything is created', async () => {
  const taken = file('taken', '')
  expect(await problems({ STEELYARD_DATA: taken })).toEqual([
    `STEELYARD_DATA is ${taken}, which is not a folder`,
  ])
  expect(await problems({ STEELYARD_DATA: `${taken}/data` })).toEqual([
    `STEELYARD_DATA is ${taken}/data, which can't be reached: a part of its path is a file`,
  ])
  mkdirSync(path.join(folder, 'data'))
  expect(await problems({})).toEqual([])
  expect(() => readFileSync(path.join(folder, 'data', 'deeper'))).toThrow(/ENOENT/)
})
