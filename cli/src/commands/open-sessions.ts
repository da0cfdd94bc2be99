import { passwordChange, type Session, sessionEnd, sessionList } from '#contract/sessions.ts'
import { command, type Command, given, listOptions } from '../command.ts'
import { CliError } from '../exit.ts'
import { readNewPassword } from '../password.ts'
import { idOf, userOf } from '../resolve.ts'
import { type Column, shownOf, table } from '../table.ts'
import { ago, localTime } from '../text.ts'

const columns = (now: number): readonly Column<Session>[] => [
  { title: 'ID', text: (s) => s.id },
  { title: 'USER', text: (s) => s.user.email },
  { title: 'ADDRESS', text: (s) => s.ip },
  { title: 'LAST USED', text: (s) => (s.current ? 'this one' : ago(s.last_used_at, now)) },
  { title: 'ENDS', text: (s) => localTime(s.expires_at) },
  { title: 'PROGRAM', text: (s) => s.user_agent },
]

/** The sessions that stand, and one's own password. */
export const openSessionCommands: Command[] = [
  command({
    name: 'session list',
    summary: 'Where you are signed in; with --user or --all, where others are.',
    options: {
      user: { kind: 'text', value: 'EMAIL', help: 'Sessions of this user, for administrators' },
      all: { kind: 'flag', help: "Everybody's sessions, for administrators" },
      ...listOptions(['last_used_at', 'created_at']),
    },
    examples: ['session list', 'session list --user grace@example.com'],
    async run({ terminal, api, show }, { options: o }) {
      if (o.all && o.user !== undefined) throw new CliError('usage', 'Give either --user or --all')
      const user_id = o.all ? ('all' as const) : o.user === undefined ? undefined : (await userOf(api, o.user)).id
      const query = given({ user_id, q: o.search, sort: o.sort, page: o.page, per_page: o['per-page'] })
      show(await api.call(sessionList, { query }), (page) => table(terminal, page.items, columns(terminal.now()), 'No sessions') + shownOf(page))
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
