/**
 * Commands of the server program. They need the server's settings and data folder, so they run on
 * its machine and not over the API.
 */
import { command, type Command } from '../command.ts'

const file = {
  kind: 'text',
  value: 'FILE',
  help: 'File whose first line is the passphrase, readable by its owner only; without this option, you are asked for the passphrase',
} as const

/**
 * A command that passes its operands and options to the program unchanged. `summary` begins with a
 * lower-case letter.
 */
function programCommand({
  summary,
  json = false,
  ...declared
}: Pick<Command, 'name' | 'summary' | 'examples'> & Partial<Command>): Command {
  return command({
    operands: {},
    options: {},
    ...declared,
    summary: `On the machine itself: ${summary}`,
    local: true,
    json,
    run: (context, { operands, options }) =>
      context.runProgram([
        ...declared.name.split(' '),
        ...Object.values(operands).map(String),
        ...Object.entries(options).flatMap(([name, value]) => {
          if (value === undefined || value === false) return []
          return value === true ? [`--${name}`] : [`--${name}`, String(value)]
        }),
        ...(context.json ? ['--json'] : []),
      ]),
  })
}

export const programCommands: Command[] = [
  programCommand({ name: 'serve', summary: 'run Steelyard.', examples: ['serve'] }),
  programCommand({
    name: 'doctor',
    summary: 'check settings, database and clock, and print what to do.',
    examples: ['doctor'],
    json: true,
  }),
  programCommand({
    name: 'user recover',
    summary:
      'create a link with which an administrator who cannot sign in sets a new password once, within 24 h, and clear the failed sign-ins.',
    operands: { email: { value: 'EMAIL', help: 'Email of the administrator' } },
    options: {
      'reset-second-factor': {
        kind: 'flag',
        help: 'Remove the second factor, if there is one (authenticator app, passkeys, recovery codes), and end the sessions then',
      },
    },
    examples: [
      'user recover admin@example.com',
      'user recover admin@example.com --reset-second-factor',
    ],
  }),
  programCommand({
    name: 'key add',
    summary: 'add a new key to the key file; the next start encrypts with the new key.',
    examples: ['key add'],
  }),
  programCommand({
    name: 'backup',
    summary: 'put database, key file and escrow into one file, sealed with a passphrase.',
    operands: {
      file: { value: 'FILE', help: 'File to write; an existing file is not overwritten' },
    },
    options: { 'passphrase-file': file },
    examples: [
      'backup /backups/steelyard-2026-11-20',
      'backup /backups/steelyard-2026-11-20 --passphrase-file /etc/steelyard/backup-passphrase',
    ],
  }),
  programCommand({
    name: 'restore',
    summary:
      'restore a backup into an empty database; nothing is sent to servers of restored clusters until a user resumes the clusters.',
    operands: { file: { value: 'FILE', help: 'Backup file, as written by the command backup' } },
    options: { 'passphrase-file': file },
    examples: ['restore /backups/steelyard-2026-11-20'],
  }),
  programCommand({
    name: 'audit verify',
    summary:
      'check the chain of the audit log; exits 1 if the chain is broken, 7 if it could not be checked.',
    options: {
      head: {
        kind: 'text',
        value: 'HASH@SEQ',
        help: 'Hash and number of an earlier entry, recorded elsewhere; the log must contain that entry',
      },
    },
    examples: [
      'audit verify',
      'audit verify --head 5e88489c0a2b1f6c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071829304@412',
    ],
  }),
]
