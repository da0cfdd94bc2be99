/**
 * Commands of the program itself: they need its settings and its data folder, so they run on its machine and not over the API.
 * The client only hands them on.
 */
import { command, type Command } from '../command.ts'
import { CliError } from '../exit.ts'

export const programCommands: Command[] = [
  command({
    name: 'serve',
    summary: 'On the machine itself: run Steelyard.',
    local: true,
    examples: ['serve'],
    json: false,
    run: ({ runProgram }) => runProgram(['serve']),
  }),
  command({
    name: 'doctor',
    summary: 'On the machine itself: check settings, database and clock, and say what to do.',
    local: true,
    examples: ['doctor'],
    run: ({ runProgram, json }) => runProgram(['doctor', ...(json ? ['--json'] : [])]),
  }),
  command({
    name: 'user add',
    summary: 'On the machine itself: make the first user of a new installation.',
    operands: { email: { value: 'EMAIL', help: 'Email to sign in with' } },
    options: {
      first: { kind: 'flag', help: 'Required: this makes the first user, an admin' },
      'password-stdin': { kind: 'flag', help: 'Read the password from standard input' },
    },
    local: true,
    examples: ['user add --first admin@example.com'],
    json: false,
    async run({ runProgram }, { operands, options }) {
      if (!options.first) throw new CliError('usage', 'user add makes the first user only: say --first')
      return runProgram(['user', 'add', '--first', operands.email, ...(options['password-stdin'] ? ['--password-stdin'] : [])])
    },
  }),
]
