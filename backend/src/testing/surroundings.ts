/** Runs a command of the program in a test, with its environment and output. */
import type { Surroundings } from '../commands/surroundings.ts'
import { temporaryFolder } from './folder.ts'
import { testMachine } from './postgres.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command with the settings. `typed`: the answers to its questions, one line each. */
export async function runCommand(
  command: (around: Surroundings) => Promise<number>,
  environment: Surroundings['environment'],
  {
    typed,
    stopAsked = new Promise(() => undefined),
  }: { typed?: readonly string[]; stopAsked?: Promise<string> } = {},
): Promise<Ran> {
  const said = { out: '', err: '' }
  const answers = [...(typed ?? [])]
  const cwd = temporaryFolder('command')
  const code = await command({
    machine: testMachine,
    environment,
    cwd,
    home: cwd,
    version: '1.2.3',
    ownCommand: 'steelyard',
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    readable: false,
    kill: () => {
      throw new Error('A failpoint was reached')
    },
    stopAsked,
    interactive: typed !== undefined,
    askSecret: () => Promise.resolve(answers.shift() ?? ''),
  })
  return { code, ...said }
}
