import { effects } from '#contract/incidents/effects.ts'
import {
  type Incident,
  incidentAssign,
  incidentGet,
  incidentList,
  incidentUpdate,
} from '#contract/incidents/incidents.ts'
import { type Command, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { remedyCommands } from '../../finding-remedies.ts'
import { findingColours } from '../../finding-text.ts'
import * as noun from '../../nouns.ts'
import { facts } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

/** The commands that mend the worst part, one a line. */
function whatHelps({ id, finding_id, worst, object, cluster, remedies }: Incident): string {
  if (remedies.length === 0) return ''
  const of = worst?.object ?? object
  const commands = remedyCommands({
    id: worst?.finding_id ?? finding_id ?? id,
    object: of,
    cluster: of.kind === 'cluster' ? of : cluster,
    remedies,
  })
  return `What helps:\n${commands.map((line) => `  ${line}\n`).join('')}`
}

const storyOf = ({ story }: Incident): string =>
  story.length === 0
    ? ''
    : `Story:\n${story
        .map(
          ({ at, text, by }) =>
            `  ${localTime(at)}  ${oneLine(text)}${by === null ? '' : ` (${oneLine(by)})`}\n`,
        )
        .join('')}`

const incidentText = (terminal: Terminal, i: Incident): string =>
  facts(terminal, [
    ['Incident', i.title],
    ['Id', i.id],
    ['Effect', effects[i.effect].title],
    ['Severity', i.severity],
    ['Of', `${i.object.kind} ${i.object.name}`],
    ['Cluster', i.cluster?.name ?? null],
    ['Datacenter', i.datacenter?.code ?? null],
    ['Since', localTime(i.since)],
    ['Why', i.reason],
    ['Takes', i.worst === null ? null : i.worst.reason],
    ['Findings', String(i.parts.count)],
    [
      'Assigned',
      i.assigned === null ? 'nobody' : `${i.assigned.to.name}, ${localTime(i.assigned.at)}`,
    ],
    ['Note', i.note],
    ['Ended', i.ended_at === null ? null : localTime(i.ended_at)],
  ]) +
  whatHelps(i) +
  storyOf(i)

export const incidentCommands: Command[] = [
  listCommand({
    name: 'incidents',
    summary: 'What has happened, in the order of effect: findings with one cause are one incident.',
    examples: ['incidents', 'incidents --cluster web', 'incidents --ended true --sort=-ended_at'],
    operation: incidentList,
    shown: ['effect', 'title', 'since', 'assigned', 'reason'],
    cells: { effect: { text: (i) => i.effect, colour: (i) => findingColours[i.severity] } },
  }),
  objectCommand({
    name: 'incident show',
    of: noun.incident,
    operation: incidentGet,
    say: (i, _name, { terminal }) => incidentText(terminal, i),
  }),
  objectCommand({
    name: 'incident assign',
    of: noun.incident,
    operation: incidentAssign,
    examples: [
      'incident assign exact-saddle-787',
      'incident assign exact-saddle-787 --to grace@example.com',
      'incident assign exact-saddle-787 --to nobody',
    ],
    options: {
      to: {
        kind: 'text',
        value: 'EMAIL',
        help: 'Who takes care of it; nobody to give it up. Default: you',
      },
    },
    async ask({ api }, { options: { to } }) {
      if (to === 'nobody') return { body: { user_id: null } }
      if (to === undefined) return { body: {} }
      return { body: { user_id: (await noun.user.find(api, to)).id } }
    },
    say: (i) =>
      `${oneLine(i.title)}: ${i.assigned === null ? 'assigned to nobody' : `assigned to ${oneLine(i.assigned.to.name)}`}\n`,
  }),
  objectCommand({
    name: 'incident note',
    of: noun.incident,
    operation: incidentUpdate,
    examples: ['incident note exact-saddle-787 --text switch-being-replaced'],
    options: {
      text: { kind: 'text', value: 'TEXT', help: 'The note; empty to remove it' },
    },
    async ask(_context, { options: { text } }) {
      if (text === undefined)
        throw new CliError('usage', 'Say what the note is, with --text', {
          hint: 'steelyard incident note exact-saddle-787 --text switch-being-replaced',
        })
      return { body: { note: text } }
    },
    say: (i) => `${oneLine(i.title)}: ${i.note === null ? 'no note' : 'noted'}\n`,
  }),
]
