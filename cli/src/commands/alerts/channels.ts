import { randomBytes } from 'node:crypto'
import {
  type Channel,
  channelCreate,
  channelGet,
  channelKinds,
  channelList,
  channelPlace,
  channelRemove,
  channelTest,
  channelUpdate,
  mailSecurities,
} from '#contract/alerts/channels.ts'
import {
  command,
  type Command,
  type Context,
  given,
  listCommand,
  objectCommand,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { facts } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

const channelText = (terminal: Terminal, c: Channel): string =>
  facts(terminal, [
    ['Name', c.name],
    ['Id', c.id],
    ['Kind', channelKinds[c.kind]],
    ['To', channelPlace(c)],
    ['Mail server', c.host === null ? null : `${c.host}:${c.port}`],
    ['Encryption', c.security === null ? null : mailSecurities[c.security]],
    ['From', c.from],
    ['User', c.user],
    ['Secret', c.has_secret ? 'set' : 'none'],
    [
      'Former secret',
      c.former_secret_until === null ? null : `signs too until ${localTime(c.former_secret_until)}`,
    ],
    ['Paused', c.paused ? 'yes' : null],
    ['Arrived', c.verified_at === null ? 'never' : localTime(c.verified_at)],
    ['Problem', c.problem === null ? null : `${c.problem} (since ${localTime(c.problem_since)})`],
  ])

const placeOptions = {
  endpoint: {
    kind: 'text',
    value: 'URL',
    help: 'URL of the webhook, or of the Alertmanager without /api/v2/alerts',
  },
  host: { kind: 'text', value: 'HOST', help: 'Name or address of the mail server' },
  port: { kind: 'number', value: 'PORT', help: 'Port of the mail server' },
  security: {
    kind: 'text',
    value: 'HOW',
    choices: ['starttls', 'tls', 'none'],
    help: 'Encryption of the connection to the mail server',
  },
  from: { kind: 'text', value: 'ADDRESS', help: 'Sender of the mail' },
  to: { kind: 'text', many: true, value: 'ADDRESS', help: 'Recipient of the mail' },
  user: {
    kind: 'text',
    value: 'NAME',
    help: 'Name to sign in with at the mail server or the Alertmanager',
  },
  'secret-file': {
    kind: 'text',
    value: 'FILE',
    help: 'File with the signing secret or the password; - for standard input',
  },
} as const

const readSecret = async (file: string): Promise<string> => (await readText(file)).trim()

const ask = async ({ terminal }: Context, what: string): Promise<string> => {
  const typed = await terminal.ask(`${what}: `, { secret: true })
  if (typed === null)
    throw new CliError('usage', `There is no terminal to ask for the ${what.toLowerCase()}`, {
      hint: 'Put it into a file: --secret-file FILE',
    })
  return typed.trim()
}

export const channelCommands: Command[] = [
  listCommand({
    name: 'channel list',
    summary: 'Channels to which findings are sent.',
    examples: ['channel list', 'channel list --kind mail'],
    operation: channelList,
    cells: { problem: { colour: () => 'red', optional: true } },
  }),
  objectCommand({
    name: 'channel show',
    of: noun.channel,
    operation: channelGet,
    say: (c, _name, { terminal }) => channelText(terminal, c),
  }),
  command({
    name: 'channel add',
    summary:
      'Add a channel. A webhook without a secret file gets a new signing secret, which is printed once.',
    operands: { name: { value: 'NAME', help: 'Name of the channel' } },
    options: {
      kind: {
        kind: 'text',
        value: 'KIND',
        choices: ['webhook', 'mail', 'alertmanager'],
        help: 'Kind of the channel (default: webhook, or mail with --host)',
      },
      ...placeOptions,
    },
    examples: [
      'channel add on-call --endpoint https://hooks.example.com/in',
      'channel add ops --host smtp.example.com --from steelyard@example.com --to ops@example.com --user steelyard --secret-file ./password',
      'channel add alertmanager --kind alertmanager --endpoint https://alertmanager.example.com',
    ],
    async run(context, { operands: { name }, options: o }) {
      const { api, show } = context
      const kind = o.kind ?? (o.host === undefined ? 'webhook' : 'mail')
      const file = o['secret-file']
      const made =
        kind === 'webhook' && file === undefined
          ? `whsec_${randomBytes(32).toString('base64')}`
          : undefined
      const secret =
        made ??
        (file !== undefined
          ? await readSecret(file)
          : kind === 'mail' && o.user !== undefined
            ? await ask(context, 'Password')
            : undefined)
      const { endpoint: url, host, port, security, from, to, user } = o
      const body = {
        name,
        kind,
        ...given({ url, host, port, security, from, user, secret }),
        ...(to.length > 0 && { to }),
      }
      show(await api.call(channelCreate, { body }), (c) =>
        [
          `${oneLine(c.name)} is added. Send a test: steelyard channel test ${oneLine(c.name)}`,
          ...(made === undefined ? [] : [`Signing secret, which is not shown again: ${made}`]),
          '',
        ].join('\n'),
      )
    },
  }),
  objectCommand({
    name: 'channel edit',
    of: noun.channel,
    operation: channelUpdate,
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      ...placeOptions,
      pause: { kind: 'flag', help: 'Send nothing until it is resumed' },
      resume: { kind: 'flag', help: 'Send again' },
    },
    examples: [
      'channel edit on-call --endpoint https://hooks.example.org/in',
      'channel edit on-call --secret-file ./new-secret',
      'channel edit ops --pause',
    ],
    async ask(_context, { options: o }) {
      if (o.pause && o.resume) throw new CliError('usage', 'Give either --pause or --resume')
      const { name, endpoint: url, host, port, security, from, to, user } = o
      const file = o['secret-file']
      const body = {
        ...given({ name, url, host, port, security, from, user }),
        ...(to.length > 0 && { to }),
        ...(file !== undefined && { secret: await readSecret(file) }),
        ...((o.pause || o.resume) && { paused: o.pause }),
      }
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (c) =>
      c.former_secret_until === null
        ? `${oneLine(c.name)} is changed\n`
        : `${oneLine(c.name)} is changed; the former secret signs too until ${localTime(c.former_secret_until)}\n`,
  }),
  objectCommand({
    name: 'channel test',
    of: noun.channel,
    operation: channelTest,
    done({ show }, result, _given, name) {
      show(result, (r) =>
        r.ok
          ? `A test message arrived at ${oneLine(name)} (${r.took_ms} ms)\n`
          : `The test message did not arrive: ${oneLine(r.problem ?? '')}\n`,
      )
      return result.ok ? 0 : 1
    },
  }),
  objectCommand({
    name: 'channel remove',
    of: noun.channel,
    operation: channelRemove,
    say: (_none, name) => `${oneLine(name)} is removed\n`,
  }),
]
