import type { Context } from './command.ts'
import { CliError } from './exit.ts'

/** Asks for the current password and a new one, the new one twice. Throws CliError `usage`. */
export async function readNewPassword({ terminal }: Context, fromStdin: boolean): Promise<{ password: string; new_password: string }> {
  if (fromStdin) {
    const [password = '', new_password = '', ...more] = (await terminal.readAll()).replace(/\r?\n$/, '').split(/\r?\n/)
    if (new_password === '' || more.length > 0) throw new CliError('usage', 'Standard input has to be two lines: the present password and the new one')
    return { password, new_password }
  }
  const answers: string[] = []
  for (const question of ['Present password: ', 'New password: ', 'Again: ']) {
    const typed = await terminal.ask(question, { secret: true })
    if (typed === null) throw new CliError('usage', 'There is no terminal to ask for the password', { hint: 'Give both on standard input: --password-stdin' })
    answers.push(typed)
  }
  const [password, new_password, again] = answers as [string, string, string]
  if (new_password !== again) throw new CliError('usage', 'The two differ')
  return { password, new_password }
}

/** Reads a password from standard input or the terminal; a new one is typed twice. Throws CliError `usage`. */
export async function readPassword({ terminal }: Context, { fromStdin, twice = false }: { fromStdin: boolean; twice?: boolean }): Promise<string> {
  // The shell adds one line ending. Nothing else of a password is removed.
  if (fromStdin) return (await terminal.readAll()).replace(/\r?\n$/, '')
  const typed = await terminal.ask('Password: ', { secret: true })
  if (typed === null) throw new CliError('usage', 'There is no terminal to ask for the password', { hint: 'Give it on standard input: --password-stdin' })
  if (twice && (await terminal.ask('Again: ', { secret: true })) !== typed) throw new CliError('usage', 'The two differ')
  return typed
}
