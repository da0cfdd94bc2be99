import packageFile from '../../package.json' with { type: 'json' }
import { openApi } from './api/client.ts'
import { openContexts } from './api/contexts.ts'
import { openSessions } from './api/sessions.ts'
import type { Context } from './command.ts'
import { allCommands } from './commands.ts'
import { CliError, exitCodes } from './exit.ts'
import { generalHelp, helpOf, overview } from './help.ts'
import { machineLine, machineText } from './output/format.ts'
import { parse } from './parse.ts'
import { type Terminal, withLayout } from './terminal.ts'
import { safeJson } from './text.ts'

/**
 * Runs a command of the server program with this process's standard streams. Null in the standalone
 * client, which has no server program.
 */
export type RunProgram = ((args: readonly string[]) => Promise<number>) | null

function report(terminal: Terminal, e: unknown, json: boolean): number {
  const error =
    e instanceof CliError ? e : new CliError('failure', e instanceof Error ? e.message : String(e))
  if (json) terminal.err(`${safeJson(error.body ?? { error: error.message, code: error.exit })}\n`)
  else terminal.err(`${error.message}\n${error.hint ? `${error.hint}\n` : ''}`)
  return exitCodes[error.exit]
}

/** Whether errors are printed as JSON too. The command line may be one that can't be parsed. */
const asksJson = (args: readonly string[]): boolean =>
  args.some(
    (arg, at) =>
      /^(?:--json|-o=?json|--output=json)$/.test(arg) ||
      (arg === 'json' && ['-o', '--output'].includes(args[at - 1] ?? '')),
  )

/** Runs one command line and returns its exit code. */
export async function run(
  args: readonly string[],
  terminal: Terminal,
  program: RunProgram,
): Promise<number> {
  const sessions = openSessions(terminal.env)
  const contexts = openContexts(sessions)
  const commands = allCommands(sessions, contexts)
  try {
    const parsed = parse(args, commands)
    if (parsed.kind === 'version') {
      terminal.out(`steelyard ${packageFile.version}\n`)
      return exitCodes.ok
    }
    if (parsed.kind === 'help') {
      terminal.out(
        parsed.command
          ? `${helpOf(parsed.command)}\n${generalHelp(parsed.command)}`
          : overview(program ? commands : commands.filter((c) => !c.local), parsed.words),
      )
      return exitCodes.ok
    }
    const { format, headers } = parsed
    const isText = format.kind === 'text'
    const context: Context = {
      terminal: withLayout(terminal, { headers, wide: isText && format.wide }),
      api: openApi(terminal, sessions, contexts, parsed),
      json: !isText,
      line: (value) => (isText ? '' : machineLine(format, value)),
      show: (value, people) => terminal.out(isText ? people(value) : machineText(format, value)),
      runProgram: async (words) => {
        if (program) return program(words)
        throw new CliError('usage', `${parsed.command.name} is a command of the program itself`, {
          hint: `Run it on the machine of Steelyard: steelyard ${words.join(' ')} (in a checkout of the sources: npm run steelyard -- ${words.join(' ')})`,
        })
      },
    }
    const exit = await parsed.command.run(context, parsed)
    return typeof exit === 'number' ? exit : exitCodes.ok
  } catch (e) {
    return report(terminal, e, asksJson(args))
  }
}
