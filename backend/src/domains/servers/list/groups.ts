/** Counts the servers of a list by what they have in common. */
import type { Answer, Input } from '#contract/operation.ts'
import type { serverGroups } from '#contract/servers/groups.ts'
import { type serverGroupings, serverList } from '#contract/servers/server.ts'
import { type GroupReaders, inGroups, named, ofFinding } from '../../../groups.ts'
import type { ListedRow } from '../store.ts'
import type { Catalogue } from './catalogue.ts'

const readers: GroupReaders<(typeof serverGroupings)[number], ListedRow> = {
  cluster: (row) => named(row.cluster_id, row.cluster_name),
  datacenter: (row) => named(row.datacenter_id, row.datacenter_code),
  // Racks of two datacenters may have one name.
  rack: (row) =>
    row.rack_name === null
      ? null
      : named(row.rack_id, `${row.rack_name}, ${row.datacenter_code ?? ''}`),
  finding: ofFinding,
}

/** @param query as `serverGroups` has checked it */
export async function grouped(
  listed: Pick<Catalogue, 'matches'>,
  { by, ...query }: Input<typeof serverGroups>['query'],
): Promise<Answer<typeof serverGroups>> {
  const rows = (await listed.matches(query)).map(({ row }) => row)
  const { items, total, count } = inGroups(serverList.list, readers, by, rows)
  return {
    items: items.map(({ count: servers, ...group }) => ({ ...group, servers })),
    total,
    servers: count,
  }
}
