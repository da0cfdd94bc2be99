/**
 * New secrets for a running cluster, in Talos's own order (Talos `pkg/rotate/pki`): every machine
 * accepts the new authority besides the old one, then the new one issues all certificates, then the
 * old one is no longer accepted. Pure functions of bundles and configurations.
 */
import { secretsIn, withFacts } from '../facts/facts.ts'
import { createAuthority } from '../pki/certificates.ts'
import type { KeyPair } from '../pki/keys.ts'
import { kubeadmToken, type SecretsBundle } from './bundle.ts'

/**
 * Secrets that can be rotated without a loss of access. `tokens`: the machine token, with which
 * workers authenticate to trustd, and the bootstrap token of kubelets.
 */
export const rotatable = ['talos_ca', 'kubernetes_ca', 'aggregator_ca', 'tokens'] as const
export type Rotatable = (typeof rotatable)[number]

export interface Rotation {
  readonly what: Rotatable
  readonly from: SecretsBundle
  readonly to: SecretsBundle
}

/**
 * The secrets in a machine's configuration. `old`: only the old ones; `accepts_both`: the old
 * authority issues, both are accepted; `switched`: the new one issues, both are accepted; `new`:
 * only the new ones.
 */
export type Form = 'old' | 'accepts_both' | 'switched' | 'new'

/**
 * Whether machines can accept two values at once. Talos accepts only one value of the others, so
 * they are replaced in one step.
 */
export const hasAcceptedList = (what: Rotatable): boolean =>
  what === 'talos_ca' || what === 'kubernetes_ca'

/**
 * The bundle with new values of the rotated secrets. The keys are always new, because with an old
 * key old certificates would stay valid.
 */
export async function rotatedSecrets(
  from: SecretsBundle,
  what: Rotatable,
  now: Date,
): Promise<SecretsBundle> {
  const { certs } = from
  if (what === 'tokens')
    return {
      ...from,
      secrets: { ...from.secrets, bootstrapToken: kubeadmToken() },
      trustdInfo: { token: kubeadmToken() },
    }
  if (what === 'talos_ca')
    return {
      ...from,
      certs: {
        ...certs,
        os: await createAuthority({ kind: 'ed25519', subject: { organizations: ['talos'] }, now }),
      },
    }
  if (what === 'kubernetes_ca')
    return {
      ...from,
      certs: {
        ...certs,
        k8s: await createAuthority({
          kind: 'p256',
          subject: { organizations: ['kubernetes'] },
          now,
        }),
      },
    }
  return {
    ...from,
    certs: {
      ...certs,
      k8sAggregator: await createAuthority({
        kind: 'p256',
        subject: { commonName: 'front-proxy' },
        now,
      }),
    },
  }
}

const facts = {
  talos_ca: 'talosAuthorities',
  kubernetes_ca: 'kubernetesAuthorities',
} as const

function valuesOf(
  config: string,
  isControlPlane: boolean,
  { what, from, to }: Rotation,
  form: Form,
): Parameters<typeof withFacts>[1] {
  const isNew = form === 'switched' || form === 'new'
  const wanted = isNew ? to : from
  if (what === 'tokens')
    return {
      machineToken: wanted.trustdInfo.token,
      bootstrapToken: wanted.secrets.bootstrapToken,
    }
  const found = secretsIn(config)
  if (what === 'aggregator_ca')
    return isControlPlane
      ? {
          aggregatorAuthorities: {
            ...found.aggregatorAuthorities,
            issuing: wanted.certs.k8sAggregator,
          },
        }
      : {}
  const pairOf = ({ certs }: SecretsBundle): KeyPair => (what === 'talos_ca' ? certs.os : certs.k8s)
  const [issuing, other] = [pairOf(wanted), pairOf(isNew ? from : to)]
  const rotated = new Set([issuing, other].map(({ crt }) => crt.trim()))
  // Authorities that aren't part of the rotation stay accepted.
  const accepted = found[facts[what]].accepted.filter((crt) => !rotated.has(crt.trim()))
  if (form === 'accepts_both' || form === 'switched') accepted.push(other.crt)
  return {
    // A worker gets only the certificate, so that a stolen worker doesn't give control of the
    // cluster.
    [facts[what]]: { issuing: isControlPlane ? issuing : { crt: issuing.crt, key: '' }, accepted },
  }
}

/**
 * A machine's configuration with its secrets in this form. The rest is unchanged. The result
 * doesn't depend on the form that the configuration had before, so every step can be repeated and
 * undone.
 * @throws ConfigError for invalid YAML
 */
export const inForm = (
  config: string,
  isControlPlane: boolean,
  rotation: Rotation,
  form: Form,
): string => withFacts(config, valuesOf(config, isControlPlane, rotation, form))

/**
 * Both authorities of a rotation in one PEM text, to verify peers of which some have certificates
 * of the old authority and some of the new one.
 */
export const bothOf = ({ what, from, to }: Rotation, api: 'talos' | 'kubernetes'): string => {
  const crt = ({ certs }: SecretsBundle) => (api === 'talos' ? certs.os.crt : certs.k8s.crt)
  const isRotated = what === (api === 'talos' ? 'talos_ca' : 'kubernetes_ca')
  return isRotated ? `${crt(to).trimEnd()}\n${crt(from)}` : crt(from)
}
