import { roles } from '#contract/permissions.ts'
import { type Person, userCreate, userList, userRemove, userResetPassword, userUnlock, userUpdate } from '#contract/users.ts'
import { listCommand } from '../list-command.ts'
import { command, type Command, type Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { readPassword } from '../password.ts'
import { userOf } from '../resolve.ts'
import { beSure, sureOption } from '../sure.ts'
import { facts } from '../table.ts'
import { localTime, oneLine } from '../text.ts'

const operand = { email: { value: 'EMAIL', help: 'Email or id of the user' } } as const

/** Finds the user, applies the change, and prints the new state. */
async function change({ api, show }: Context, email: string, body: { name?: string; role?: Person['role']; disabled?: boolean }, say: (u: Person) => string) {
  const { id } = await userOf(api, email)
  show(await api.call(userUpdate, { params: { id }, body }), (u) => `${oneLine(u.email)} ${say(u)}\n`)
}

export const userCommands: Command[] = [
  listCommand({
    name: 'user list',
    summary: 'The people who may sign in.',
    examples: ['user list', 'user list --search example.com --json'],
    operation: userList,
    shown: ['email', 'name', 'role', 'status', 'last_sign_in', 'created_at'],
    cells: { status: { colour: (u) => (u.disabled_at === null ? 'green' : 'yellow') }, last_sign_in: { text: (u) => localTime(u.last_sign_in_at) } },
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
  command({
    name: 'user show',
    summary: 'One user.',
    operands: operand,
    examples: ['user show grace@example.com'],
    async run({ terminal, api, show }, { operands }) {
      show(await userOf(api, operands.email), (u) =>
        facts(terminal, [
          ['Email', u.email],
          ['Name', u.name],
          ['Role', u.role],
          ['Status', u.disabled_at === null ? 'active' : `disabled since ${localTime(u.disabled_at)}`],
          ['Last sign-in', u.last_sign_in_at === null ? 'never' : localTime(u.last_sign_in_at)],
          ['Added', localTime(u.created_at)],
          ['Id', u.id],
        ]),
      )
    },
  }),
  command({
    name: 'user role',
    summary: 'Give a user another role; it takes effect within 5 s.',
    operands: { ...operand, role: { value: 'ROLE', help: `One of ${roles.join(', ')}` } },
    examples: ['user role grace@example.com operator'],
    async run(context, { operands }) {
      const role = roles.find((one) => one === operands.role)
      if (role === undefined) throw new CliError('usage', `${oneLine(operands.role)} is not a role`, { hint: `Roles: ${roles.join(', ')}` })
      await change(context, operands.email, { role }, (u) => `is ${u.role} now`)
    },
  }),
  command({
    name: 'user rename',
    summary: 'Change what a user is called.',
    operands: { ...operand, name: { value: 'NAME', help: 'Name, as it is shown' } },
    examples: ['user rename grace@example.com Grace'],
    run: (context, { operands }) => change(context, operands.email, { name: operands.name }, (u) => `is called ${oneLine(u.name)} now`),
  }),
  command({
    name: 'user disable',
    summary: 'Let a user sign in no more, and end their sessions.',
    operands: operand,
    examples: ['user disable grace@example.com'],
    run: (context, { operands }) => change(context, operands.email, { disabled: true }, () => 'can not sign in any more'),
  }),
  command({
    name: 'user enable',
    summary: 'Let a disabled user sign in again.',
    operands: operand,
    examples: ['user enable grace@example.com'],
    run: (context, { operands }) => change(context, operands.email, { disabled: false }, () => 'can sign in again'),
  }),
  command({
    name: 'user remove',
    summary: 'Remove a user and end their sessions; asks for the email. What they did stays in the audit log.',
    operands: operand,
    options: sureOption,
    examples: ['user remove grace@example.com'],
    async run({ terminal, api, show }, { operands, options }) {
      const { id, email } = await userOf(api, operands.email)
      await beSure(terminal, `This removes the user ${oneLine(email)}.`, email, options.yes)
      await api.call(userRemove, { params: { id } })
      show({ id }, () => `${oneLine(email)} is removed\n`)
    },
  }),
  command({
    name: 'user reset-password',
    summary: 'Make a link by which a user sets a new password, once, within 24 h.',
    operands: operand,
    examples: ['user reset-password grace@example.com'],
    async run({ terminal, api, show }, { operands }) {
      const { id, email } = await userOf(api, operands.email)
      show(await api.call(userResetPassword, { params: { id } }), (link) =>
        facts(terminal, [
          ['For', email],
          ['Link', link.url],
          ['Good until', localTime(link.expires_at)],
        ]),
      )
    },
  }),
  command({
    name: 'user unlock',
    summary: 'Forget the failed sign-ins at an account, so that nobody has to wait any more.',
    operands: operand,
    examples: ['user unlock grace@example.com'],
    async run({ api, show }, { operands }) {
      const { id, email } = await userOf(api, operands.email)
      show(await api.call(userUnlock, { params: { id } }), (u) => `${oneLine(email)} is unlocked: ${u.failures_cleared} failed sign-ins are forgotten\n`)
    },
  }),
]
