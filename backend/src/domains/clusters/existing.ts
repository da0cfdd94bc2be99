/**
 * Objects that Steelyard would write into a cluster and that are there already, of another
 * Steelyard or of anybody else. An object is written only in a free place, or in the place of the
 * one that a user has seen and named.
 */
import { addressPattern } from '#contract/clusters/clusters.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import { isRecord, printable } from '../../kubernetes/answers.ts'
import {
  clusterKeyPath,
  operatorBinding,
  operatorBindingPath,
  operatorGroup,
  secretsPath,
} from './objects.ts'

type Calls = Pick<Kubernetes, 'get' | 'create' | 'removeExactly'>

const at = (object: unknown, ...path: string[]): unknown =>
  path.reduce((value, key) => (isRecord(value) ? value[key] : undefined), object)
const textAt = (object: unknown, ...path: string[]): string => {
  const value = at(object, ...path)
  return typeof value === 'string' ? value : ''
}

/** Identifies an object and its content: its uid and version in Kubernetes (meta/v1 ObjectMeta). */
export const markOf = (object: unknown): string =>
  `${textAt(object, 'metadata', 'uid')}/${textAt(object, 'metadata', 'resourceVersion')}`

const decoded = (object: unknown, key: string): string =>
  Buffer.from(textAt(object, 'data', key), 'base64').toString('utf8')

/** The address of a cluster key; null if it has none that can be read. */
export function keyAddress(secret: unknown): string | null {
  const address = decoded(secret, 'address')
  return addressPattern.test(address) ? address : null
}

/** Whether a Secret holds this cluster key. */
export const holdsKey =
  (key: { readonly address: string; readonly privateKeyHex: string }) =>
  (secret: unknown): boolean =>
    decoded(secret, 'address') === key.address &&
    decoded(secret, 'private-key') === key.privateKeyHex

/** Whether a binding gives the group of operators the access that Steelyard's own binding gives. */
export function bindsOperators(binding: unknown): boolean {
  const subjects = at(binding, 'subjects')
  const { kind, name } = operatorBinding().object.roleRef
  return (
    textAt(binding, 'roleRef', 'kind') === kind &&
    textAt(binding, 'roleRef', 'name') === name &&
    Array.isArray(subjects) &&
    subjects.some((s) => textAt(s, 'kind') === 'Group' && textAt(s, 'name') === operatorGroup)
  )
}

/** What a binding gives, as part of a sentence. */
export const roleOf = (binding: unknown): string =>
  printable(`${textAt(binding, 'roleRef', 'kind')} ${textAt(binding, 'roleRef', 'name')}`)

interface Placed {
  readonly path: string
  readonly collection: string
  readonly object: object
  /** Whether the object that was found is the wanted one in all that matters. */
  readonly isWanted: (found: unknown) => boolean
  /** `markOf` the object that a user has confirmed to be replaced. */
  readonly replaces: string | undefined
}

/**
 * Puts an object into a cluster. It is deleted and made anew where it replaces another, because
 * neither an immutable Secret nor the role of a binding can be changed. Returns null, or the other
 * object that was kept.
 * @throws KubernetesError
 */
export async function putUnlessKept(
  api: Calls,
  { path, collection, object, isWanted, replaces }: Placed,
  signal: AbortSignal,
): Promise<{ kept: unknown } | null> {
  const found = await api.get(path, signal)
  if (found !== null) {
    if (isWanted(found)) return null
    if (replaces !== markOf(found)) return { kept: found }
    const [uid, resourceVersion] = [
      textAt(found, 'metadata', 'uid'),
      textAt(found, 'metadata', 'resourceVersion'),
    ]
    if (!(await api.removeExactly(path, { uid, resourceVersion }, signal)))
      return { kept: await api.get(path, signal) }
  }
  if (await api.create(collection, object, signal)) return null
  const other = await api.get(path, signal)
  return isWanted(other) ? null : { kept: other }
}

const mostTokens = 1_000

/** What a cluster has in the places of Steelyard's objects; null: nothing. */
export interface Existing {
  readonly key: unknown
  readonly binding: unknown
  /** Ids of the bootstrap tokens, in order. */
  readonly tokens: string[]
}

/**
 * The objects in a cluster that Steelyard would otherwise write, null where there is none, and the
 * ids of its bootstrap tokens. @throws KubernetesError
 */
export async function readExisting(
  api: Pick<Kubernetes, 'get' | 'list'>,
  signal: AbortSignal,
): Promise<Existing> {
  const idOf = (secret: unknown): string | undefined =>
    /^bootstrap-token-([a-z0-9]{6})$/.exec(textAt(secret, 'metadata', 'name'))?.[1]
  const options = {
    most: mostTokens,
    fieldSelector: 'type=bootstrap.kubernetes.io/token',
    keep: idOf,
  }
  const [key, binding, tokens] = await Promise.all([
    api.get(clusterKeyPath, signal),
    api.get(operatorBindingPath, signal),
    api.list(secretsPath, options, signal),
  ])
  return { key, binding, tokens: (tokens ?? []).toSorted() }
}
