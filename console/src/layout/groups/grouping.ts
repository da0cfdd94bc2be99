/** What a list in groups asks, shows and links for each group. Pure. */
import type { WorstFinding } from '#contract/findings/findings.ts'
import { type Grouping, groupingOf as readGrouping } from '#contract/labels/grouping.ts'
import { longestSelector } from '#contract/labels/selector.ts'
import { type AnyList, choicesOf, noValue } from '#contract/list.ts'
import { labelText } from '../../lib/label.ts'
import { type ListSearch, widened } from '../../lib/list-search.ts'

/** A group of an answer. The number of its items has the name of the noun. */
export interface Group {
  readonly value: string | null
  readonly name: string | null
  readonly servers?: number
  readonly clusters?: number
  readonly finding: WorstFinding | null
}
export interface Groups {
  readonly items: readonly Group[]
  readonly total: number
}

/** What all items that are grouped have. */
export interface Grouped {
  readonly id: string
  readonly labels?: Readonly<Record<string, string>> | undefined
}
/** What each kind of list says of its groups. */
export interface GroupedKind<T extends Grouped> {
  readonly list: AnyList
  /** The value that an item has for each filter that groups. */
  readonly values: Readonly<Record<string, (item: T) => string | null | undefined>>
  /** What a grouping is called after "by", if it isn't its name. */
  readonly said?: Readonly<Record<string, string>>
  /** How the names of groups are shown, if they aren't names of objects. */
  readonly shown?: Readonly<Record<string, (name: string) => string>>
  /** The address of the list. */
  readonly listHref: (search: ListSearch) => string
  /** The page to which the name of a group leads; null: the list of its items. */
  readonly hrefOf?: (by: string, value: string, name: string, search: ListSearch) => string | null
}

export const groupingOf = ({ groups = [] }: AnyList, text: string): Grouping | null =>
  readGrouping(groups, text)

/** "rack", "label gen" */
export const groupingSaid = (
  { said }: Pick<GroupedKind<never>, 'said'>,
  grouping: Grouping,
): string =>
  'label' in grouping ? `label ${grouping.label}` : (said?.[grouping.by] ?? grouping.by)

/** The number of items of a group. */
export const countOf = ({ nouns: [, many] }: AnyList, group: Group): number =>
  group[many as 'servers' | 'clusters'] ?? 0

/** The search that lists the items of a group; null if its selector of labels is too long. */
export function searchOf(
  grouping: Grouping,
  value: string | null,
  search: ListSearch,
): ListSearch | null {
  if ('by' in grouping) return { ...search, [grouping.by]: value ?? noValue }
  const { label: key } = grouping
  const own = value === null ? `!${key}` : `${key}=${value}`
  const label = search['label'] ? `${search['label']},${own}` : own
  return label.length > longestSelector ? null : { ...search, label }
}

/** The value of the group to which an item belongs; null if it is in none. */
export function groupOf<T extends Grouped>(
  { values }: Pick<GroupedKind<T>, 'values'>,
  grouping: Grouping,
  item: T,
): string | null {
  if ('by' in grouping) return values[grouping.by]?.(item) ?? null
  // Keys such as `constructor` are names of inherited properties, none of which is a string.
  const value: unknown = item.labels?.[grouping.label]
  return typeof value === 'string' ? value : null
}

/** The name of a group, as its heading says it. */
export function nameOf(
  { list, shown }: Pick<GroupedKind<never>, 'list' | 'shown'>,
  grouping: Grouping,
  { value, name }: Group,
): string {
  if ('label' in grouping)
    return value === null
      ? `Without the label ${grouping.label}`
      : labelText([grouping.label, value])
  const { by } = grouping
  if (value !== null) return shown?.[by]?.(name ?? value) ?? name ?? value
  const filter = list.filters[by]!
  return filter.none ?? choicesOf(filter)?.find(([choice]) => choice === noValue)?.[1] ?? 'None'
}

/** The page of what a group's items have in common, or else the list of these items. */
export function hrefOf(
  { list, listHref, hrefOf: own }: Pick<GroupedKind<never>, 'list' | 'listHref' | 'hrefOf'>,
  grouping: Grouping,
  { value, name }: Group,
  search: ListSearch,
): string {
  const kept = Object.keys(widened(list)).map((key) => [key, search[key]] as const)
  const shown = { ...Object.fromEntries(kept), page: undefined, sort: search['sort'] }
  const page = 'by' in grouping && value !== null && own?.(grouping.by, value, name ?? value, shown)
  return page || listHref(searchOf(grouping, value, shown) ?? shown)
}

/** A group in the URL's list of open groups. Values of groups contain neither commas nor marks. */
export const keyOf = (value: string | null): string =>
  value === null ? '!' : value === '' ? '=' : value
