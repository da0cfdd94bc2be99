/** Overlaps among thousands of CIDRs at once: two of them are disjoint or one holds the other, so a walk in order of their first address finds each. */
import { type Cidr, contains, parseCidr } from '#contract/network/addresses.ts'
import { scopeOf } from './rules.ts'
import type { SubnetRow } from './store-shown.ts'
import type { ReadRow } from './table.ts'

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
  const byScope = new Map<string, Placed[]>()
  const place = (scope: string, placed: Placed) => {
    const all = byScope.get(scope)
    if (all) all.push(placed)
    else byScope.set(scope, [placed])
  }
  for (const { line, name, place: at } of rows)
    if (at) place(scopeOf(at.cidr, at.datacenter_id), { cidr: parseCidr(at.cidr)!, name, text: at.cidr, line, code: '' })
  for (const s of standing)
    place(scopeOf(s.cidr, s.datacenter_id), { cidr: parseCidr(s.cidr)!, name: s.name, text: s.cidr, line: null, code: s.datacenter_code })

  const found = new Map<number, string>()
  for (const placed of byScope.values()) {
    const around: Placed[] = []
    for (const one of placed.toSorted(inOrder)) {
      while (around.length > 0 && !contains(around.at(-1)!.cidr, { family: one.cidr.family, value: one.cidr.base })) around.pop()
      const outer = around.at(-1)
      if (outer) tell(found, outer, one)
      around.push(one)
    }
  }
  return [...found].map(([line, message]) => ({ line, message }))
}

/** By family, first address, then the larger first; of equal ones that of the database, then the line further up. */
const inOrder = (a: Placed, b: Placed): number =>
  a.cidr.family - b.cidr.family ||
  (a.cidr.base < b.cidr.base ? -1 : a.cidr.base > b.cidr.base ? 1 : a.cidr.prefix - b.cidr.prefix || (a.line ?? 0) - (b.line ?? 0))

/** Of two rows the one further down is told, of a row and a subnet the row. */
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
