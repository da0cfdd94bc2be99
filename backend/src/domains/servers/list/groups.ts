/** Counts the servers of a list by what they have in common. */
import { findingKinds, kindsOfFindings, worstOf } from '#contract/findings/kinds.ts'
import { groupingOf } from '#contract/labels/grouping.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { mostGroups, type serverGroups } from '#contract/servers/groups.ts'
import { serverGroupings } from '#contract/servers/server.ts'
import type { ListedRow } from '../store.ts'
import type { Catalogue } from './catalogue.ts'

interface Group {
  readonly value: string
  readonly name: string
}
type Reader = (row: ListedRow) => Group | null

const named = (value: string | null, name: string | null): Group | null =>
  value === null || name === null ? null : { value, name }

const readers = {
  cluster: (row) => named(row.cluster_id, row.cluster_name),
  datacenter: (row) => named(row.datacenter_id, row.datacenter_code),
  // Racks of two datacenters may have one name.
  rack: (row) =>
    row.rack_name === null
      ? null
      : named(row.rack_id, `${row.rack_name}, ${row.datacenter_code ?? ''}`),
  finding: ({ finding }) => finding && named(finding.kind, findingKinds[finding.kind].title),
} satisfies Record<string, Reader>

const labelReader =
  (key: string): Reader =>
  ({ labels }) => {
    // Keys such as `constructor` are names of inherited properties, none of which is a string.
    const value: unknown = labels[key]
    return typeof value === 'string' ? { value, name: value } : null
  }

/** "A-9" comes before "A-10". */
const { compare } = new Intl.Collator('en', { numeric: true })
const places = new Map<string, number>(kindsOfFindings.map((kind, i) => [kind, i]))

/** @param query as `serverGroups` has checked it */
export async function grouped(
  listed: Pick<Catalogue, 'matches'>,
  { by, ...query }: Input<typeof serverGroups>['query'],
): Promise<Answer<typeof serverGroups>> {
  const grouping = groupingOf(serverGroupings, by)!
  const read: Reader = 'label' in grouping ? labelReader(grouping.label) : readers[grouping.by]
  type Counted = Pick<Answer<typeof serverGroups>['items'][number], 'servers' | 'finding'>
  const groups = new Map<string, Group & Counted>()
  const rest: Counted = { servers: 0, finding: null }
  const count = (to: Counted, { finding }: ListedRow) => {
    to.servers++
    to.finding = worstOf([to.finding, finding])
  }
  const all = await listed.matches(query)
  for (const { row } of all) {
    const group = read(row)
    if (group === null) {
      count(rest, row)
      continue
    }
    const known = groups.get(group.value) ?? { ...group, servers: 0, finding: null }
    groups.set(group.value, known)
    count(known, row)
  }
  const inOrder = [...groups.values()].toSorted((a, b) =>
    by === 'finding' ? places.get(a.value)! - places.get(b.value)! : compare(a.name, b.name),
  )
  const none = rest.servers === 0 ? [] : [{ value: null, name: null, ...rest }]
  return {
    items: [...inOrder, ...none].slice(0, mostGroups),
    total: inOrder.length + none.length,
    servers: all.length,
  }
}
