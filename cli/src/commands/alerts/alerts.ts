import * as z from 'zod/mini'
import { deliveryGet, deliveryList, deliveryRetry } from '#contract/alerts/deliveries.ts'
import {
  type AlertRule,
  alertRuleCreate,
  alertRuleGet,
  alertRuleList,
  alertRuleRemove,
  alertRuleUpdate,
  matchersText,
  ruleTime,
} from '#contract/alerts/rules.ts'
import {
  type Silence,
  silencedText,
  silenceCreate,
  silenceGet,
  silenceList,
  silenceRemove,
} from '#contract/alerts/silences.ts'
import { MaintenanceWindow, weekdays, windowText } from '#contract/clusters/changes/window.ts'
import { findingGet } from '#contract/findings/findings.ts'
import { findingSeverities, kindsOfFindings } from '#contract/findings/kinds.ts'
import {
  command,
  type Command,
  given,
  listCommand,
  type Noun,
  objectCommand,
} from '../../command.ts'
import type { Api } from '../../api/client.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { facts, table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

const matcherOptions = {
  severity: {
    kind: 'text',
    many: true,
    value: 'SEVERITY',
    choices: findingSeverities,
    help: 'Only findings of this severity',
  },
  kind: {
    kind: 'text',
    many: true,
    value: 'KIND',
    choices: kindsOfFindings,
    help: 'Only findings of this kind',
  },
  datacenter: {
    kind: 'text',
    many: true,
    value: 'CODE',
    help: 'Only findings in this datacenter',
  },
  cluster: {
    kind: 'text',
    many: true,
    value: 'CLUSTER',
    help: 'Only findings of this cluster and its servers',
  },
} as const
interface Matched {
  readonly severity: (typeof findingSeverities)[number][]
  readonly kind: (typeof kindsOfFindings)[number][]
  readonly datacenter: string[]
  readonly cluster: string[]
}

const idsOf = (api: Api, of: Noun, names: readonly string[]) =>
  Promise.all(names.map((name) => noun.idOf(api, of, name)))
/** The matchers that the options give; those that are left out stay away. */
const matchersOf = async (api: Api, o: Matched) => ({
  ...(o.severity.length > 0 && { severities: o.severity }),
  ...(o.kind.length > 0 && { kinds: o.kind }),
  ...(o.datacenter.length > 0 && {
    datacenter_ids: await idsOf(api, noun.datacenter, o.datacenter),
  }),
  ...(o.cluster.length > 0 && { cluster_ids: await idsOf(api, noun.cluster, o.cluster) }),
})

const whenOptions = {
  channel: {
    kind: 'text',
    many: true,
    value: 'CHANNEL',
    help: 'Channel that is notified (default: every channel)',
  },
  'wait-minutes': {
    kind: 'number',
    value: 'MINUTES',
    help: 'Tell what has lasted this long (default: 0)',
  },
  'digest-at': {
    kind: 'text',
    value: 'HH:MM',
    help: 'Tell once a day at this time, UTC, what is open; none: tell at once',
  },
  'remind-hours': {
    kind: 'number',
    value: 'HOURS',
    help: 'Tell again what is open after this time; 0: never (default: 4)',
  },
} as const

const ruleText = (terminal: Terminal, r: AlertRule): string =>
  facts(terminal, [
    ['Name', r.name],
    ['Id', r.id],
    ['Findings', matchersText(r)],
    ['Kinds', r.kinds.join(', ') || null],
    ['To', r.channels === null ? 'every channel' : r.channels.map((c) => c.name).join(', ')],
    ['When', ruleTime(r)],
    ['Reminds', r.remind_hours === null ? 'never' : `after ${r.remind_hours} h`],
    ['Paused', r.paused ? 'yes' : null],
  ])

interface When {
  readonly channel: string[]
  readonly 'wait-minutes'?: number | undefined
  readonly 'digest-at'?: string | undefined
  readonly 'remind-hours'?: number | undefined
}
const whenOf = async (api: Api, o: When) => ({
  ...given({ wait_minutes: o['wait-minutes'] }),
  ...(o['digest-at'] !== undefined && {
    digest_at: o['digest-at'] === 'none' ? null : o['digest-at'],
  }),
  ...(o['remind-hours'] !== undefined && { remind_hours: o['remind-hours'] || null }),
  ...(o.channel.length > 0 && {
    channel_ids: o.channel.includes('all') ? null : await idsOf(api, noun.channel, o.channel),
  }),
})

