/**
 * Keys for tests, generated once per machine and kept in the system's temporary folder, because
 * RSA-4096 is slow. Never for a real cluster.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { generateKey } from '../pki/keys.ts'
import type { ReadyKeys } from '../secrets/bundle.ts'

export async function readyKeys(): Promise<Required<ReadyKeys>> {
  const folder = join(tmpdir(), `steelyard-test-keys-${userInfo().uid}`)
  const file = join(folder, 'keys.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Required<ReadyKeys>
  const [os, etcd, k8s, k8sAggregator, k8sServiceAccount] = await Promise.all([
    generateKey('ed25519'),
    generateKey('p256'),
    generateKey('p256'),
    generateKey('p256'),
    generateKey('rsa4096'),
  ])
  const keys = { os, etcd, k8s, k8sAggregator, k8sServiceAccount }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own = join(folder, `keys.${process.pid}.json`)
  writeFileSync(own, JSON.stringify(keys), { mode: 0o600 })
  renameSync(own, file)
  return keys
}
