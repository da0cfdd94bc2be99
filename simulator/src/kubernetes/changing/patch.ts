import { isDeepStrictEqual } from 'node:util'
import { type Body, isObject, list, object, text } from '../../config/shape.ts'
import { badRequest, Refusal } from '../refusal.ts'

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const

/**
 * Applies a JSON patch, merge patch or strategic merge patch, by media type. Custom kinds have no
 * strategic merge patch. Throws a `Refusal` if the patch doesn't apply.
 */
export const patched = (body: Body, type: string, patch: unknown, isCustom: boolean): Body => {
  if (type === PATCH_TYPES[0]) return object(jsonPatch(body, patch))
  if (!isObject(patch)) throw badRequest('the patch is no object')
  if (type === PATCH_TYPES[1]) return object(mergePatch(body, patch))
  if (type === PATCH_TYPES[2] && !isCustom) return strategicMerge(body, patch)
  const taken = [
    ...(isCustom ? PATCH_TYPES.slice(0, 2) : PATCH_TYPES),
    'application/apply-patch+yaml',
  ]
  throw new Refusal(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${taken.join(', ')}`,
  )
}

/** JSON merge patch (RFC 7396). */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return result
}

/** Kubernetes' limit: repeated copy operations could grow to gigabytes. */
const MAX_OPERATIONS = 10_000
const MAX_COPIED_BYTES = 3 * 1024 * 1024

/** JSON patch (RFC 6902), all or nothing. */
const jsonPatch = (body: Body, patch: unknown): unknown => {
  if (!Array.isArray(patch)) throw badRequest('the patch is no list of operations')
  if (patch.length > MAX_OPERATIONS)
    throw tooLarge(
      `the allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    )
  // The document is wrapped in another object, so that a patch can replace the whole document.
  const root: Body = { '': structuredClone(body) }
  let copied = 0
  for (const operation of list(patch).map(object)) {
    if (operation.op === 'copy')
      copied += JSON.stringify(look(root, pointer(text(operation.from))) ?? null).length
    if (copied > MAX_COPIED_BYTES) throw tooLarge('the copies of a JSON patch are too large')
    apply(root, operation)
  }
  return root['']
}

const tooLarge = (why: string): Refusal => new Refusal(413, 'RequestEntityTooLarge', why)

const apply = (root: Body, { op, path, from, value }: Body): void => {
  const at = pointer(text(path))
  const name = text(op)
  const unable = (why: string): Refusal =>
    new Refusal(
      422,
      'Invalid',
      `the server rejected our request due to an error in our request: ${name} operation does not apply: ${why}`,
    )
  if (name === 'add') return put(root, at, value, false)
  if (name === 'remove') return take(root, at)
  if (name === 'replace') return put(root, at, value, true)
  if (name === 'test') {
    if (!isDeepStrictEqual(look(root, at), value))
      throw unable(`testing value ${text(path)} failed`)
    return
  }
  if (name !== 'move' && name !== 'copy') throw unable(`unexpected kind: ${name}`)
  const moved = structuredClone(look(root, pointer(text(from))))
  if (moved === undefined) throw unable(`missing path: ${text(from)}`)
  if (name === 'move') take(root, pointer(text(from)))
  put(root, at, moved, false)
}

