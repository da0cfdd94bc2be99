/** Finds overlaps among thousands of CIDRs. Two CIDRs are disjoint or one contains the other, so one pass in the order of first addresses finds all. */
import { type Cidr, contains, parseCidr } from '#contract/network/addresses.ts'
import { scopeOf } from './rules.ts'
import type { SubnetRow } from './store-read.ts'
import type { ReadRow } from './csv-rows.ts'

interface Placed {
  readonly cidr: Cidr
  /** Null where the row has no name that could be one. */
  readonly name: string | null
  readonly text: string
  /** Line of the file; null for a subnet that the file leaves alone. */
  readonly line: number | null
  readonly code: string
}

/** One finding for each row that shares space with another row or with a subnet that stays as it is. */
export function overlapsAmong(rows: readonly Pick<ReadRow, 'line' | 'name' | 'place'>[], standing: readonly SubnetRow[]): { line: number; message: string }[] {
  const placed = [
    ...rows.flatMap(({ line, name, place }) => (place ? [{ ...place, name, line, code: '' }] : [])),
    ...standing.map((s) => ({ ...s, line: null, code: s.datacenter_code })),
  ].map(({ cidr: text, datacenter_id, name, line, code }) => ({ scope: scopeOf(text, datacenter_id), cidr: parseCidr(text)!, text, name, line, code }))
  const found = new Map<number, string>()
  for (const all of Map.groupBy(placed, (p) => p.scope).values()) {
    const enclosing: Placed[] = []
    for (const one of all.toSorted(inOrder)) {
      while (enclosing.length > 0 && !contains(enclosing.at(-1)!.cidr, { family: one.cidr.family, value: one.cidr.base })) enclosing.pop()
      const outer = enclosing.at(-1)
      if (outer) tell(found, outer, one)
      enclosing.push(one)
    }
  }
  return [...found].map(([line, message]) => ({ line, message }))
}

/** By family, first address, larger first; of equal ones first that of the database, then by line. */
const inOrder = (a: Placed, b: Placed): number =>
  a.cidr.family - b.cidr.family ||
  (a.cidr.base < b.cidr.base ? -1 : a.cidr.base > b.cidr.base ? 1 : a.cidr.prefix - b.cidr.prefix || (a.line ?? 0) - (b.line ?? 0))

/** Of two rows the later one gets the finding; of a row and a subnet, the row. */
function tell(found: Map<number, string>, outer: Placed, inner: Placed): void {
  const [wrong, other] = inner.line !== null && (outer.line === null || inner.line > outer.line) ? [inner, outer] : [outer, inner]
  if (wrong.line === null || found.has(wrong.line)) return
  found.set(
    wrong.line,
    other.line === null
      ? `Overlaps with subnet ${other.name} (${other.text}) in ${other.code}`
      : `Overlaps with ${other.name === null ? other.text : `${other.name} (${other.text})`} in line ${other.line}`,
  )
}
