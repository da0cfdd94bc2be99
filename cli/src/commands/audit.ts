import {
  type AuditCheck,
  auditCsv,
  auditGet,
  auditList,
  auditNdjson,
  auditVerdict,
  auditVerify,
} from '#contract/audit.ts'
import { linesOf } from '../api/long-read.ts'
import {
  command,
  type Command,
  given,
  listCommand,
  exportOptions,
  exportQuery,
} from '../command.ts'
import { CliError } from '../exit.ts'
import { fileOptions, writeSecretFile } from '../files.ts'
import { localTime, manyLines, oneLine } from '../text.ts'

const exports = { csv: auditCsv, ndjson: auditNdjson } as const
const formats = ['csv', 'ndjson'] as const

/** Reads a line of the response of `auditVerify`. */
function checkIn(line: string): AuditCheck {
  try {
    return JSON.parse(line) as AuditCheck
  } catch (cause) {
    throw new CliError(
      'failure',
      'The verification sent a line that this version does not understand',
      { cause },
    )
  }
}

export const auditCommands: Command[] = [
  listCommand({
    name: 'audit list',
    summary: 'The audit log, newest first: who did what to what, with what result.',
    examples: [
      'audit list --action cluster.deleted',
      'audit list --actor grace@example.com --per-page 200 --json',
    ],
    operation: auditList,
    shown: ['at', 'actor', 'action', 'target', 'result', 'ip'],
    cells: {
      at: { title: 'TIME', text: (e) => localTime(e.at) },
      actor: {
        title: 'WHO',
        text: (e) => `${oneLine(e.actor ?? 'nobody')}${e.by_token ? ' (API token)' : ''}`,
      },
      action: { title: 'ACTION', text: (e) => e.action },
      target: { title: 'OBJECT', text: (e) => oneLine(e.target?.name ?? e.target?.id ?? '') },
      result: {
        title: 'RESULT',
        text: (e) => e.result,
        colour: (e) => (e.result === 'ok' ? null : 'red'),
      },
      ip: { title: 'FROM', text: (e) => e.ip ?? '' },
    },
  }),
  command({
    name: 'audit show',
    summary: 'One entry of the audit log as JSON, with the large texts that the list shortens.',
    operands: { number: { value: 'NUMBER', help: 'Number of the entry', example: '812' } },
    examples: ['audit show 812'],
    async run({ api, show }, { operands: { number } }) {
      if (!/^[1-9]\d{0,14}$/.test(number))
        throw new CliError('usage', `${oneLine(number)} is not the number of an entry`)
      show(
        await api.call(auditGet, { params: { seq: Number(number) } }),
        (entry) => `${manyLines(JSON.stringify(entry, null, 2))}\n`,
      )
    },
  }),
  command({
    name: 'audit export',
    summary:
      'The audit log as CSV or as lines of JSON, oldest first. The export is itself recorded.',
    options: {
      ...exportOptions(auditList.list),
      format: {
        kind: 'text',
        value: 'FORMAT',
        help: 'Format of the export (default: csv)',
        choices: formats,
      },
      ...fileOptions,
    },
    examples: [
      'audit export --output audit.csv',
      'audit export --format ndjson --since 2026-11-01T00:00:00Z',
    ],
    json: false,
    async run({ terminal, api }, { options }) {
      const {
        format = 'csv',
        output,
        force,
      } = options as { format?: (typeof formats)[number]; output?: string; force: boolean }
      const parts = api.read(exports[format], { query: exportQuery(auditList.list, options) })
      if (output === undefined) for await (const part of parts) terminal.out(part)
      else {
        await writeSecretFile(output, parts, force)
        terminal.err(`Written to ${oneLine(output)}\n`)
      }
    },
  }),
  command({
    name: 'audit check',
    summary:
      'Verify the hash chain of the audit log. Exits with 1 if an entry was changed, removed or added.',
    options: {
      head: {
        kind: 'text',
        value: 'HASH@SEQ',
        help: 'An entry that was noted earlier: the log must contain it',
      },
    },
    examples: ['audit check', 'audit check --json'],
    async run({ terminal, api, show }, { options: { head } }) {
      let check: AuditCheck | undefined
      for await (const line of linesOf(api.read(auditVerify, { query: given({ head }) }))) {
        check = checkIn(line)
        if (check.state === 'checking' && terminal.errColumns !== null)
          terminal.err(`\r${check.checked} of ${check.of} entries checked`)
      }
      if (terminal.errColumns !== null) terminal.err('\n')
      if (check === undefined || check.state === 'checking')
        throw new CliError('unreachable', 'The verification was interrupted before its end')
      const verdict = oneLine(auditVerdict(check))
      if (check.state === 'failed') throw new CliError('unreachable', verdict)
      if (check.state === 'broken') throw new CliError('failure', verdict)
      show(
        check,
        ({ head: newest }) =>
          `${verdict}\n${newest === null ? '' : `Last entry, to note elsewhere for a later --head: ${newest}\n`}`,
      )
    },
  }),
]
