/** Texts of an entry of the history, and the page of its object. */
import type { HistoryEntry } from '#contract/history/history.ts'
import { paths } from '../../lib/paths.ts'

/** Path of the page of an entry's object. */
export function pageOf({ object: { kind, id, name } }: Pick<HistoryEntry, 'object'>): string {
  if (kind === 'datacenter') return paths.datacenters({ q: name })
  return kind === 'cluster' ? paths.cluster(id) : paths.server(id)
}

/** Who made the change: "Steelyard, for ada@example.com". */
export function whoSaid({ by, operation }: Pick<HistoryEntry, 'by' | 'operation'>): string {
  const name = by.kind === 'token' ? `${by.name}, by API token` : by.name
  const asked = operation?.by ?? null
  return asked === null || asked === by.name ? name : `${name}, for ${asked}`
}
