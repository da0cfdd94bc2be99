/**
 * Objects that Steelyard would write into a cluster's Kubernetes, and that exist there before
 * Steelyard manages the cluster: of another Steelyard, of an earlier management, or of anybody
 * else. They are kept, unless a user names them.
 */
import type { Words } from '../operation.ts'
import * as z from 'zod/mini'

/** What a user may have replaced. */
export const replaceableObjects = ['cluster_key', 'operator_binding'] as const
export const ReplaceableObject = z.enum(replaceableObjects)
export type ReplaceableObject = (typeof replaceableObjects)[number]

/** The object in a sentence. */
export const objectWords: Readonly<Record<ReplaceableObject, string>> = {
  cluster_key: 'cluster key',
  operator_binding: 'role binding of operators',
}

export const ExistingObject = z.object({
  object: z.enum([...replaceableObjects, 'bootstrap_token']),
  /** Kind, namespace and name in Kubernetes. */
  name: z.string(),
  /** A sentence about whose the object is, and what it means that it is kept. */
  message: z.string(),
  /** Whether `replace` may name it. */
  replaceable: z.boolean(),
})
export type ExistingObject = z.infer<typeof ExistingObject>

export const KeptObject = z.object({
  object: ReplaceableObject,
  /**
   * Of a cluster key, its address; null for other objects, or if the key has no readable address.
   */
  address: z.nullable(z.string()),
})
export type KeptObject = z.infer<typeof KeptObject>

export const keptOf = (
  cluster: { readonly kept?: readonly KeptObject[] | undefined },
  object: ReplaceableObject,
): KeptObject | null => cluster.kept?.find((kept) => kept.object === object) ?? null

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ExistingObject: [
      ExistingObject,
      'An object in the Kubernetes of a cluster that is taken over. It is kept, unless the takeover names it in `replace`.',
    ],
    KeptObject: [
      KeptObject,
      'An object that was in the Kubernetes of the cluster before its takeover, and that was kept.',
    ],
  },
}
