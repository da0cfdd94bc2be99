import { object, text } from '../config/shape.ts'
import { apiVersionOf, type ResourceKind } from './kinds.ts'
import type { Objects, Target } from './objects.ts'
import { badRequest, Refusal } from './refusal.ts'

type Body = Record<string, unknown>

/** Fields that objects can be chosen by, beside their name and namespace. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  services: ['spec.type', 'spec.clusterIP'],
  pods: ['spec.nodeName', 'spec.schedulerName', 'status.phase'],
  nodes: ['spec.unschedulable'],
  secrets: ['type'],
  events: ['involvedObject.name', 'involvedObject.kind', 'reason', 'type'],
}

/** A list, all of it or page by page (`limit` and `continue`), of those that the selectors choose. */
export const listOf = (
  objects: Objects,
  { kind, namespace }: Pick<Target, 'kind' | 'namespace'>,
  query: URLSearchParams,
  shown: (body: Body) => Body,
): object => {
  if (query.get('watch') === 'true' || query.get('watch') === '1') throw new Refusal(405, 'MethodNotAllowed', 'this simulated API server has no watches')
  const labels = selector(query.get('labelSelector'))
  const fields = selector(query.get('fieldSelector'))
  for (const [field] of fields) if (!isKnown(kind, field)) throw badRequest(`field label not supported: ${field}`)
  const found = objects.list(kind, namespace).filter((body) => {
    const own = object(object(body.metadata).labels)
    return (
      labels.every(([key, value, isEqual]) => (value === null ? key in own : (own[key] === value) === isEqual)) &&
      fields.every(([field, value, isEqual]) => (read(body, field) === value) === isEqual)
    )
  })
  const limit = Number(query.get('limit') ?? 0)
  if (!Number.isInteger(limit) || limit < 0) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(query.get('limit'))}: invalid syntax`)
  const start = startOf(query.get('continue'))
  const rest = start === null ? found : found.filter((body) => placeOf(body) > start)
  const items = limit === 0 ? rest : rest.slice(0, limit)
  const last = items.at(-1)
  const isCut = items.length < rest.length && last !== undefined
  return {
    kind: `${kind.kind}List`,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: objects.resourceVersion,
      ...(isCut && { continue: Buffer.from(JSON.stringify({ v: 'simulated', start: placeOf(last) })).toString('base64url') }),
      ...(isCut && labels.length + fields.length === 0 && { remainingItemCount: rest.length - items.length }),
    },
    items: items.map(shown),
  }
}

const isKnown = ({ plural, group }: ResourceKind, field: string): boolean =>
  field === 'metadata.name' || field === 'metadata.namespace' || (group === '' && FIELDS[plural]?.includes(field) === true)

const read = (body: Body, field: string): string => text(field.split('.').reduce<unknown>((at, key) => object(at)[key], body))

const placeOf = ({ metadata }: Body): string => `${text(object(metadata).namespace)}/${text(object(metadata).name)}`

const startOf = (token: string | null): string | null => {
  if (token === null || token === '') return null
  try {
    return text(object(JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))).start)
  } catch {
    throw badRequest('continue key is not valid: malformed value')
  }
}

const selector = (query: string | null): [key: string, value: string | null, isEqual: boolean][] =>
  (query ?? '')
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^=!]+)(==?|!=)?([^]*)$/.exec(part)
      if (!match) throw badRequest(`unable to parse requirement: ${part}`)
      return [match[1]!.trim(), match[2] === undefined ? null : match[3]!.trim(), match[2] !== '!=']
    })
