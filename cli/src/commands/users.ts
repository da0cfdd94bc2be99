import { roles } from '#contract/permissions.ts'
import {
  statusOf,
  userCreate,
  userList,
  userRemove,
  userResetPassword,
  userResetSecondFactor,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import { beSure, readPassword, sureOption } from '../ask.ts'
import { command, type Command, given, listCommand, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import { localTime, oneLine } from '../text.ts'

const user = { of: noun.user, operation: userUpdate } as const

export const userCommands: Command[] = [
  listCommand({
    name: 'user list',
    summary: 'The users of this installation.',
    examples: ['user list', 'user list --search example.com --json'],
    operation: userList,
    cells: {
      status: { colour: (u) => (u.disabled_at === null ? 'green' : 'yellow') },
      last_sign_in: { text: (u) => localTime(u.last_sign_in_at) },
    },
  }),
  command({
    name: 'user add',
    summary:
      'Add a user. With --first: add the first user of a new installation; works only on the machine of Steelyard itself.',
    operands: { email: { value: 'EMAIL', help: 'Email to sign in with' } },
    options: {
      role: {
        kind: 'text',
        value: 'ROLE',
        help: 'Role of the user (default: viewer)',
        choices: roles,
      },
      name: {
        kind: 'text',
        value: 'NAME',
        help: 'Name of the user (default: the part of the email before the @)',
      },
      'password-stdin': {
        kind: 'flag',
        help: 'Read the password from standard input instead of asking for it',
      },
      'no-password': {
        kind: 'flag',
        help: 'The user signs in through the identity provider, or sets a password with a link',
      },
      first: {
        kind: 'flag',
        help: 'Create the first user, an admin; works only on the machine of Steelyard itself',
      },
    },
    examples: ['user add grace@example.com --role operator', 'user add --first admin@example.com'],
    async run(context, { operands: { email }, options }) {
      const { api, runProgram, show } = context
      if (options.first) {
        if (
          options.role !== undefined ||
          options.name !== undefined ||
          options['no-password'] ||
          context.json
        )
          throw new CliError(
            'usage',
            'The first user is an admin: --first takes only EMAIL and --password-stdin',
          )
        return runProgram([
          'user',
          'add',
          '--first',
          email,
          ...(options['password-stdin'] ? ['--password-stdin'] : []),
        ])
      }
      if (options['no-password'] && options['password-stdin'])
        throw new CliError('usage', 'Give either --password-stdin or --no-password')
      const password = options['no-password']
        ? undefined
        : await readPassword(context, { fromStdin: options['password-stdin'], isNew: true })
      const body = {
        email,
        name: options.name ?? email.split('@')[0]!,
        role: options.role ?? 'viewer',
        ...given({ password }),
      }
      const can = password === undefined ? 'is added without a password' : 'can sign in now'
      show(
        await api.call(userCreate, { body }),
        (u) => `${oneLine(u.email)} ${can}, as ${u.role}\n`,
      )
      return undefined
    },
  }),
  command({
    name: 'user show',
    summary: 'One user.',
    operands: { email: noun.user },
    examples: ['user show grace@example.com'],
    async run({ terminal, api, show }, { operands }) {
      show(await noun.userOf(api, operands.email), (u) =>
        facts(terminal, [
          ['Email', u.email],
          ['Name', u.name],
          ['Role', u.role],
          [
            'Status',
            u.disabled_at === null ? statusOf(u) : `disabled since ${localTime(u.disabled_at)}`,
          ],
          [
            'Signs in with',
            [u.has_password ? 'password' : '', u.has_provider ? 'identity provider' : '']
              .filter(Boolean)
              .join(', ') || 'a link only',
          ],
          ['Second factor', u.has_second_factor ? 'yes' : 'no'],
          ['Last sign-in', u.last_sign_in_at === null ? 'never' : localTime(u.last_sign_in_at)],
          ['Added', localTime(u.created_at)],
          ['Id', u.id],
        ]),
      )
    },
  }),
  objectCommand({
    ...user,
    name: 'user role',
    summary: 'Give a user another role; it takes effect within 5 s.',
    operands: { role: { value: 'ROLE', help: `One of ${roles.join(', ')}` } },
    examples: ['user role grace@example.com operator'],
    async ask(_context, { operands }) {
      const role = roles.find((r) => r === operands.role)
      if (!role)
        throw new CliError('usage', `${oneLine(operands.role)} is not a role`, {
          hint: `Roles: ${roles.join(', ')}`,
        })
      return { body: { role } }
    },
    say: (u) => `${oneLine(u.email)} is ${u.role} now\n`,
  }),
  objectCommand({
    ...user,
    name: 'user rename',
    summary: 'Change the name of a user.',
    operands: { name: { value: 'NAME', help: 'New displayed name' } },
    examples: ['user rename grace@example.com Grace'],
    ask: async (_context, { operands }) => ({ body: { name: operands.name } }),
    say: (u) => `${oneLine(u.email)} is called ${oneLine(u.name)} now\n`,
  }),
  objectCommand({
    ...user,
    name: 'user disable',
    summary: 'Disable a user: they can no longer sign in, and their sessions end.',
    ask: async () => ({ body: { disabled: true } }),
    say: (u) => `${oneLine(u.email)} cannot sign in any more\n`,
  }),
  objectCommand({
    ...user,
    name: 'user enable',
    summary: 'Let a disabled user sign in again.',
    ask: async () => ({ body: { disabled: false } }),
    say: (u) => `${oneLine(u.email)} can sign in again\n`,
  }),
  objectCommand({
    name: 'user remove',
    of: noun.user,
    operation: userRemove,
    summary:
      'Remove a user and end their sessions; asks for the email. What they did stays in the audit log.',
    options: sureOption,
    async ask({ terminal }, { options }, { name: email }) {
      await beSure(terminal, `This removes the user ${oneLine(email)}.`, email, options.yes)
      return {}
    },
    say: (_none, email) => `${oneLine(email)} is removed\n`,
  }),
  objectCommand({
    name: 'user reset-password',
    of: noun.user,
    operation: userResetPassword,
    summary: 'Create a link with which a user can set a new password once, within 24 h.',
    say: (link, email, { terminal }) =>
      facts(terminal, [
        ['For', email],
        ['Link', link.url],
        ['Valid until', localTime(link.expires_at)],
      ]),
  }),
  objectCommand({
    name: 'user reset-second-factor',
    of: noun.user,
    operation: userResetSecondFactor,
    summary:
      'Remove the authenticator app, passkeys and recovery codes of a user who has lost them; asks for the email.',
    options: sureOption,
    async ask({ terminal }, { options }, { name: email }) {
      await beSure(
        terminal,
        `${oneLine(email)} can then sign in with the password alone.`,
        email,
        options.yes,
      )
      return {}
    },
    say: (_none, email) =>
      `${oneLine(email)} has no second factor any more, and their sessions have ended\n`,
  }),
  objectCommand({
    name: 'user unlock',
    of: noun.user,
    operation: userUnlock,
    summary:
      'Clear the failed sign-ins of an account, so that its next sign-in does not have to wait.',
    say: (u, email) =>
      `${oneLine(email)} is unlocked: ${u.failures_cleared} failed sign-ins were cleared\n`,
  }),
]
