/** The commands that print a list as CSV. */
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterExport, serverExport } from '#contract/csv/list-exports.ts'
import type { AnyList } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import { serverList } from '#contract/servers/servers.ts'
import { command, type Command, given, narrowingOf, shownOptions } from '../../command.ts'

/** @param example options of an example */
function exportCommand(list: AnyList, operation: Operation, example: string): Command {
  const [one, many] = list.nouns
  return command({
    name: `${one} export`,
    summary: `The ${many} of a list as CSV, of all pages, in numbers and times for programs.`,
    options: shownOptions(list, {
      help: 'Columns to write, after the id',
      choices: Object.keys(list.columns),
    }),
    examples: [`${one} export > ${many}.csv`, `${one} export ${example}`],
    json: false,
    async run({ terminal, api }, { options }) {
      const query = given({
        ...narrowingOf(list, options),
        q: options.search,
        sort: options.sort,
        columns: options.columns.length > 0 ? options.columns.join(',') : undefined,
      })
      terminal.out((await api.call<Operation>(operation, { query })) as string)
    },
  })
}

export const listExportCommands: Command[] = [
  exportCommand(serverList.list, serverExport, '-l rack=3 --columns name,serial,address'),
  exportCommand(clusterList.list, clusterExport, '--columns name,kubernetes_version'),
]
