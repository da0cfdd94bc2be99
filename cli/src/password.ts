import type { Context } from './command.ts'
import { CliError } from './exit.ts'

/** A password from standard input or from the person at the keyboard; a new one is typed twice. Throws CliError `usage`. */
export async function readPassword({ terminal }: Context, { fromStdin, twice = false }: { fromStdin: boolean; twice?: boolean }): Promise<string> {
  // One line ending is the shell's, not the person's; nothing else is taken away from a password.
  if (fromStdin) return (await terminal.readAll()).replace(/\r?\n$/, '')
  const typed = await terminal.ask('Password: ', { secret: true })
  if (typed === null) throw new CliError('usage', 'There is no terminal to ask for the password', { hint: 'Give it on standard input: --password-stdin' })
  if (twice && (await terminal.ask('Again: ', { secret: true })) !== typed) throw new CliError('usage', 'The two differ')
  return typed
}
