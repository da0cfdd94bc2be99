import {
  authorize,
  authorizeLogout,
  passwordChange,
  sessionEnd,
  sessionEndAll,
  sessionList,
} from '#contract/sessions.ts'
import { installationGet } from '#contract/users.ts'
import { counted } from '#contract/words.ts'
import packageFile from '../../../package.json' with { type: 'json' }
import { checkSafe } from '../api/client.ts'
import type { Session, Sessions } from '../api/sessions.ts'
import { readNewPassword, readPassword } from '../ask.ts'
import { command, type Command, given, listCommand, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import { ago, oneLine } from '../text.ts'

export const sessionCommands = (sessions: Sessions): Command[] => [
  command({
    name: 'login',
    summary:
      'Sign in; the session is stored on this machine for its current user and lasts at most 24 h.',
    operands: { email: { value: 'EMAIL', help: 'Asked for if not given', optional: true } },
    options: { 'password-stdin': { kind: 'flag', help: 'Read the password from standard input' } },
    examples: [
      'login admin@example.com --url https://steelyard.example.com',
      'login admin@example.com --password-stdin < password.txt',
    ],
    json: false,
    async run(context, { operands, options }) {
      const { terminal, api } = context
      const url = await api.url()
      checkSafe(url, terminal.env)
      const email =
        operands.email ??
        (options['password-stdin'] ? null : await terminal.ask('Email: ', { secret: false }))
      if (email === null) throw new CliError('usage', 'EMAIL is missing')
      const password = await readPassword(context, { fromStdin: options['password-stdin'] })
      const signIn = (code?: string) =>
        api.call(authorize, { body: { email, password, ...given({ code }) } })
      const { userData, accessToken, refreshToken } = await signIn().catch(async (e: unknown) => {
        if (!(e instanceof CliError) || e.body?.code !== 'second_factor_needed') throw e
        const code = await terminal.ask('Code of your authenticator app, or a recovery code: ', {
          secret: false,
        })
        if (code !== null) return signIn(code)
        throw new CliError('usage', 'There is no terminal to ask for the code', {
          hint: 'A program needs an API token: steelyard api-token create --help',
        })
      })
      await sessions.change(url, async () => ({
        email: userData.email,
        access_token: accessToken,
        refresh_token: refreshToken,
      }))
      terminal.err(`Signed in to ${url} as ${oneLine(userData.email)}\n`)
    },
  }),
  command({
    name: 'logout',
    summary: 'End the session.',
    examples: ['logout'],
    json: false,
    async run({ terminal, api }) {
      const url = await api.url()
      // Deletes the local session whether or not the API call succeeds, because the user may be
      // leaving the machine.
      const held: Session[] = []
      await sessions.change(url, async (now) => {
        if (now) held.push(now)
        return null
      })
      const [session] = held
      if (!session) {
        terminal.err(`Not signed in to ${url}\n`)
        return
      }
      try {
        await api.call(authorizeLogout, { body: { refresh_token: session.refresh_token } })
      } catch (e) {
        if (!(e instanceof CliError)) throw e
        throw new CliError(
          e.exit,
          `The session is deleted on this machine, but could not be ended at ${url}: ${e.message}`,
          {
            hint: 'The session ends by itself within 24 h of its sign-in',
          },
        )
      }
      terminal.err(`Signed out of ${url}\n`)
    },
  }),
  command({
    name: 'version',
    summary: 'Version of this program and of the Steelyard that it connects to.',
    examples: ['version'],
    async run({ terminal, api, show }) {
      const url = await api.url()
      const installation = await api.call(installationGet, {}).catch((e: unknown) => {
        if (e instanceof CliError && e.exit === 'unreachable') return null
        throw e
      })
      show(
        {
          client: packageFile.version,
          server: installation?.version ?? null,
          simulated: installation?.simulated ?? null,
          url,
        },
        (v) =>
          facts(terminal, [
            ['steelyard', v.client],
            [
              v.url,
              v.server === null
                ? 'not reached'
                : `${v.server}${v.simulated ? ' (its servers are a simulation)' : ''}`,
            ],
          ]),
      )
    },
  }),
]

/** Commands for open sessions and the user's own password. */
export const openSessionCommands: Command[] = [
  listCommand({
    name: 'session list',
    summary: 'Your sessions; with --user or --all, those of other users.',
    examples: ['session list', 'session list --user grace@example.com'],
    operation: sessionList,
    cells: {
      last_used_at: { text: (s, now) => (s.current ? 'this one' : ago(s.last_used_at, now)) },
    },
    options: {
      user: { kind: 'text', value: 'EMAIL', help: 'Sessions of this user, for administrators' },
      all: { kind: 'flag', help: "Everybody's sessions, for administrators" },
    },
    async ask({ api }, { options: { user, all } }) {
      if (all && user !== undefined) throw new CliError('usage', 'Give either --user or --all')
      return {
        query: {
          user_id: all
            ? 'all'
            : user === undefined
              ? undefined
              : await noun.idOf(api, noun.user, user),
        },
      }
    },
  }),
  objectCommand({
    name: 'session end',
    of: noun.session,
    operation: sessionEnd,
    summary: "End a session: your own, or as an administrator anybody's.",
    say: () => 'The session has ended\n',
  }),
  command({
    name: 'session end-others',
    summary: 'End all your other sessions; with --user, all sessions of another user.',
    options: {
      user: {
        kind: 'text',
        value: 'EMAIL',
        help: 'End the sessions of this user, for administrators',
      },
    },
    examples: ['session end-others', 'session end-others --user grace@example.com'],
    async run({ api, show }, { options: { user } }) {
      const query = given({
        user_id: user === undefined ? undefined : await noun.idOf(api, noun.user, user),
      })
      show(
        await api.call(sessionEndAll, { query }),
        ({ ended }) => `${counted(ended, 'session')} ended\n`,
      )
    },
  }),
  command({
    name: 'password',
    summary: 'Change your own password; your other sessions end.',
    options: {
      'password-stdin': {
        kind: 'flag',
        help: 'Read the current and the new password from standard input, one line each',
      },
    },
    examples: ['password'],
    json: false,
    async run(context, { options }) {
      const { password, new_password } = await readNewPassword(context, options['password-stdin'])
      await context.api.call(passwordChange, { body: { password, new_password } })
      context.terminal.err('Your password is changed, and your other sessions have ended\n')
    },
  }),
]
