/**
 * Sentences about what others have made or changed in a cluster. In a file of their own, because most
 * pages need the calls and schemas beside which they would stand, and few the sentences.
 */
import type { KeptObject, ReplaceableObject } from './existing.ts'

/** The sentences about what Steelyard has kept in a cluster. */
export const keptSentences: Readonly<
  Record<ReplaceableObject, (kept: Pick<KeptObject, 'address'>) => string>
> = {
  cluster_key: ({ address }) =>
    `The cluster has the key of another Steelyard or of an earlier management${address === null ? '' : `, ${address}`}, which was kept. This Steelyard has no key of its own in the cluster, so software in the cluster can't prove an offer with one until the key is replaced. Replacing it ends the proofs of the offers that use the kept key.`,
  operator_binding: () =>
    'The cluster has a role binding steelyard-operators that does not give the operators of this Steelyard access, and it was kept. The kubeconfig of an operator gives only the access that this binding gives.',
}

/** The reasons why a cluster's machines refuse Steelyard. */
export const lockedOutSentences = {
  talos_ca:
    "The cluster's Talos CA was changed outside of Steelyard, so its machines refuse Steelyard. Import the new secrets: the secrets bundle, or the talosconfig that talosctl wrote.",
  kubernetes_ca:
    "The cluster's Kubernetes CA was changed outside of Steelyard, so its API refuses Steelyard. Import the new secrets: the secrets bundle, or an admin's talosconfig.",
} as const
