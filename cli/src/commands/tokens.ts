import {
  joinTokenArrivals,
  joinTokenCreate,
  joinTokenList,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { labelsText } from '#contract/labels/changed.ts'
import { command, type Command, given, listCommand, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import { ago, localTime, oneLine } from '../text.ts'
import { labelsOf } from './patches.ts'

export const tokenCommands: Command[] = [
  listCommand({
    name: 'token list',
    summary: 'Join tokens with the number of uses of each. The tokens themselves are never shown.',
    examples: ['token list --status usable'],
    operation: joinTokenList,
    shown: ['name', 'status', 'datacenter', 'uses', 'expires_at', 'last_used'],
    cells: {
      status: { colour: (t) => (t.status === 'usable' ? 'green' : null) },
      uses: {
        text: (t) => (t.max_uses === null ? String(t.uses) : `${t.uses} of ${t.max_uses}`),
        right: true,
      },
      expires_at: { text: (t) => (t.expires_at === null ? 'never' : localTime(t.expires_at)) },
    },
  }),
  command({
    name: 'token create',
    summary: 'Make a join token; it is shown now and never again.',
    operands: { name: { value: 'NAME', help: 'Name of the join token' } },
    options: {
      'lifetime-hours': {
        kind: 'number',
        value: 'N',
        help: 'Hours until it expires, a week if not given',
      },
      'no-expiry': { kind: 'flag', help: 'The token does not expire' },
      uses: {
        kind: 'number',
        value: 'N',
        help: 'How many machines may join with it; any number if not given',
      },
      datacenter: {
        kind: 'text',
        value: 'CODE',
        help: 'Datacenter of servers that join with the token',
      },
      label: {
        kind: 'text',
        value: 'KEY=VALUE',
        help: 'A label of new servers that join with the token',
        many: true,
      },
    },
    examples: [
      'token create rack-3 --lifetime-hours 24 --uses 10 --datacenter PL-POZ-1 --label rack=3',
    ],
    async run({ terminal, api, show }, { operands, options: o }) {
      if (o['no-expiry'] && o['lifetime-hours'] !== undefined)
        throw new CliError('usage', 'Give either --lifetime-hours or --no-expiry')
      const body = {
        name: operands.name,
        ...given({
          lifetime_hours: o['no-expiry'] ? null : o['lifetime-hours'],
          max_uses: o.uses,
          labels: o.label.length === 0 ? undefined : labelsOf(o.label),
          datacenter_id:
            o.datacenter === undefined
              ? undefined
              : await noun.idOf(api, noun.datacenter, o.datacenter),
        }),
      }
      show(await api.call(joinTokenCreate, { body }), (t) =>
        facts(terminal, [
          ['Name', t.name],
          ['Token', t.token],
          ['Kernel argument', t.kernel_argument],
          ['Labels', labelsText(t.labels ?? {})],
          ['Expires', t.expires_at === null ? 'never' : localTime(t.expires_at)],
        ]),
      )
    },
  }),
  listCommand({
    name: 'token arrivals',
    examples: ['token arrivals rack-3'],
    operation: joinTokenArrivals,
    cells: {
      at: { text: (a, now) => ago(a.at, now) },
      result: {
        colour: (a) =>
          a.result === 'joined' ? 'green' : a.result === 'waiting' ? 'yellow' : 'red',
      },
    },
    operands: { token: noun.joinToken },
    ask: async ({ api }, { operands }) => ({
      params: { id: await noun.idOf(api, noun.joinToken, operands.token) },
    }),
  }),
  objectCommand({
    name: 'token revoke',
    of: noun.joinToken,
    operation: joinTokenRevoke,
    summary:
      'Revoke a join token: no server can join with it any more. Servers that have joined stay.',
    say: (_none, name) => `${oneLine(name)} is revoked\n`,
  }),
]
