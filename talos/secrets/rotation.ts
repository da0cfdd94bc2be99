/**
 * New secrets for a running cluster, in Talos's own order (Talos `pkg/rotate/pki`): every machine
 * accepts the new authority besides the old one, then the new one issues all certificates, then the
 * old one is no longer accepted. Pure functions of bundles and configurations.
 */
import { withValues } from '../config/compare.ts'
import { at, readDocuments, textAt } from '../config/tree.ts'
import { createAuthority } from '../pki/certificates.ts'
import { encodePair, encodePem, type KeyPair } from '../pki/keys.ts'
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

const places = { talos_ca: 'machine', kubernetes_ca: 'cluster' } as const

/** Accepted authorities in a configuration that aren't part of the rotation, in base64. */
function otherAccepted(
  config: string,
  section: 'machine' | 'cluster',
  rotated: readonly KeyPair[],
): string[] {
  const main = readDocuments(config, 'rotated').find((root) => at(root, 'machine') !== undefined)
  const list = at(main, section, 'acceptedCAs')
  const known = new Set(rotated.map(({ crt }) => crt.trim()))
  const all = list?.is === 'list' ? list.items.flatMap((item) => textAt(item, 'crt') ?? []) : []
  return all.filter((crt) => !known.has(Buffer.from(crt, 'base64').toString('utf8').trim()))
}

function valuesOf(
  config: string,
  isControlPlane: boolean,
  { what, from, to }: Rotation,
  form: Form,
): Record<string, unknown> {
  const isNew = form === 'switched' || form === 'new'
  const wanted = isNew ? to : from
  if (what === 'tokens')
    return {
      'machine.token': wanted.trustdInfo.token,
      'cluster.token': wanted.secrets.bootstrapToken,
    }
  if (what === 'aggregator_ca')
    return isControlPlane ? { 'cluster.aggregatorCA': encodePair(wanted.certs.k8sAggregator) } : {}
  const section = places[what]
  const pairOf = ({ certs }: SecretsBundle): KeyPair => (what === 'talos_ca' ? certs.os : certs.k8s)
  const [issuing, other] = [pairOf(wanted), pairOf(isNew ? from : to)]
  const accepted = otherAccepted(config, section, [issuing, other])
  if (form === 'accepts_both' || form === 'switched') accepted.push(encodePem(other.crt))
  return {
    // A worker gets only the certificate, so that a stolen worker doesn't give control of the
    // cluster.
    [`${section}.ca`]: isControlPlane
      ? encodePair(issuing)
      : { crt: encodePem(issuing.crt), key: '' },
    [`${section}.acceptedCAs`]:
      accepted.length === 0 ? undefined : accepted.map((crt) => ({ crt })),
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
): string => withValues(config, valuesOf(config, isControlPlane, rotation, form))

/**
 * Both authorities of a rotation in one PEM text, to verify peers of which some have certificates
 * of the old authority and some of the new one.
 */
export const bothOf = ({ what, from, to }: Rotation, api: 'talos' | 'kubernetes'): string => {
  const crt = ({ certs }: SecretsBundle) => (api === 'talos' ? certs.os.crt : certs.k8s.crt)
  const isRotated = what === (api === 'talos' ? 'talos_ca' : 'kubernetes_ca')
  return isRotated ? `${crt(to).trimEnd()}\n${crt(from)}` : crt(from)
}
