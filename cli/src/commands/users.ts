import { type Person, userList } from '#contract/users.ts'
import { command, type Command, given, listOptions } from '../command.ts'
import { type Column, shownOf, table } from '../table.ts'
import { localTime } from '../text.ts'

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
]
