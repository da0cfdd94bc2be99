import { object, text } from '../../config/shape.ts'
import type { Target } from '../objects.ts'
import { badRequest } from '../refusal.ts'
import type { Source } from './reported.ts'
import { chooser } from './selectors.ts'

type Body = Record<string, unknown>

export interface Page {
  metadata: Body
  items: Body[]
}

/** A list, filtered by selectors, whole or in pages (`limit` and `continue`). */
export const pageOf = (objects: Source, { kind, namespace, name }: Target, query: URLSearchParams): Page => {
  const isChosen = chooser(kind, query)
  const found = objects.list(kind, namespace).filter((body) => (name === '' || text(object(body.metadata).name) === name) && isChosen(body))
  const limit = Number(query.get('limit') ?? 0)
  if (!Number.isInteger(limit) || limit < 0) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(query.get('limit'))}: invalid syntax`)
  const start = startOf(query.get('continue'))
  const rest = start === null ? found : found.filter((body) => placeOf(body) > start)
  const items = limit === 0 ? rest : rest.slice(0, limit)
  const last = items.at(-1)
  const isCut = items.length < rest.length && last !== undefined
  const isWhole = !query.get('labelSelector') && !query.get('fieldSelector')
  return {
    metadata: {
      resourceVersion: objects.resourceVersion,
      ...(isCut && { continue: Buffer.from(JSON.stringify({ v: 'simulated', start: placeOf(last) })).toString('base64url') }),
      ...(isCut && isWhole && { remainingItemCount: rest.length - items.length }),
    },
    items,
  }
}

const placeOf = ({ metadata }: Body): string => `${text(object(metadata).namespace)}/${text(object(metadata).name)}`

const startOf = (token: string | null): string | null => {
  if (token === null || token === '') return null
  try {
    return text(object(JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))).start)
  } catch {
    throw badRequest('continue key is not valid: malformed value')
  }
}
