/** What a list of servers that is grouped asks, shows and links for each group. Pure. */
import { type Grouping, groupingOf as readGrouping } from '#contract/labels/grouping.ts'
import { longestSelector } from '#contract/labels/selector.ts'
import { noValue } from '#contract/list.ts'
import type { Answer } from '#contract/operation.ts'
import type { serverGroups } from '#contract/servers/groups.ts'
import { type ListedServer, serverGroupings, serverList } from '#contract/servers/server.ts'
import { labelText } from '../../../lib/label.ts'
import { type ListSearch, widened } from '../../../lib/list-search.ts'
import { paths } from '../../../lib/paths.ts'

export type ServerGroup = Answer<typeof serverGroups>['items'][number]
export type ServerGrouping = Grouping<(typeof serverGroupings)[number]>

export const groupingOf = (text: string): ServerGrouping | null =>
  readGrouping(serverGroupings, text)

/** "rack", "label gen" */
export const groupingSaid = (grouping: ServerGrouping): string =>
  'label' in grouping ? `label ${grouping.label}` : grouping.by

/** The search that lists the servers of a group; null if its selector of labels is too long. */
export function searchOf(
  grouping: ServerGrouping,
  value: string | null,
  search: ListSearch,
): ListSearch | null {
  if ('by' in grouping) return { ...search, [grouping.by]: value ?? noValue }
  const { label: key } = grouping
  const own = value === null ? `!${key}` : `${key}=${value}`
  const label = search['label'] ? `${search['label']},${own}` : own
  return label.length > longestSelector ? null : { ...search, label }
}

/** The value of the group to which a server belongs; null if it is in none. */
export function groupOf(grouping: ServerGrouping, server: ListedServer): string | null {
  if ('label' in grouping) {
    // Keys such as `constructor` are names of inherited properties, none of which is a string.
    const value: unknown = server.labels?.[grouping.label]
    return typeof value === 'string' ? value : null
  }
  const read = {
    cluster: server.cluster?.id,
    rack: server.placement?.rack.id,
    datacenter: server.datacenter?.id,
    finding: server.finding?.kind,
  }
  return read[grouping.by] ?? null
}

/** The name of a group, as its heading says it. */
export function nameOf(grouping: ServerGrouping, { value, name }: ServerGroup): string {
  if ('label' in grouping)
    return value === null
      ? `Without the label ${grouping.label}`
      : labelText([grouping.label, value])
  if (value !== null) return name ?? value
  const { filters } = serverList.list
  return grouping.by === 'finding' ? filters.finding.choices.none : filters[grouping.by].none
}

/** The page of what a group's servers have in common, or else the list of these servers. */
export function hrefOf(grouping: ServerGrouping, group: ServerGroup, search: ListSearch): string {
  const { value, name } = group
  if ('by' in grouping && value !== null) {
    if (grouping.by === 'cluster') return paths.cluster(value)
    if (grouping.by === 'rack') return paths.rack(value)
    if (grouping.by === 'finding') return paths.findings({ kind: value })
    return paths.datacenters({ q: name ?? value })
  }
  const kept = Object.keys(widened(serverList.list)).map((key) => [key, search[key]] as const)
  const shown = { ...Object.fromEntries(kept), page: undefined, sort: search['sort'] }
  return paths.servers(searchOf(grouping, value, shown) ?? shown)
}

/** A group in the URL's list of open groups. Values of groups contain neither commas nor marks. */
export const keyOf = (value: string | null): string =>
  value === null ? '!' : value === '' ? '=' : value
