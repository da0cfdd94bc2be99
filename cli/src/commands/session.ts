import { authorize, authorizeLogout } from '#contract/sessions.ts'
import { installationGet } from '#contract/users.ts'
import packageFile from '../../../package.json' with { type: 'json' }
import { checkSafe } from '../api/address.ts'
import type { Sessions } from '../api/sessions.ts'
import { command, type Command } from '../command.ts'
import { CliError } from '../exit.ts'
import { readPassword } from '../password.ts'
import { facts } from '../table.ts'
import { oneLine } from '../text.ts'

export const sessionCommands = (sessions: Sessions): Command[] => [
  command({
    name: 'login',
    summary: 'Sign in; the session is kept for this user of this machine, up to 24 h.',
    operands: { email: { value: 'EMAIL', help: 'Asked for if not given', optional: true } },
    options: { 'password-stdin': { kind: 'flag', help: 'Read the password from standard input' } },
    examples: ['login admin@example.com --url https://steelyard.example.com', 'login admin@example.com --password-stdin < password.txt'],
    json: false,
    async run(context, { operands, options }) {
      const { terminal, api } = context
      const url = await api.url()
      checkSafe(url, terminal.env)
      const email = operands.email ?? (options['password-stdin'] ? null : await terminal.ask('Email: ', { secret: false }))
      if (email === null) throw new CliError('usage', 'EMAIL is missing')
      const password = await readPassword(context, { fromStdin: options['password-stdin'] })
      const { userData, accessToken, refreshToken } = await api.call(authorize, { body: { email, password } })
      await sessions.change(url, async () => ({ email: userData.email, access_token: accessToken, refresh_token: refreshToken }))
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
      const session = await sessions.read(url)
      if (!session) {
        terminal.err(`Not signed in to ${url}\n`)
        return
      }
      // Delete the local session in any case: the user may be leaving the machine.
      await sessions.change(url, async () => null)
      try {
        await api.call(authorizeLogout, { body: { refresh_token: session.refresh_token } })
      } catch (e) {
        if (!(e instanceof CliError)) throw e
        throw new CliError(e.exit, `Forgotten on this machine, but ${url} could not be told: ${e.message}`, {
          hint: 'The session ends by itself within 24 h of its sign-in',
        })
      }
      terminal.err(`Signed out of ${url}\n`)
    },
  }),
  command({
    name: 'version',
    summary: 'Version of this program and of the Steelyard that it speaks to.',
    examples: ['version'],
    async run({ terminal, api, show }) {
      const url = await api.url()
      const installation = await api.call(installationGet, {}).catch((e: unknown) => {
        if (e instanceof CliError && e.exit === 'unreachable') return null
        throw e
      })
      show({ client: packageFile.version, server: installation?.version ?? null, simulated: installation?.simulated ?? null, url }, (v) =>
        facts(terminal, [
          ['steelyard', v.client],
          [v.url, v.server === null ? 'not reached' : `${v.server}${v.simulated ? ' (its servers are a simulation)' : ''}`],
        ]),
      )
    },
  }),
]
