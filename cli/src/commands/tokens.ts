import { type Arrival, type JoinToken, joinTokenArrivals, joinTokenCreate, joinTokenList, joinTokenRevoke, joinTokenStatuses } from '#contract/join-tokens.ts'
import { command, type Command, given, listOptions } from '../command.ts'
import { CliError } from '../exit.ts'
import { datacenterId, joinTokenId } from '../resolve.ts'
import { type Column, facts, shownOf, table } from '../table.ts'
import { ago, localTime, oneLine, words } from '../text.ts'

const columns: readonly Column<JoinToken>[] = [
  { title: 'NAME', text: (t) => t.name },
  { title: 'STATUS', text: (t) => words(t.status), colour: (t) => (t.status === 'usable' ? 'green' : null) },
  { title: 'DATACENTER', text: (t) => t.datacenter?.code ?? '' },
  { title: 'USES', text: (t) => (t.max_uses === null ? String(t.uses) : `${t.uses} of ${t.max_uses}`), right: true },
  { title: 'EXPIRES', text: (t) => (t.expires_at === null ? 'never' : localTime(t.expires_at)) },
  { title: 'LAST USED', text: (t) => localTime(t.last_used_at) },
]
const arrivalColumns = (now: number): readonly Column<Arrival>[] => [
  { title: 'WHEN', text: (a) => ago(a.at, now) },
  { title: 'SERVER', text: (a) => a.server?.name ?? '' },
  { title: 'ADDRESS', text: (a) => a.address },
  { title: 'UUID', text: (a) => a.uuid },
  { title: 'SERIAL', text: (a) => a.serial },
  { title: 'RESULT', text: (a) => a.result, colour: (a) => (a.result === 'joined' ? 'green' : a.result === 'waiting' ? 'yellow' : 'red') },
  { title: 'REASON', text: (a) => a.reason ?? '' },
]

const operand = { token: { value: 'TOKEN', help: 'Name or id of the join token' } } as const

export const tokenCommands: Command[] = [
  command({
    name: 'token list',
    summary: 'Join tokens, and how often each was used; never the tokens themselves.',
    options: {
      status: { kind: 'text', value: 'STATUS', help: 'Only in this status', choices: joinTokenStatuses },
      ...listOptions(['created_at', 'name', 'expires_at', 'uses', 'status']),
    },
    examples: ['token list --status usable'],
    async run({ terminal, api, show }, { options }) {
      const { status, search, sort, page, 'per-page': perPage } = options
      const query = given({ status, q: search, sort, page, per_page: perPage })
      show(await api.call(joinTokenList, { query }), (found) => table(terminal, found.items, columns, 'No join tokens') + shownOf(found))
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
  command({
    name: 'token arrivals',
    summary: 'What announced itself with a join token, newest first.',
    operands: operand,
    options: listOptions(['at']),
    examples: ['token arrivals rack-3'],
    async run({ terminal, api, show }, { operands, options }) {
      const id = await joinTokenId(api, operands.token)
      const query = given({ q: options.search, sort: options.sort, page: options.page, per_page: options['per-page'] })
      show(
        await api.call(joinTokenArrivals, { params: { id }, query }),
        (page) => table(terminal, page.items, arrivalColumns(terminal.now()), 'Nothing yet') + shownOf(page),
      )
    },
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
