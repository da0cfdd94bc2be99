/**
 * The identity of the maintenance API: a leaf for `maintenance-service.talos.dev`, signed by a root that exists for one boot and is never sent
 * (Talos: internal/app/machined/pkg/controllers/secrets/maintenance_root.go). The keys are new each time, so the fingerprint changes.
 */
import { generateKeyPairSync } from 'node:crypto'
import { leafKey, type ServerIdentity } from './certificates.ts'
import { distinguishedName, keyIdOf, signLeaf } from './leaf.ts'

const HOUR = 3_600_000
const issuer = distinguishedName({ organizations: ['talos'] })

/** @param names addresses and DNS names of the leaf; empty ones are left out. @param now milliseconds since 1970 */
export function maintenanceIdentity(names: readonly string[], now: number): ServerIdentity {
  const root = generateKeyPairSync('ed25519')
  const { publicKey, key, fingerprint } = leafKey('ed25519')
  const signer = { name: issuer, keyId: keyIdOf(root.publicKey), key: root.privateKey }
  const crt = signLeaf(signer, publicKey, { commonName: 'maintenance-service.talos.dev', names, usages: ['serverAuth'], lifetimeMs: 24 * HOUR, now })
  return { crt, key, fingerprint }
}
