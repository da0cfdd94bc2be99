import type { SecretsBundle } from '../secrets/bundle.ts'
import { issueCertificate } from './certificates.ts'
import type { KeyPair } from './keys.ts'

/** Credentials for mutual TLS: trusted authority, certificate and key. PEM. */
export interface Credentials extends KeyPair {
  ca: string
}

/** Talos's roles (`pkg/machinery/role`), which are organizations in the certificate's subject. */
export type TalosRole = 'os:admin' | 'os:operator' | 'os:reader' | 'os:etcd:backup'

/** A client certificate for the Talos API of this cluster: Ed25519, client usage only, as Talos requires. */
export async function mintTalosClient(bundle: SecretsBundle, options: { roles: readonly TalosRole[]; lifetimeMs: number; now: Date }): Promise<Credentials> {
  const pair = await issueCertificate(bundle.certs.os, {
    subject: { organizations: options.roles },
    usages: ['client'],
    lifetimeMs: options.lifetimeMs,
    now: options.now,
  })
  return { ca: bundle.certs.os.crt, ...pair }
}

/**
 * A client certificate for the Kubernetes API of this cluster. Kubernetes takes the common name as the user and the organizations as groups:
 * `system:masters` is allowed everything and can't be revoked but by its lifetime.
 */
export async function mintKubernetesClient(
  bundle: SecretsBundle,
  options: { commonName: string; organizations: readonly string[]; lifetimeMs: number; now: Date },
): Promise<Credentials> {
  const pair = await issueCertificate(bundle.certs.k8s, {
    subject: { commonName: options.commonName, organizations: options.organizations },
    usages: ['client'],
    keyEncipherment: true,
    lifetimeMs: options.lifetimeMs,
    now: options.now,
  })
  return { ca: bundle.certs.k8s.crt, ...pair }
}
