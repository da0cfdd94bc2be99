import { joinTokenArrivals, joinTokenCreate, joinTokenList, joinTokenRevoke } from '#contract/join-tokens.ts'
import { listCommand } from '../list-command.ts'
import { command, type Command, given } from '../command.ts'
import { CliError } from '../exit.ts'
import { datacenterId, joinTokenId } from '../resolve.ts'
import { facts } from '../table.ts'
import { ago, localTime, oneLine } from '../text.ts'

const operand = { token: { value: 'TOKEN', help: 'Name or id of the join token' } } as const

export const tokenCommands: Command[] = [
  listCommand({
    name: 'token list',
    summary: 'Join tokens, and how often each was used; never the tokens themselves.',
    examples: ['token list --status usable'],
    operation: joinTokenList,
    shown: ['name', 'status', 'datacenter', 'uses', 'expires_at', 'last_used'],
    cells: {
      status: { colour: (t) => (t.status === 'usable' ? 'green' : null) },
      uses: { text: (t) => (t.max_uses === null ? String(t.uses) : `${t.uses} of ${t.max_uses}`), right: true },
      expires_at: { text: (t) => (t.expires_at === null ? 'never' : localTime(t.expires_at)) },
    },
  }),
  command({
    name: 'token create',
    summary: 'Make a join token; it is shown now and never again.',
    operands: { name: { value: 'NAME', help: 'Name of the join token' } },
    options: {
      'lifetime-hours': { kind: 'number', value: 'N', help: 'Hours until it expires, a week if not given' },
      'no-expiry': { kind: 'flag', help: 'It does not expire' },
      uses: { kind: 'number', value: 'N', help: 'How many machines may join with it; any number if not given' },
      datacenter: { kind: 'text', value: 'CODE', help: 'Where servers that come with it are put' },
    },
    examples: ['token create rack-3 --lifetime-hours 24 --uses 10 --datacenter PL-POZ-1'],
    async run({ terminal, api, show }, { operands, options: o }) {
      if (o['no-expiry'] && o['lifetime-hours'] !== undefined) throw new CliError('usage', 'Give either --lifetime-hours or --no-expiry')
      const body = {
        name: operands.name,
        ...given({ lifetime_hours: o['no-expiry'] ? null : o['lifetime-hours'], max_uses: o.uses }),
        ...(o.datacenter !== undefined && { datacenter_id: await datacenterId(api, o.datacenter) }),
      }
      show(await api.call(joinTokenCreate, { body }), (t) =>
        facts(terminal, [
          ['Name', t.name],
          ['Token', t.token],
          ['Kernel argument', t.kernel_argument],
          ['Expires', t.expires_at === null ? 'never' : localTime(t.expires_at)],
        ]),
      )
    },
  }),
  listCommand({
    name: 'token arrivals',
    summary: 'What announced itself with a join token, newest first.',
    examples: ['token arrivals rack-3'],
    operation: joinTokenArrivals,
    shown: ['at', 'server', 'address', 'uuid', 'serial', 'result', 'reason'],
    cells: {
      at: { text: (a, now) => ago(a.at, now) },
      result: { colour: (a) => (a.result === 'joined' ? 'green' : a.result === 'waiting' ? 'yellow' : 'red') },
    },
    operands: operand,
    ask: async ({ api }, { operands }) => ({ params: { id: await joinTokenId(api, operands.token) } }),
  }),
  command({
    name: 'token revoke',
    summary: 'Revoke a join token: nothing can join with it any more. Servers that came through it stay.',
    operands: operand,
    examples: ['token revoke rack-3'],
    async run({ api, show }, { operands }) {
      const id = await joinTokenId(api, operands.token)
      await api.call(joinTokenRevoke, { params: { id } })
      show({ id }, () => `${oneLine(operands.token)} is revoked\n`)
    },
  }),
]