const silenceText = (terminal: Terminal, s: Silence): string =>
  facts(terminal, [
    ['Id', s.id],
    ['Why', s.note],
    ['Silenced', silencedText(s)],
    ['Kinds', s.kinds.join(', ') || null],
    ['State', s.state],
    ['Starts', localTime(s.starts_at)],
    ['Ends', localTime(s.ends_at)],
    ['Repeats', s.repeats === null ? null : windowText(s.repeats)],
    ['By', s.by],
  ])

const timeOptions = {
  note: { kind: 'text', value: 'TEXT', help: 'Why it is silenced' },
  hours: { kind: 'number', decimal: true, value: 'HOURS', help: 'How long it is silenced' },
  until: { kind: 'text', value: 'TIME', help: 'When it ends, in ISO 8601' },
} as const

function isoTime(option: string, text: string): string {
  const at = new Date(text)
  if (Number.isNaN(at.getTime()))
    throw new CliError('usage', `--${option} is a time such as 2027-01-01T06:00:00Z`)
  return at.toISOString()
}

/** Note and times of a silence. */
function timesOf(o: {
  note?: string | undefined
  hours?: number | undefined
  until?: string | undefined
  starts?: string | undefined
}) {
  if (o.note === undefined) throw new CliError('usage', 'Say why it is silenced: --note TEXT')
  if ((o.hours === undefined) === (o.until === undefined))
    throw new CliError('usage', 'Give either --hours or --until')
  const starts_at = o.starts === undefined ? undefined : isoTime('starts', o.starts)
  const from = starts_at === undefined ? Date.now() : Date.parse(starts_at)
  const ends_at =
    o.until === undefined
      ? new Date(from + o.hours! * 3_600_000).toISOString()
      : isoTime('until', o.until)
  return { note: o.note, ends_at, ...given({ starts_at }) }
}

const saidSilence = (s: Silence): string =>
  `Silenced until ${localTime(s.ends_at)}: ${oneLine(silencedText(s))} (${s.id})\n`

