import { serverGroups } from '#contract/servers/groups.ts'
import { serverGroupings, serverList } from '#contract/servers/server.ts'
import { count } from '#contract/words.ts'
import { command, type Command, given, narrowingOf, narrowingOptions } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { findingColours, findingWord } from '../../finding-text.ts'
import { table } from '../../table.ts'

export const serverGroupCommands: Command[] = [
  command({
    name: 'server groups',
    summary:
      'The servers of a list in groups, with the number of servers in each and their worst finding.',
    options: {
      by: {
        kind: 'text',
        value: 'WHAT',
        help: `What the servers of a group have in common: ${serverGroupings.join(', ')}, or label:KEY`,
      },
      ...narrowingOptions(serverList.list),
      search: { kind: 'text', value: 'TEXT', help: 'Only rows that contain the text' },
    },
    examples: ['server groups --by cluster', 'server groups --by label:gen --datacenter PL-POZ-1'],
    async run({ terminal, api, show }, { options }) {
      const { by } = options
      if (by === undefined)
        throw new CliError('usage', 'Say what the servers are grouped by, such as --by cluster')
      const query = given({
        ...narrowingOf(serverList.list, options),
        q: options.search,
        by,
      })
      show(await api.call(serverGroups, { query }), ({ items, total }) => {
        const rows = table(
          terminal,
          items,
          [
            { title: by.toUpperCase(), text: ({ name }) => name ?? 'none' },
            { title: 'SERVERS', text: ({ servers }) => count(servers), right: true },
            {
              title: 'WORST FINDING',
              text: ({ finding }) => (finding ? findingWord(finding) : ''),
              colour: ({ finding }) => finding && findingColours[finding.severity],
            },
          ],
          'No servers',
        )
        const more = total - items.length
        return more > 0 ? `${rows}${count(more)} more groups\n` : rows
      })
    },
  }),
]
