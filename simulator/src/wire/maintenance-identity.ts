/**
 * The identity of the maintenance API: a leaf for `maintenance-service.talos.dev`, signed by a root
 * that exists for one boot and is never sent (Talos:
 * internal/app/machined/pkg/controllers/secrets/maintenance_root.go). The key is new each time, so
 * the fingerprint changes. Because nobody sees a root, all machines of this process share one: a
 * root per machine doubles the number of generated keys.
 */
import { generateKeyPairSync } from 'node:crypto'
import { leafKey, type ServerIdentity } from './certificates.ts'
import { distinguishedName, keyIdOf, type Signer, signLeaf } from './leaf.ts'

const HOUR = 3_600_000
let root: Signer | undefined

const madeRoot = (): Signer => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    name: distinguishedName({ organizations: ['talos'] }),
    keyId: keyIdOf(publicKey),
    key: privateKey,
  }
}

/**
 * @param names addresses and DNS names of the leaf; empty ones are left out. @param now
 * milliseconds since 1970
 */
export function maintenanceIdentity(names: readonly string[], now: number): ServerIdentity {
  root ??= madeRoot()
  const { publicKey, key, fingerprint } = leafKey('ed25519')
  const crt = signLeaf(root, publicKey, {
    commonName: 'maintenance-service.talos.dev',
    names,
    usages: ['serverAuth'],
    lifetimeMs: 24 * HOUR,
    now,
  })
  return { crt, key, fingerprint }
}
