/** The commands that count the items of a list by what they have in common. */
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterGroups } from '#contract/clusters/groups.ts'
import type { WorstFinding } from '#contract/findings/findings.ts'
import type { AnyList } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import { serverList } from '#contract/servers/server.ts'
import { count, counted } from '#contract/words.ts'
import { command, type Command, given, narrowingOf, narrowingOptions } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { findingColours, findingWord } from '../../finding-text.ts'
import { table } from '../../table.ts'

/** The number of items has the name of the noun: `servers`. */
interface Groups {
  readonly items: readonly (Readonly<Record<string, unknown>> & {
    readonly name: string | null
    readonly finding: WorstFinding | null
  })[]
  readonly total: number
}

function groupCommand(
  list: AnyList,
  operation: Operation,
  [first, ...examples]: readonly [by: string, ...more: string[]],
): Command {
  const [one, many] = list.nouns
  const name = `${one} groups`
  return command({
    name,
    summary: `The ${many} of a list in groups, with the number of ${many} in each and their worst finding.`,
    options: {
      by: {
        kind: 'text',
        value: 'WHAT',
        help: `What the ${many} of a group have in common: ${list.groups?.join(', ')}, or label:KEY`,
      },
      ...narrowingOptions(list),
      search: { kind: 'text', value: 'TEXT', help: 'Only rows that contain the text' },
    },
    examples: [first, ...examples].map((options) => `${name} --by ${options}`),
    async run({ terminal, api, show }, { options }) {
      const { by } = options
      if (by === undefined)
        throw new CliError('usage', `Say what the ${many} are grouped by, such as --by ${first}`)
      const query = given({ ...narrowingOf(list, options), q: options.search, by })
      const answer = (await api.call<Operation>(operation, { query })) as Groups
      show(answer, ({ items, total }) => {
        const rows = table(
          terminal,
          items,
          [
            {
              title: by.replaceAll('_', ' ').toUpperCase(),
              text: ({ name: group }) => group ?? 'none',
            },
            {
              title: many.toUpperCase(),
              text: (group) => count(Number(group[many])),
              right: true,
            },
            {
              title: 'WORST FINDING',
              text: ({ finding }) => (finding ? findingWord(finding) : ''),
              colour: ({ finding }) => finding && findingColours[finding.severity],
            },
          ],
          `No ${many}`,
        )
        const more = total - items.length
        return more > 0 ? `${rows}${counted(more, 'more group')}\n` : rows
      })
    },
  })
}

export const groupCommands: Command[] = [
  groupCommand(serverList.list, serverGroups, ['cluster', 'label:gen --datacenter PL-POZ-1']),
  groupCommand(clusterList.list, clusterGroups, ['finding', 'talos_version -l env=prod']),
]
