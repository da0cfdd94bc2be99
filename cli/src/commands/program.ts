/**
 * Commands of the server program. They need its settings and its data folder, so they run on its machine and not over the API.
 */
import { command, type Command } from '../command.ts'

const passphraseFile = {
  'passphrase-file': { kind: 'text', value: 'FILE', help: 'File whose first line is the passphrase, readable by its owner only; asked for without it' },
} as const
const passphraseOf = ({ 'passphrase-file': file }: { readonly 'passphrase-file': string | undefined }) =>
  file === undefined ? [] : ['--passphrase-file', file]

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
  command({
    name: 'backup',
    summary: 'On the machine itself: put database, key file and escrow into one file, sealed with a passphrase.',
    local: true,
    operands: { file: { value: 'FILE', help: 'File to be written; one that exists is not overwritten' } },
    options: passphraseFile,
    examples: ['backup /backups/steelyard-2026-11-20', 'backup /backups/steelyard-2026-11-20 --passphrase-file /etc/steelyard/backup-passphrase'],
    json: false,
    run: ({ runProgram }, { operands, options }) => runProgram(['backup', operands.file, ...passphraseOf(options)]),
  }),
  command({
    name: 'restore',
    summary: 'On the machine itself: restore a backup into an empty database; nothing is sent to a server until it is resumed.',
    local: true,
    operands: { file: { value: 'FILE', help: 'A file that backup has written' } },
    options: passphraseFile,
    examples: ['restore /backups/steelyard-2026-11-20'],
    json: false,
    run: ({ runProgram }, { operands, options }) => runProgram(['restore', operands.file, ...passphraseOf(options)]),
  }),
  command({
    name: 'audit verify',
    summary: 'On the machine itself: check the chain of the audit log; exits 1 if it does not hold, 7 if it could not be checked.',
    local: true,
    options: { head: { kind: 'text', value: 'HASH@SEQ', help: 'A head that was noted elsewhere, which has to be in the log' } },
    examples: ['audit verify', 'audit verify --head 5e88489c0a2b1f6c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071829304@412'],
    json: false,
    run: ({ runProgram }, { options }) => runProgram(['audit', 'verify', ...(options.head === undefined ? [] : ['--head', options.head])]),
  }),
]
