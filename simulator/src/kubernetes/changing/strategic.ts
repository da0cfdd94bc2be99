import { isObject, list, object } from '../../config/shape.ts'

type Body = Record<string, unknown>

/** Merge keys of lists of objects, by the list's name. Other lists are replaced (Kubernetes: `patchMergeKey` in `staging/src/k8s.io/api`). */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  imagePullSecrets: 'name',
  secrets: 'name',
  hostAliases: 'ip',
  conditions: 'type',
  ownerReferences: 'uid',
  addresses: 'type',
}
/** Lists of plain values that are merged. */
const JOINED = new Set(['finalizers'])

/**
 * Strategic merge patch: objects are merged, null deletes, some lists are merged by a field of their elements. Supports the directives `$patch`, `$retainKeys` and `$deleteFromPrimitiveList`
 * (Kubernetes: apimachinery/pkg/util/strategicpatch). The order of `$setElementOrder` isn't kept.
 */
export const strategicMerge = (target: Body, patch: Body): Body => {
  if (patch.$patch === 'replace') return without(patch)
  if (patch.$patch === 'delete') return {}
  const kept = patch.$retainKeys === undefined ? null : new Set(list(patch.$retainKeys))
  const result: Body = kept ? Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key))) : { ...target }
  for (const [key, value] of Object.entries(patch)) {
    const [, directive = '', name = ''] = /^\$(setElementOrder|deleteFromPrimitiveList)\/(.*)$/.exec(key) ?? []
    if (directive === 'deleteFromPrimitiveList') result[name] = list(result[name]).filter((item) => !list(value).includes(item))
    else if (key.startsWith('$')) continue
    else if (value === null) delete result[key]
    else result[key] = merged(key, result[key], value)
  }
  return result
}

const without = (patch: Body): Body => Object.fromEntries(Object.entries(patch).filter(([key]) => key !== '$patch'))

const merged = (key: string, before: unknown, value: unknown): unknown => {
  if (isObject(value)) return strategicMerge(object(before), value)
  if (!Array.isArray(value)) return value
  if (JOINED.has(key)) return [...new Set([...list(before), ...list(value)])]
  const items = list(value).map(object)
  const by = mergeKeyOf(key, items)
  if (by === null || items.some(({ $patch }) => $patch === 'replace')) return list(value).filter((item) => object(item).$patch === undefined)
  const keyOf = (item: Body): string => JSON.stringify(item[by])
  const result = new Map(list(before).map((item) => [keyOf(object(item)), object(item)]))
  for (const item of items) {
    if (item.$patch === 'delete') result.delete(keyOf(item))
    else result.set(keyOf(item), strategicMerge(result.get(keyOf(item)) ?? {}, item))
  }
  return [...result.values()]
}

/** The merge key of ports differs between containers and Services. */
const mergeKeyOf = (key: string, items: readonly Body[]): string | null => {
  if (key === 'ports') return items.some(({ containerPort }) => containerPort !== undefined) ? 'containerPort' : 'port'
  return Object.hasOwn(MERGE_KEYS, key) && items.every(isObject) ? MERGE_KEYS[key]! : null
}
