/** Counts the items of a list by what they have in common, for every kind of object that has groups. */
import { type FindingKind, findingKinds, worstOf } from '#contract/findings/kinds.ts'
import type { WorstFinding } from '#contract/findings/findings.ts'
import { groupingOf } from '#contract/labels/grouping.ts'
import { mostGroups } from '#contract/labels/groups.ts'
import type { Labels } from '#contract/labels/selector.ts'
import { type AnyList, choicesOf, type ListFilter } from '#contract/list.ts'

interface Item {
  readonly labels: Labels
  readonly finding: WorstFinding | null
}
interface Named {
  readonly value: string
  readonly name: string
}
interface Counted {
  count: number
  finding: WorstFinding | null
}

/** The group of an item; null if it is in none. One for each filter that groups. */
export type GroupReaders<By extends string, Row> = {
  readonly [K in By]: (row: Row) => Named | null
}

/** The group with this value and name; null if the item lacks one of them. */
export const named = (value: string | null, name = value): Named | null =>
  value === null || name === null ? null : { value, name }

/** The group of the items with this worst finding. */
export const ofFinding = ({
  finding,
}: {
  readonly finding: { readonly kind: FindingKind } | null
}) => finding && { value: finding.kind, name: findingKinds[finding.kind].title }

const ofLabel =
  (key: string) =>
  ({ labels }: Item): Named | null => {
    // Keys such as `constructor` are names of inherited properties, none of which is a string.
    const value: unknown = labels[key]
    return typeof value === 'string' ? { value, name: value } : null
  }

/** "A-9" comes before "A-10". */
const { compare } = new Intl.Collator('en', { numeric: true })

/** Groups in the order of the choices of a filter; by name, if it has none. */
function orderOf(filter: ListFilter | undefined): (a: Named, b: Named) => number {
  const choices = filter && choicesOf(filter)
  if (choices === undefined) return (a, b) => compare(a.name, b.name)
  const places = new Map(choices.map(([value], i) => [value, i]))
  return (a, b) => places.get(a.value)! - places.get(b.value)!
}

/**
 * @param by as `listGroups` has checked it
 * @returns at most `mostGroups` groups, the number of all, and of all items
 */
export function inGroups<By extends string, Row extends Item>(
  { filters }: AnyList,
  readers: GroupReaders<By, Row>,
  by: string,
  rows: readonly Row[],
): {
  items: ({ value: string | null; name: string | null } & Counted)[]
  total: number
  count: number
} {
  const grouping = groupingOf(Object.keys(readers) as By[], by)!
  const read = 'label' in grouping ? ofLabel(grouping.label) : readers[grouping.by]
  const groups = new Map<string, Named & Counted>()
  const rest: Counted = { count: 0, finding: null }
  const add = (to: Counted, { finding }: Row) => {
    to.count++
    to.finding = worstOf([to.finding, finding])
  }
  for (const row of rows) {
    const group = read(row)
    if (group === null) {
      add(rest, row)
      continue
    }
    const known = groups.get(group.value) ?? { ...group, count: 0, finding: null }
    groups.set(group.value, known)
    add(known, row)
  }
  const inOrder = [...groups.values()].toSorted(
    orderOf('by' in grouping ? filters[grouping.by] : undefined),
  )
  const none = rest.count === 0 ? [] : [{ value: null, name: null, ...rest }]
  return {
    items: [...inOrder, ...none].slice(0, mostGroups),
    total: inOrder.length + none.length,
    count: rows.length,
  }
}
