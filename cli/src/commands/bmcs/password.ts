/** The password of an account on a BMC, from a file or from the terminal, never from an argument. */
import type { Context } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'

export const passwordOption = {
  'password-file': {
    kind: 'text',
    value: 'FILE',
    help: 'File with the password; - for standard input (default: asks for it)',
  },
} as const

export async function passwordOf(
  { terminal }: Pick<Context, 'terminal'>,
  file: string | undefined,
): Promise<string> {
  if (file !== undefined) return (await readText(file)).replace(/\r?\n$/, '')
  const typed = await terminal.ask('Password: ', { secret: true })
  if (typed === null)
    throw new CliError('usage', 'There is no terminal to ask for the password', {
      hint: 'Put it into a file: --password-file FILE',
    })
  return typed
}
