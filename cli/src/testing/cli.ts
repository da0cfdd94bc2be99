/** Runs command lines in this process with a fake terminal. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openContexts } from '../api/contexts.ts'
import { openSessions, type Sessions } from '../api/sessions.ts'
import type { Command } from '../command.ts'
import { allCommands } from '../commands.ts'
import { run, type RunProgram } from '../run.ts'
import type { Terminal } from '../terminal.ts'
import type { TestApi } from './api.ts'

/** Every command, for tests of the declarations. */
export function everyCommand(): readonly Command[] {
  const sessions = openSessions({ XDG_CONFIG_HOME: '/nowhere' })
  return allCommands(sessions, openContexts(sessions))
}

export interface Ran {
  readonly exit: number
  readonly out: string
  readonly err: string
}

export interface TestCli {
  readonly folder: string
  readonly env: Record<string, string | undefined>
  readonly sessions: Sessions
  /** Aborting the signal stands for Ctrl-C. */
  readonly interrupt: AbortController
  run(
    args: string | readonly string[],
    more?: Partial<Terminal> & { program?: RunProgram },
  ): Promise<Ran>
}

/**
 * A client with its own configuration folder, signed in if an API is given. A command line given as
 * a string is split at spaces.
 */
export async function startCli(api?: TestApi): Promise<TestCli> {
  const folder = await mkdtemp(join(tmpdir(), 'steelyard-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const env: Record<string, string | undefined> = { XDG_CONFIG_HOME: folder }
  const sessions = openSessions(env)
  const interrupt = new AbortController()
  if (api) {
    api.tokens.add('access-1')
    await sessions.change(api.url, async () => ({
      email: 'a@example.com',
      access_token: 'access-1',
      refresh_token: 'refresh-1',
    }))
  }
  return {
    folder,
    env,
    sessions,
    interrupt,
    async run(args, { program = null, ...more } = {}) {
      let out = ''
      let err = ''
      const terminal: Terminal = {
        out: (text) => void (out += text),
        err: (text) => void (err += text),
        columns: null,
        rows: null,
        errColumns: null,
        colour: false,
        env,
        now: () => Date.now(),
        sleep: () => new Promise((resolve) => void setImmediate(resolve)),
        ask: async () => null,
        outlivePipes: () => undefined,
        readAll: async () => '',
        interrupted: () => interrupt.signal,
        ...more,
      }
      const exit = await run(typeof args === 'string' ? args.split(' ') : args, terminal, program)
      return { exit, out, err }
    },
  }
}
