/**
 * Questions to the user on the terminal. Without a terminal, options and standard input provide the
 * answers.
 */
import { createInterface } from 'node:readline'
import type { Context } from './command.ts'
import { CliError } from './exit.ts'
import type { Terminal } from './terminal.ts'
import { oneLine } from './text.ts'

/**
 * Prompts on the terminal, without echo for a secret. Returns null if standard input is not a
 * terminal. Throws CliError `interrupted` on Ctrl-C.
 */
export async function askOnTerminal(
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
  output: NodeJS.WritableStream,
  question: string,
  { secret }: { secret: boolean },
): Promise<string | null> {
  if (!input.isTTY) return null
  if (secret) output.write(question)
  const lines = createInterface({
    input,
    terminal: true,
    historySize: 0,
    prompt: question,
    ...(!secret && { output }),
  })
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => resolve(''))
      lines.once('SIGINT', () => reject(new CliError('interrupted', 'Nothing was done')))
      lines.prompt()
    })
  } finally {
    lines.close()
    if (secret) output.write('\n')
  }
}

/** Asks for the current password, and twice for the new one. Throws CliError `usage`. */
export async function readNewPassword(
  { terminal }: Context,
  fromStdin: boolean,
): Promise<{ password: string; new_password: string }> {
  if (fromStdin) {
    const [password = '', new_password = '', ...more] = (await terminal.readAll())
      .replace(/\r?\n$/, '')
      .split(/\r?\n/)
    if (new_password === '' || more.length > 0)
      throw new CliError(
        'usage',
        'Standard input must be two lines: the current password and the new one',
      )
    return { password, new_password }
  }
  const typed = async (question: string) => {
    const answer = await terminal.ask(question, { secret: true })
    if (answer === null)
      throw new CliError('usage', 'There is no terminal to ask for the password', {
        hint: 'Pass the current and the new password on standard input: --password-stdin',
      })
    return answer
  }
  const [password, new_password] = [
    await typed('Current password: '),
    await typed('New password: '),
  ]
  if (new_password !== (await typed('Again: ')))
    throw new CliError('usage', 'The two passwords differ')
  return { password, new_password }
}

/**
 * Reads a password from standard input or the terminal; a new one is typed twice. Throws CliError
 * `usage`.
 */
export async function readPassword(
  { terminal }: Context,
  { fromStdin, isNew = false }: { fromStdin: boolean; isNew?: boolean },
): Promise<string> {
  // Removes the line ending that the shell adds, but nothing else of the password.
  if (fromStdin) return (await terminal.readAll()).replace(/\r?\n$/, '')
  const typed = await terminal.ask('Password: ', { secret: true })
  if (typed === null)
    throw new CliError('usage', 'There is no terminal to ask for the password', {
      hint: 'Pass the password on standard input: --password-stdin',
    })
  if (isNew && (await terminal.ask('Again: ', { secret: true })) !== typed)
    throw new CliError('usage', 'The two passwords differ')
  return typed
}

/** The option with which a script confirms an action that can't be undone. */
export const sureOption = {
  yes: { kind: 'flag', help: 'Do not ask for confirmation; required if there is no terminal' },
} as const

/**
 * Asks the user to type the name of the object that would be lost. Throws CliError if the user
 * types another name, or if there is no terminal.
 */
export async function beSure(
  terminal: Terminal,
  what: string,
  name: string,
  yes: boolean,
): Promise<void> {
  if (yes) return
  const answer = await terminal.ask(`${what} Type ${oneLine(name)} to continue: `, {
    secret: false,
  })
  if (answer === null)
    throw new CliError('usage', 'There is no terminal to ask for confirmation', {
      hint: 'Confirm with --yes',
    })
  if (answer.trim() !== name) throw new CliError('failure', 'Nothing was done')
}
