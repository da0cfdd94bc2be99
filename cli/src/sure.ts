/** Confirmation of what can't be undone. */
import { CliError } from './exit.ts'
import type { Terminal } from './terminal.ts'
import { oneLine } from './text.ts'

/** The option with which a script confirms. */
export const sureOption = { yes: { kind: 'flag', help: 'Do not ask; needed where there is no terminal' } } as const

/** Asks the user to type the name of what would be lost. Throws CliError for another name, or if nobody can be asked. */
export async function beSure(terminal: Terminal, what: string, name: string, yes: boolean): Promise<void> {
  if (yes) return
  const answer = await terminal.ask(`${what} Type ${oneLine(name)} to go on: `, { secret: false })
  if (answer === null) throw new CliError('usage', 'There is no terminal to ask', { hint: 'Say that you are sure: --yes' })
  if (answer.trim() !== name) throw new CliError('failure', 'Nothing was done')
}
