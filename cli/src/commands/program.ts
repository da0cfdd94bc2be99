/**
 * Commands of the program itself: they need its settings and its data folder, so they run on its machine and not over the API.
 * The client only hands them on.
 */
import { command, type Command } from '../command.ts'

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
    name: 'key add',
    summary: 'On the machine itself: put a new key into the key file; the next start seals with it.',
    local: true,
    examples: ['key add'],
    json: false,
    run: ({ runProgram }) => runProgram(['key', 'add']),
  }),
]
