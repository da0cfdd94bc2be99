import {
  type Finding,
  findingAcknowledge,
  findingAffected,
  findingGet,
  findingList,
} from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { command, type Command, given, listCommand, objectCommand } from '../../command.ts'
import { remedyCommands } from '../../finding-remedies.ts'
import { findingColours } from '../../finding-text.ts'
import * as noun from '../../nouns.ts'
import { facts, table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

/** The commands that help, one a line. */
const whatHelps = (f: Finding): string =>
  f.ended_at !== null || f.remedies.length === 0
    ? ''
    : `What helps:\n${remedyCommands(f)
        .map((line) => `  ${line}\n`)
        .join('')}`

const findingText = (terminal: Terminal, f: Finding): string =>
  facts(terminal, [
    ['Finding', findingKinds[f.kind].title],
    ['Id', f.id],
    ['Severity', f.severity],
    ['Of', `${f.object.kind} ${f.object.name}`],
    ['Cluster', f.cluster?.name ?? null],
    ['Datacenter', f.datacenter?.code ?? null],
    ['Since', localTime(f.since)],
    ['Why', f.reason],
    [
      'Acknowledged',
      f.acknowledged === null
        ? null
        : `${f.acknowledged.by}, ${localTime(f.acknowledged.at)}${f.acknowledged.note === null ? '' : `: ${f.acknowledged.note}`}`,
    ],
    ['Servers', f.affected === null ? null : String(f.affected.count)],
    ['Caused by', f.caused_by],
    ['Ended', f.ended_at === null ? null : localTime(f.ended_at)],
    ['Began', f.count === 1 ? null : `${f.count} times`],
  ]) + whatHelps(f)

export const findingCommands: Command[] = [
  listCommand({
    name: 'findings',
    summary:
      'What is wrong with servers, clusters, datacenters, channels and Steelyard itself now, the worst first.',
    examples: ['findings', 'findings --cluster web', 'findings --ended true --sort=-ended_at'],
    operation: findingList,
    shown: ['severity', 'kind', 'object', 'since', 'reason'],
    cells: { severity: { text: (f) => f.severity, colour: (f) => findingColours[f.severity] } },
  }),
  objectCommand({
    name: 'finding show',
    of: noun.finding,
    operation: findingGet,
    say: (f, _name, { terminal }) => findingText(terminal, f),
  }),
  command({
    name: 'finding affected',
    summary: 'The servers that a finding about several servers concerns.',
    operands: { finding: noun.finding },
    examples: ['finding affected 0198c0de-0000-7000-8000-000000000001'],
    async run({ api, show, terminal }, { operands }) {
      const params = { id: await noun.idOf(api, noun.finding, operands.finding) }
      show(await api.call(findingAffected, { params }), ({ items }) =>
        table(
          terminal,
          items,
          [
            { title: 'NAME', text: (s) => s.name },
            { title: 'SINCE', text: (s) => localTime(s.since) },
            { title: 'ENDED', text: (s) => (s.ended_at === null ? '' : localTime(s.ended_at)) },
          ],
          'The finding is about one object',
        ),
      )
    },
  }),
  command({
    name: 'finding acknowledge',
    summary: 'Say that you take care of an open finding.',
    operands: { finding: noun.finding },
    options: { note: { kind: 'text', value: 'TEXT', help: 'What is being done about it' } },
    examples: [
      'finding acknowledge 0198c0de-0000-7000-8000-000000000001 --note switch-being-replaced',
    ],
    async run({ api, show }, { operands, options: { note } }) {
      const params = { id: await noun.idOf(api, noun.finding, operands.finding) }
      show(
        await api.call(findingAcknowledge, { params, body: given({ note }) }),
        (f) => `${findingKinds[f.kind].title} of ${oneLine(f.object.name)}: acknowledged\n`,
      )
    },
  }),
]
