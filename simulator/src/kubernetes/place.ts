import type { Objects, Target } from './objects.ts'
import { notFound, Refusal } from './refusal.ts'

export interface Place extends Target {
  /** `status` or `eviction`; empty for the object itself. */
  sub: string
}

const absent = (): Refusal => new Refusal(404, 'NotFound', 'the server could not find the requested resource')

/** Parses a path of objects: all of a kind if it has no name. Throws a `Refusal` for an unknown kind or subresource. */
export const locate = (objects: Objects, path: string): Place => {
  const parts = path.split('/').slice(1).map(decode)
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis') throw absent()
  const group = isCore ? '' : (parts[1] ?? '')
  const version = isCore ? parts[1] : parts[2]
  const rest = parts.slice(isCore ? 2 : 3)
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isInside ? (rest[1] ?? '') : ''
  const [plural = '', name = '', sub = '', ...more] = isInside ? rest.slice(2) : rest
  const kind = objects.kinds.find((candidate) => candidate.group === group && candidate.version === version && candidate.plural === plural)
  if (!kind || more.length > 0) throw absent()
  const isKnown = sub === '' || (sub === 'status' && kind.hasStatus) || (sub === 'eviction' && kind.plural === 'pods' && kind.group === '')
  if (!isKnown) throw absent()
  if (kind.namespaced && namespace === '' && name !== '') throw notFound(plural, name)
  return { kind, namespace, name, sub }
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new Refusal(400, 'BadRequest', `the path is wrongly encoded: ${String(cause)}`)
  }
}
