import { roles } from '#contract/permissions.ts'
import { type Person, userCreate, userList } from '#contract/users.ts'
import { command, type Command, given, listOptions } from '../command.ts'
import { CliError } from '../exit.ts'
import { readPassword } from '../password.ts'
import { type Column, shownOf, table } from '../table.ts'
import { localTime, oneLine } from '../text.ts'

const columns: readonly Column<Person>[] = [
  { title: 'EMAIL', text: (u) => u.email },
  { title: 'NAME', text: (u) => u.name },
  { title: 'ROLE', text: (u) => u.role },
  { title: 'LAST SIGN-IN', text: (u) => localTime(u.last_sign_in_at) },
  { title: 'ADDED', text: (u) => localTime(u.created_at) },
]

export const userCommands: Command[] = [
  command({
    name: 'user list',
    summary: 'The people who may sign in.',
    options: listOptions(['email', 'name', 'role', 'created_at']),
    examples: ['user list', 'user list --search example.com --json'],
    async run({ terminal, api, show }, { options }) {
      const query = given({ q: options.search, sort: options.sort, page: options.page, per_page: options['per-page'] })
      show(await api.call(userList, { query }), (page) => table(terminal, page.items, columns, 'No users') + shownOf(page))
    },
  }),
  command({
    name: 'user add',
    summary: 'Add a person; with --first, on the machine itself, the first one of a new installation.',
    operands: { email: { value: 'EMAIL', help: 'Email to sign in with' } },
    options: {
      role: { kind: 'text', value: 'ROLE', help: 'What they may do, viewer if not given', choices: roles },
      name: { kind: 'text', value: 'NAME', help: 'What they are called; else the part of the email before the @' },
      'password-stdin': { kind: 'flag', help: 'Read their password from standard input; else it is asked for' },
      first: { kind: 'flag', help: 'Make the first user, an admin: a command of the program on its own machine' },
    },
    examples: ['user add grace@example.com --role operator', 'user add --first admin@example.com'],
    async run(context, { operands: { email }, options }) {
      const { api, runProgram, show } = context
      if (options.first) {
        if (options.role !== undefined || options.name !== undefined || context.json)
          throw new CliError('usage', 'The first user is an admin: --first takes only EMAIL and --password-stdin')
        return runProgram(['user', 'add', '--first', email, ...(options['password-stdin'] ? ['--password-stdin'] : [])])
      }
      const password = await readPassword(context, { fromStdin: options['password-stdin'], twice: true })
      const body = { email, name: options.name ?? email.split('@')[0]!, role: options.role ?? 'viewer', password }
      show(await api.call(userCreate, { body }), (u) => `${oneLine(u.email)} can sign in now, as ${u.role}\n`)
      return undefined
    },
  }),
]
