import { type Body, object, text } from '../../config/shape.ts'
import type { ResourceKind } from '../kinds.ts'
import { badRequest } from '../refusal.ts'
import type { Target } from '../kinds.ts'
import type { Source } from './reported.ts'

/** Supported field selectors, in addition to name and namespace. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  services: ['spec.type', 'spec.clusterIP'],
  pods: [
    'spec.nodeName',
    'spec.schedulerName',
    'spec.restartPolicy',
    'spec.serviceAccountName',
    'status.phase',
    'status.podIP',
  ],
  nodes: ['spec.unschedulable'],
  secrets: ['type'],
  namespaces: ['status.phase'],
  events: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (field) => `involvedObject.${field}`,
    ),
    ...'reason type source reportingComponent'.split(' '),
  ],
}

/**
 * A predicate for the `labelSelector` and `fieldSelector` of a query. Throws a `Refusal` for an
 * invalid selector.
 */
export const chooser = (kind: ResourceKind, query: URLSearchParams): ((body: Body) => boolean) => {
  const labels = parts(query.get('labelSelector')).map(requirement)
  const fields = parts(query.get('fieldSelector')).map(requirement)
  for (const { key } of fields)
    if (!isKnown(kind, key)) throw badRequest(`field label not supported: ${key}`)
  return (body) => {
    const own = object(object(body.metadata).labels)
    return (
      labels.every(({ key, holds }) => holds(own[key])) &&
      fields.every(({ key, holds }) => holds(read(body, key)))
    )
  }
}

interface Requirement {
  key: string
  /** Called with undefined if the label is missing. */
  holds: (value: unknown) => boolean
}

/** Splits at commas outside of parentheses. */
const parts = (selector: string | null): string[] =>
  (selector ?? '').match(/(?:[^,(]|\([^)]*\)?)+/g) ?? []

const requirement = (part: string): Requirement => {
  const among = /^\s*(\S+)\s+(in|notin)\s*\(([^()]*)\)\s*$/.exec(part)
  if (among) {
    const values = new Set(among[3]!.split(',').map((value) => value.trim()))
    const isWanted = among[2] === 'in'
    return {
      key: among[1]!,
      holds: (value) => (value !== undefined && values.has(text(value))) === isWanted,
    }
  }
  const equal = /^([^=!(]+)(==?|!=)([^=!(]*)$/.exec(part)
  if (equal) {
    const wanted = equal[3]!.trim()
    const isWanted = equal[2] !== '!='
    return {
      key: equal[1]!.trim(),
      holds: (value) => (value !== undefined && text(value) === wanted) === isWanted,
    }
  }
  const exists = /^(!?)([^\s=!()]+)$/.exec(part.trim())
  if (!exists) throw badRequest(`unable to parse requirement: ${part}`)
  return { key: exists[2]!, holds: (value) => (value !== undefined) === (exists[1] === '') }
}

const isKnown = ({ plural, group }: ResourceKind, field: string): boolean =>
  field === 'metadata.name' ||
  field === 'metadata.namespace' ||
  (group === '' && FIELDS[plural]?.includes(field) === true)

/** The text of a field, empty if missing. A node's `unschedulable` is a boolean. */
const read = (body: Body, field: string): string => {
  const value = field.split('.').reduce<unknown>((at, key) => object(at)[key], body)
  return typeof value === 'boolean' ? String(value) : text(value)
}

export interface Page {
  metadata: Body
  items: Body[]
}

/** A list, filtered by selectors, whole or in pages (`limit` and `continue`). */
export const pageOf = (
  objects: Source,
  { kind, namespace, name }: Target,
  query: URLSearchParams,
): Page => {
  const isChosen = chooser(kind, query)
  const found = objects
    .list(kind, namespace)
    .filter((body) => (name === '' || text(object(body.metadata).name) === name) && isChosen(body))
  const limit = Number(query.get('limit') ?? 0)
  if (!Number.isInteger(limit) || limit < 0)
    throw badRequest(
      `strconv.ParseInt: parsing ${JSON.stringify(query.get('limit'))}: invalid syntax`,
    )
  const start = startOf(query.get('continue'))
  const rest = start === null ? found : found.filter((body) => placeOf(body) > start)
  const items = limit === 0 ? rest : rest.slice(0, limit)
  const last = items.at(-1)
  const isCut = items.length < rest.length && last !== undefined
  const isWhole = !query.get('labelSelector') && !query.get('fieldSelector')
  return {
    metadata: {
      resourceVersion: objects.resourceVersion,
      ...(isCut && {
        continue: Buffer.from(JSON.stringify({ v: 'simulated', start: placeOf(last) })).toString(
          'base64url',
        ),
      }),
      ...(isCut && isWhole && { remainingItemCount: rest.length - items.length }),
    },
    items,
  }
}

const placeOf = ({ metadata }: Body): string =>
  `${text(object(metadata).namespace)}/${text(object(metadata).name)}`

const startOf = (token: string | null): string | null => {
  if (token === null || token === '') return null
  try {
    return text(object(JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))).start)
  } catch {
    throw badRequest('continue key is not valid: malformed value')
  }
}