export const alertCommands: Command[] = [
  listCommand({
    name: 'alert-rule list',
    summary: 'Rules: which findings are sent to which channels.',
    examples: ['alert-rule list'],
    operation: alertRuleList,
    cells: { paused: { optional: true } },
  }),
  objectCommand({
    name: 'alert-rule show',
    of: noun.alertRule,
    operation: alertRuleGet,
    say: (r, _name, { terminal }) => ruleText(terminal, r),
  }),
  command({
    name: 'alert-rule add',
    summary: alertRuleCreate.summary,
    operands: { name: { value: 'NAME', help: 'Name of the rule' } },
    options: { ...matcherOptions, ...whenOptions },
    examples: [
      'alert-rule add nights --severity down --channel on-call --remind-hours 1',
      'alert-rule add web --cluster web --wait-minutes 10',
    ],
    async run({ api, show }, { operands: { name }, options }) {
      const body = { name, ...(await matchersOf(api, options)), ...(await whenOf(api, options)) }
      show(
        await api.call(alertRuleCreate, { body }),
        (r) => `${oneLine(r.name)} is added: ${matchersText(r)}, ${ruleTime(r)}\n`,
      )
    },
  }),
  objectCommand({
    name: 'alert-rule edit',
    of: noun.alertRule,
    operation: alertRuleUpdate,
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      ...matcherOptions,
      ...whenOptions,
      pause: { kind: 'flag', help: 'Tell nothing by this rule until it is resumed' },
      resume: { kind: 'flag', help: 'Tell again' },
    },
    examples: [
      'alert-rule edit urgent --wait-minutes 5',
      'alert-rule edit daily --digest-at 06:30',
    ],
    async ask({ api }, { options: o }) {
      if (o.pause && o.resume) throw new CliError('usage', 'Give either --pause or --resume')
      const body = {
        ...given({ name: o.name }),
        ...(await matchersOf(api, o)),
        ...(await whenOf(api, o)),
        ...((o.pause || o.resume) && { paused: o.pause }),
      }
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (r) => `${oneLine(r.name)} is changed: ${matchersText(r)}, ${ruleTime(r)}\n`,
  }),
  objectCommand({
    name: 'alert-rule remove',
    of: noun.alertRule,
    operation: alertRuleRemove,
    say: (_none, name) => `${oneLine(name)} is removed\n`,
  }),
  listCommand({
    name: 'silence list',
    summary: silenceList.summary,
    examples: ['silence list --ended false'],
    operation: silenceList,
    cells: { repeats: { optional: true } },
  }),
  objectCommand({
    name: 'silence show',
    of: noun.silence,
    operation: silenceGet,
    say: (s, _name, { terminal }) => silenceText(terminal, s),
  }),
  command({
    name: 'silence add',
    summary: silenceCreate.summary,
    operands: {},
    options: {
      ...matcherOptions,
      ...timeOptions,
      starts: { kind: 'text', value: 'TIME', help: 'When it begins (default: now)' },
      day: {
        kind: 'text',
        many: true,
        value: 'DAY',
        choices: weekdays,
        help: 'Silence only on this day of the week, from --from for --minutes',
      },
      from: { kind: 'text', value: 'HH:MM', help: 'Local time at which it begins on these days' },
      minutes: { kind: 'number', value: 'MINUTES', help: 'How long it lasts on these days' },
      'time-zone': {
        kind: 'text',
        value: 'ZONE',
        help: 'Time zone, such as Europe/Warsaw (default: UTC)',
      },
    },
    examples: [
      'silence add --datacenter DE-FRA-1 --hours 4 --note power-supply',
      'silence add --cluster web --until 2027-03-01T00:00:00Z --day sun --from 02:00 --minutes 120 --note tests',
    ],
    async run({ api, show }, { options: o }) {
      const isRepeated = o.day.length > 0 || o.from !== undefined || o.minutes !== undefined
      const read = isRepeated
        ? z.safeParse(MaintenanceWindow, {
            days: o.day,
            from: o.from,
            minutes: o.minutes,
            time_zone: o['time-zone'] ?? 'UTC',
          })
        : undefined
      if (read?.success === false)
        throw new CliError('usage', `Invalid times: ${read.error.issues[0]!.message}`)
      const body = {
        ...timesOf(o),
        ...(await matchersOf(api, o)),
        ...(read && { repeats: read.data }),
      }
      show(await api.call(silenceCreate, { body }), saidSilence)
    },
  }),
  objectCommand({
    name: 'silence end',
    of: noun.silence,
    operation: silenceRemove,
    say: () => 'The silence has ended\n',
  }),
  command({
    name: 'finding silence',
    summary: 'Silence a finding for a time: it is still shown, and not sent.',
    operands: { finding: noun.finding },
    options: timeOptions,
    examples: [
      'finding silence 0198c0de-0000-7000-8000-000000000001 --hours 4 --note switch-being-replaced',
    ],
    async run({ api, show }, { operands, options }) {
      const times = timesOf(options)
      const id = await noun.idOf(api, noun.finding, operands.finding)
      const { kind, object } = await api.call(findingGet, { params: { id } })
      const body = { ...times, kinds: [kind], object: { kind: object.kind, id: object.id } }
      show(await api.call(silenceCreate, { body }), saidSilence)
    },
  }),
  listCommand({
    name: 'delivery list',
    summary: deliveryList.summary,
    examples: ['delivery list --state failed', 'delivery list --channel on-call'],
    operation: deliveryList,
    cells: {
      state: { text: (d) => d.state, colour: (d) => (d.state === 'failed' ? 'red' : null) },
      problem: { optional: true },
    },
  }),
  objectCommand({
    name: 'delivery show',
    of: noun.delivery,
    operation: deliveryGet,
    say: (d, _name, { terminal }) =>
      [
        facts(terminal, [
          ['Id', d.id],
          ['Channel', d.channel.name],
          ['Message', d.subject],
          ['State', d.state],
          ['Next attempt', d.next_at === null ? null : localTime(d.next_at)],
        ]),
        table(
          terminal,
          d.tries,
          [
            { title: 'ATTEMPT', text: (t) => String(t.number) },
            { title: 'AT', text: (t) => localTime(t.at) },
            { title: 'STATUS', text: (t) => (t.status === null ? '' : String(t.status)) },
            { title: 'TOOK', text: (t) => `${t.took_ms} ms` },
            { title: 'PROBLEM', text: (t) => t.problem ?? '' },
          ],
          'Not sent yet',
        ),
        ...(d.recipients.length === 0
          ? []
          : [
              table(
                terminal,
                d.recipients,
                [
                  { title: 'RECIPIENT', text: (r) => r.address },
                  { title: 'STATE', text: (r) => r.state },
                  { title: 'STATUS', text: (r) => (r.status === null ? '' : String(r.status)) },
                  {
                    title: 'NEXT ATTEMPT',
                    text: (r) => (r.next_at === null ? '' : localTime(r.next_at)),
                  },
                  { title: 'PROBLEM', text: (r) => r.problem ?? '' },
                ],
                'No recipient',
              ),
            ]),
      ].join('\n'),
  }),
  objectCommand({
    name: 'delivery retry',
    of: noun.delivery,
    operation: deliveryRetry,
    say: () => 'The message is sent again\n',
  }),
]
