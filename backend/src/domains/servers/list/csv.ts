/** The list of servers as CSV. */
import { serverSaid } from '#contract/findings/said.ts'
import type { serverExport } from '#contract/csv/list-exports.ts'
import { labelsText } from '#contract/labels/changed.ts'
import type { Input } from '#contract/operation.ts'
import { type ListedServer, serverList } from '#contract/servers/server.ts'
import { counted } from '#contract/words.ts'
import { type CsvCells, listCsv } from '../../../csv/listed.ts'
import type { Catalogue } from './catalogue.ts'
import { listedOf } from './kept.ts'

export const exportedCells = {
  status: (server) => serverSaid(server).word,
  hardware: ({ hardware: { maker, model, cores } }) =>
    [
      [maker, model].filter((name) => name !== null).join(' '),
      cores === null ? '' : counted(cores, 'core'),
    ]
      .filter((part) => part !== '')
      .join(', '),
  contact: ({ talos }) => talos.last_contact_at,
  labels: ({ labels }) => labelsText(labels ?? {}),
} satisfies CsvCells<typeof serverList.list>

/** Parses each server only when its row is written. */
function* listedServers(of: Awaited<ReturnType<Catalogue['matches']>>): Generator<ListedServer> {
  for (const entry of of) yield listedOf(entry)
}

export const exported = async (
  listed: Pick<Catalogue, 'matches'>,
  { columns, ...query }: Input<typeof serverExport>['query'],
): Promise<string> =>
  listCsv(serverList.list, exportedCells, listedServers(await listed.matches(query)), columns)
