import type { StoredObject } from '../../cluster/stored.ts'
import { type Body, isObject, object, text } from '../../config/shape.ts'
import { conflict, badRequest } from '../refusal.ts'
import type { ResourceKind } from '../kinds.ts'

/**
 * Server-side apply: each field belongs to the manager that set it last, and others may change it
 * only with force (Kubernetes: docs/reference/using-api/server-side-apply). Lists are atomic, as in
 * the API for lists without keys.
 */
export const applyFields = (
  existing: StoredObject | null,
  body: Record<string, unknown>,
  manager: string,
  force: boolean,
): StoredObject => {
  const managers: Record<string, string[]> = structuredClone(existing?.managers ?? {})
  const result: Record<string, unknown> = structuredClone(existing?.body ?? {})
  const leaves = leavesOf(body)
  const disputed: string[] = []
  for (const [path, value] of leaves) {
    for (const [other, owned] of Object.entries(managers)) {
      if (
        other === manager ||
        !owned.includes(path) ||
        JSON.stringify(read(result, path)) === JSON.stringify(value)
      )
        continue
      if (force) managers[other] = owned.filter((entry) => entry !== path)
      else disputed.push(`conflict with "${other}": .${path.replaceAll('/', '.')}`)
    }
  }
  if (disputed.length > 0)
    throw conflict(
      `Apply failed with ${disputed.length} conflict${disputed.length === 1 ? '' : 's'}: ${disputed.join(', ')}`,
    )
  for (const path of managers[manager] ?? []) {
    const isHeld =
      leaves.has(path) ||
      Object.entries(managers).some(([other, owned]) => other !== manager && owned.includes(path))
    if (!isHeld) write(result, path, undefined)
  }
  for (const [path, value] of leaves) write(result, path, value)
  managers[manager] = [...leaves.keys()]
  return { body: result, managers }
}

const IDENTITY = new Set([
  'apiVersion',
  'kind',
  ...'name namespace uid resourceVersion creationTimestamp managedFields'
    .split(' ')
    .map((key) => `metadata/${key}`),
])
const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
const unescape = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~')

const leavesOf = (
  value: Record<string, unknown>,
  prefix = '',
  found = new Map<string, unknown>(),
): Map<string, unknown> => {
  for (const [key, child] of Object.entries(value)) {
    const path = prefix === '' ? escape(key) : `${prefix}/${escape(key)}`
    if (IDENTITY.has(path)) continue
    if (isObject(child) && Object.keys(child).length > 0) leavesOf(child, path, found)
    else found.set(path, child)
  }
  return found
}

const read = (target: Record<string, unknown>, path: string): unknown =>
  path
    .split('/')
    .reduce<unknown>((at, key) => (isObject(at) ? at[unescape(key)] : undefined), target)

const write = (target: Record<string, unknown>, path: string, value: unknown): void => {
  const keys = path.split('/').map(unescape)
  const last = keys.pop()!
  let at = target
  for (const key of keys) {
    const next = at[key]
    if (isObject(next)) at = next
    else if (value === undefined) return
    else at = at[key] = {} as Record<string, unknown>
  }
  if (value === undefined) delete at[last]
  else
    Object.defineProperty(at, last, { value, enumerable: true, configurable: true, writable: true })
}

/** Removes the status of kinds whose status only controllers write. */
export const withoutStatus = (kind: ResourceKind, given: Body): Body => {
  if (!kind.hasStatus || given.status === undefined) return given
  const { status: _, ...rest } = given
  return rest
}

/** An object with Kubernetes' defaults. */
export const defaulted = ({ group, plural }: ResourceKind, name: string, body: Body): Body => {
  if (group !== '') return body
  if (plural === 'services') return { ...body, spec: { type: 'ClusterIP', ...object(body.spec) } }
  if (plural === 'pods') return { ...body, status: body.status ?? { phase: 'Pending' } }
  if (plural !== 'namespaces') return body
  const metadata = object(body.metadata)
  const labels = { ...object(metadata.labels), 'kubernetes.io/metadata.name': name }
  return {
    ...body,
    metadata: { ...metadata, labels },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

/** The stored form of an object. Secrets accept plain text and store base64. */
export const normal = (kind: ResourceKind, given: Body): Body => {
  if (kind.plural !== 'secrets' || kind.group !== '') return given
  const { stringData, ...rest } = given
  const encoded = Object.fromEntries(
    Object.entries(object(stringData)).map(([key, value]) => [
      key,
      Buffer.from(text(value)).toString('base64'),
    ]),
  )
  for (const [key, value] of Object.entries(object(rest.data))) {
    if (
      typeof value !== 'string' ||
      Buffer.from(value, 'base64').toString('base64').replaceAll('=', '') !==
        value.replaceAll(/[=\s]/g, '')
    )
      throw badRequest(
        `Secret in version "v1" cannot be handled as a Secret: illegal base64 data in data.${key}`,
      )
  }
  return {
    type: 'Opaque',
    ...rest,
    ...((stringData !== undefined || isObject(rest.data)) && {
      data: { ...object(rest.data), ...encoded },
    }),
  }
}
