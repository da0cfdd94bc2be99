import { passwordChange, sessionEnd, sessionList } from '#contract/sessions.ts'
import { listCommand } from '../list-command.ts'
import { command, type Command } from '../command.ts'
import { CliError } from '../exit.ts'
import { readNewPassword } from '../password.ts'
import { idOf, userOf } from '../resolve.ts'
import { ago } from '../text.ts'

/** Commands for open sessions and the user's own password. */
export const openSessionCommands: Command[] = [
  listCommand({
    name: 'session list',
    summary: 'Where you are signed in; with --user or --all, where others are.',
    examples: ['session list', 'session list --user grace@example.com'],
    operation: sessionList,
    shown: ['id', 'user', 'ip', 'last_used_at', 'expires_at', 'program'],
    cells: { last_used_at: { text: (s, now) => (s.current ? 'this one' : ago(s.last_used_at, now)) } },
    options: {
      user: { kind: 'text', value: 'EMAIL', help: 'Sessions of this user, for administrators' },
      all: { kind: 'flag', help: "Everybody's sessions, for administrators" },
    },
    async ask({ api }, { options: { user, all } }) {
      if (all && user !== undefined) throw new CliError('usage', 'Give either --user or --all')
      return { query: { user_id: all ? 'all' : user === undefined ? undefined : (await userOf(api, user)).id } }
    },
  }),
  command({
    name: 'session end',
    summary: "End a session: your own, or as an administrator anybody's.",
    operands: { session: { value: 'SESSION', help: 'Id of the session' } },
    examples: ['session end 0198c0de-0000-7000-8000-000000000001'],
    async run({ api, show }, { operands }) {
      const id = idOf('session', operands.session)
      await api.call(sessionEnd, { params: { id } })
      show({ id }, () => 'The session has ended\n')
    },
  }),
  command({
    name: 'password',
    summary: 'Change your own password; your other sessions end.',
    options: { 'password-stdin': { kind: 'flag', help: 'Read the present password and the new one from standard input, a line each' } },
    examples: ['password'],
    json: false,
    async run(context, { options }) {
      const { password, new_password } = await readNewPassword(context, options['password-stdin'])
      await context.api.call(passwordChange, { body: { password, new_password } })
      context.terminal.err('Your password is changed, and your other sessions have ended\n')
    },
  }),
]
