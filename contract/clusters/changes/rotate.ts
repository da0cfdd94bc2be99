/** Rotates secrets of a running cluster. */
import * as z from 'zod/mini'

export const rotatedSecrets = {
  talos_ca: 'The authority of the Talos API',
  kubernetes_ca: 'The authority of the Kubernetes API',
  aggregator_ca: 'The authority of aggregated APIs',
  tokens: 'The tokens with which servers join',
  service_account: 'The key of service accounts',
  encryption_keys: 'The key that encrypts Secrets in etcd',
  etcd_ca: 'The authority of etcd',
} as const
export type RotatedSecret = keyof typeof rotatedSecrets
export const rotatedSecretNames = Object.keys(rotatedSecrets) as [RotatedSecret, ...RotatedSecret[]]

/**
 * Talos can't replace some of these secrets in a running cluster. A plan for such a secret has a
 * failed check with the reason.
 */
export const Rotate = z.strictObject({
  kind: z.literal('rotate'),
  what: z.enum(rotatedSecretNames),
})

type Named = { readonly name: string }

export const rotateRow = {
  change: 'rotate',
  title: 'Rotate secrets of',
  steps: {
    'new-secrets': () => 'Make the new secrets, and store them with the old ones',
    accept: (s: Named) => `${s.name} accepts the new authority besides the old one`,
    accepted: () => 'Every server accepts the new authority',
    switch: (s: Named) => `${s.name} uses the new secrets`,
    switched: () => 'Every server uses the new secrets',
    drop: (s: Named) => `${s.name} refuses the old authority`,
    dropped: () => 'Every server refuses the old authority',
    'switch-back': (s: Named) => `${s.name} uses the old secrets again`,
    'switched-back': () => 'Every server uses the old secrets again',
    withdraw: (s: Named) => `${s.name} has only the old secrets again`,
    withdrawn: () => 'Every server has only the old secrets again',
  },
  audit: 'cluster.rotate_requested',
  event: 'A rotation of secrets was requested',
  command: 'cluster rotate',
} as const
