import { isJson } from './fields.ts'
import { type Json, Refusal } from './refusal.ts'
import type { Tree } from './tree.ts'

const MOST_LEVELS = 2

/** What `$expand` asks for (DSP0266, "The $expand query parameter"). */
export interface Expansion {
  /** `.`: subordinate resources, `~`: those in `Links`, `*`: both. */
  readonly which: '.' | '~' | '*'
  readonly levels: number
}

/**
 * The expansion in a query; null without one. Unknown parameters that begin with `$` are refused,
 * others are ignored.
 */
export const expansionOf = (query: URLSearchParams, expands: boolean): Expansion | null => {
  for (const name of query.keys())
    if (
      name === 'only' ||
      name === 'excerpt' ||
      (name.startsWith('$') && !(expands && name === '$expand'))
    )
      throw new Refusal('QueryNotSupported')
  const value = query.get('$expand')
  if (value === null) return null
  const match = /^([.~*])(?:\(\$levels=(\d+)\))?$/.exec(value)
  const levels = Number(match?.[2] ?? 1)
  if (!match || levels < 1 || levels > MOST_LEVELS)
    throw new Refusal('QueryParameterValueFormatError', [value.slice(0, 100), '$expand'])
  return { which: match[1] as Expansion['which'], levels }
}

/** A document with the resources in place of the links to them. */
export const expanded = (tree: Tree, document: Json, { which, levels }: Expansion): Json => {
  const open = (value: unknown, isInLinks: boolean): unknown => {
    if (Array.isArray(value)) return value.map((one) => open(one, isInLinks))
    if (!isJson(value)) return value
    const path = value['@odata.id']
    if (typeof path === 'string' && Object.keys(value).length === 1) {
      const isWanted = isInLinks ? which !== '.' : which !== '~'
      const target = isWanted ? tree.get(path.replace(/\/$/, ''))?.read?.() : undefined
      if (!target) return value
      return levels > 1 ? expanded(tree, target, { which, levels: levels - 1 }) : target
    }
    return fields(value, isInLinks)
  }
  const fields = (value: Json, isInLinks: boolean): Json =>
    Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, open(one, isInLinks || name === 'Links')]),
    )
  return fields(document, false)
}
