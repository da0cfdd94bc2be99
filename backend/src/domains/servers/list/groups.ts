/** Counts the servers of a list by what they have in common. */
import { findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { groupingOf, mostGroups, type serverGroups } from '#contract/servers/groups.ts'
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
  const grouping = groupingOf(by)!
  const read: Reader = 'label' in grouping ? labelReader(grouping.label) : readers[grouping.by]
  const groups = new Map<string, Group & { servers: number }>()
  let rest = 0
  const all = await listed.matches(query)
  for (const { row } of all) {
    const group = read(row)
    if (group === null) rest++
    else {
      const known = groups.get(group.value)
      if (known) known.servers++
      else groups.set(group.value, { ...group, servers: 1 })
    }
  }
  const inOrder = [...groups.values()].toSorted((a, b) =>
    by === 'finding' ? places.get(a.value)! - places.get(b.value)! : compare(a.name, b.name),
  )
  const none = rest === 0 ? [] : [{ value: null, name: null, servers: rest }]
  return {
    items: [...inOrder, ...none].slice(0, mostGroups),
    total: inOrder.length + none.length,
    servers: all.length,
  }
}
