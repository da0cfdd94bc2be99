/**
 * What a takeover keeps of the objects that it finds in the cluster's Kubernetes, and what it
 * replaces because a user has named it.
 */
import {
  type ExistingObject,
  type KeptObject,
  objectWords,
  type ReplaceableObject,
} from '#contract/clusters/existing.ts'
import type { Takeover } from '#contract/clusters/takeover.ts'
import type { Db } from '../../../db/db.ts'
import { bindsOperators, type Existing, keyAddress, markOf, roleOf } from '../existing.ts'
import { listed } from '../../../sentences.ts'
import * as store from '../store.ts'
import type { Survey } from './survey.ts'
import { invalid } from './proof-files.ts'

const keyName = 'Secret kube-system/steelyard-cluster-key'
const bindingName = 'ClusterRoleBinding steelyard-operators'

/**
 * The objects that the takeover would write and that others have made. A binding that gives the
 * operators the same access is left as it is.
 */
const standing = ({ key, binding }: Existing) =>
  [
    { object: 'cluster_key' as const, found: key },
    {
      object: 'operator_binding' as const,
      found: binding !== null && !bindsOperators(binding) ? binding : null,
    },
  ].filter(({ found }) => found !== null)

export function addedSentence({ key, binding }: Existing): string {
  const added = [
    ...(key === null ? [`the ${keyName}`] : []),
    ...(binding === null ? ['the role binding of its operators'] : []),
  ]
  return added.length === 0
    ? 'Nothing is sent to its machines, and nothing is added to its Kubernetes.'
    : `Nothing is sent to its machines. In its Kubernetes, Steelyard adds ${listed(added)}.`
}

/** Whose a cluster key is, as far as this Steelyard knows. */
async function ownerOf(db: Db, address: string | null): Promise<string> {
  if (address === null) return 'Its address cannot be read, so it is not known whose it is.'
  const own = await store.clusterOfKey(db, address)
  if (own === undefined)
    return `Its address is ${address}. This Steelyard does not know it: it belongs to another Steelyard.`
  return `Its address is ${address}. This Steelyard made it for the cluster ${own.name}${own.deleted_at === null ? '' : ', which was removed'}.`
}

const mostNamed = 10
const tokensAs = (ids: readonly string[], message: string): ExistingObject[] =>
  ids.length === 0
    ? []
    : [
        {
          object: 'bootstrap_token',
          name: `Secret kube-system/bootstrap-token-${ids.length === 1 ? ids[0] : `{${listed(ids, mostNamed)}}`}`,
          message,
          replaceable: false,
        },
      ]

/** The existing objects as the preview shows them. */
export async function describeExisting(
  db: Db,
  { existing, bundle }: Survey,
): Promise<ExistingObject[]> {
  const { key, binding, tokens } = existing
  const ownToken = bundle.secrets.bootstrapToken.split('.', 1)[0]
  return [
    ...(key === null
      ? []
      : [
          {
            object: 'cluster_key' as const,
            name: keyName,
            message: `${await ownerOf(db, keyAddress(key))} While it is kept, this Steelyard has no key of its own in the cluster. If it is replaced, the offers that use it can't be proved any more.`,
            replaceable: true,
          },
        ]),
    ...(binding === null
      ? []
      : [
          {
            object: 'operator_binding' as const,
            name: bindingName,
            message: bindsOperators(binding)
              ? 'It gives the operators of Steelyard the access that they need, so it is left as it is.'
              : `It gives ${roleOf(binding)}, not what the operators of Steelyard need. While it is kept, they have only the access that it gives them.`,
            replaceable: !bindsOperators(binding),
          },
        ]),
    ...tokensAs(
      tokens.filter((id) => id === ownToken),
      "It belongs to the cluster's own secrets and is kept. Only a rotation of the cluster's tokens removes it.",
    ),
    ...tokensAs(
      tokens.filter((id) => id !== ownToken),
      'Made by others, and kept: Steelyard never changes it.',
    ),
  ]
}

/**
 * @throws Problem `invalid` unless everything that is replaced exists and the cluster's name
 * confirms it
 */
export function demandConfirmed(
  { name, existing }: Takeover,
  { replace, confirm }: { replace: readonly ReplaceableObject[]; confirm?: string | undefined },
): void {
  for (const object of replace)
    if (!existing.some((one) => one.object === object && one.replaceable))
      throw invalid('replace', `The cluster has no ${objectWords[object]} that would be replaced`)
  if (replace.length > 0 && confirm !== name)
    throw invalid(
      'confirm',
      `Enter the name of the cluster, ${name}, to confirm that its ${listed(replace.map((object) => objectWords[object]))} is replaced`,
    )
}

/**
 * Divides the objects of others into those that are kept, and those that are replaced, with their
 * marks.
 */
export function choose(existing: Existing, replace: readonly ReplaceableObject[]) {
  const kept: KeptObject[] = []
  const replaces: Partial<Record<ReplaceableObject, string>> = {}
  for (const { object, found } of standing(existing))
    if (replace.includes(object)) replaces[object] = markOf(found)
    else kept.push({ object, address: object === 'cluster_key' ? keyAddress(found) : null })
  return { kept, replaces }
}