const pointer = (path: string): string[] => {
  if (path !== '' && !path.startsWith('/')) throw badRequest(`invalid JSON pointer: ${path}`)
  return path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const look = (root: Body, at: readonly string[]): unknown =>
  at.reduce<unknown>(
    (value, key) =>
      Array.isArray(value)
        ? value[indexOf(key, value.length)]
        : isObject(value) && Object.hasOwn(value, key)
          ? value[key]
          : undefined,
    root,
  )

const parentOf = (root: Body, at: readonly string[]): Body | unknown[] => {
  const parent = look(root, at.slice(0, -1))
  if (Array.isArray(parent) || isObject(parent)) return parent
  throw missing(at)
}

const missing = (at: readonly string[]): Refusal =>
  new Refusal(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: doc is missing path: ${at.join('/')}`,
  )

const put = (root: Body, at: readonly string[], value: unknown, isReplaced: boolean): void => {
  const parent = parentOf(root, at)
  const key = at.at(-1)!
  if (!Array.isArray(parent)) {
    if (isReplaced && !Object.hasOwn(parent, key)) throw missing(at)
    Object.defineProperty(parent, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
    return
  }
  const index = key === '-' ? parent.length : indexOf(key, parent.length + 1)
  if (isReplaced && !(index < parent.length)) throw missing(at)
  if (index === -1) throw missing(at)
  parent.splice(index, isReplaced ? 1 : 0, value)
}

const take = (root: Body, at: readonly string[]): void => {
  const parent = parentOf(root, at)
  const key = at.at(-1)!
  if (look(root, at) === undefined) throw missing(at)
  if (Array.isArray(parent)) parent.splice(indexOf(key, parent.length), 1)
  else delete parent[key]
}

/** The key as an index of a list of this length; −1 if the list has no such index. */
const indexOf = (key: string, length: number): number =>
  /^(0|[1-9]\d{0,5})$/.test(key) && Number(key) < length ? Number(key) : -1

/**
 * Merge keys of lists of objects, by the list's name. Other lists are replaced (Kubernetes:
 * `patchMergeKey` in `staging/src/k8s.io/api`).
 */
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
 * Strategic merge patch: objects are merged, null deletes, some lists are merged by a field of
 * their elements. Supports the directives `$patch`, `$retainKeys` and `$deleteFromPrimitiveList`
 * (Kubernetes: apimachinery/pkg/util/strategicpatch). The order of `$setElementOrder` isn't kept.
 */
const strategicMerge = (target: Body, patch: Body): Body => {
  if (patch.$patch === 'replace') return without(patch)
  if (patch.$patch === 'delete') return {}
  const kept = patch.$retainKeys === undefined ? null : new Set(list(patch.$retainKeys))
  const result: Body = kept
    ? Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)))
    : { ...target }
  for (const [key, value] of Object.entries(patch)) {
    const [, directive = '', name = ''] =
      /^\$(setElementOrder|deleteFromPrimitiveList)\/(.*)$/.exec(key) ?? []
    if (directive === 'deleteFromPrimitiveList')
      result[name] = list(result[name]).filter((item) => !list(value).includes(item))
    else if (key.startsWith('$')) continue
    else if (value === null) delete result[key]
    else result[key] = merged(key, result[key], value)
  }
  return result
}

const without = (patch: Body): Body =>
  Object.fromEntries(Object.entries(patch).filter(([key]) => key !== '$patch'))

const merged = (key: string, before: unknown, value: unknown): unknown => {
  if (isObject(value)) return strategicMerge(object(before), value)
  if (!Array.isArray(value)) return value
  if (JOINED.has(key)) return [...new Set([...list(before), ...list(value)])]
  const items = list(value).map(object)
  const by = mergeKeyOf(key, items)
  if (by === null || items.some(({ $patch }) => $patch === 'replace'))
    return list(value).filter((item) => object(item).$patch === undefined)
  const keyOf = (item: Body): string => JSON.stringify(item[by])
  const result = new Map(list(before).map((item) => [keyOf(object(item)), object(item)]))
  for (const item of items) {
    if (item.$patch === 'delete') result.delete(keyOf(item))
    else result.set(keyOf(item), strategicMerge(result.get(keyOf(item)) ?? {}, item))
  }
  return [...result.values()]
}

/**
 * The merge key of a list, or null. Lists of ports have different merge keys in containers and in
 * Services.
 */
const mergeKeyOf = (key: string, items: readonly Body[]): string | null => {
  if (key === 'ports')
    return items.some(({ containerPort }) => containerPort !== undefined) ? 'containerPort' : 'port'
  return Object.hasOwn(MERGE_KEYS, key) && items.every(isObject) ? MERGE_KEYS[key]! : null
}
