import { auditList } from '#contract/audit.ts'
import { type Command, listCommand } from '../command.ts'
import { localTime, oneLine } from '../text.ts'

export const auditCommands: Command[] = [
  listCommand({
    name: 'audit list',
    summary: 'The audit log, newest first: who did what to what, with what result.',
    examples: ['audit list --action cluster.deleted', 'audit list --actor grace@example.com --per-page 1000 --json'],
    operation: auditList,
    shown: ['at', 'actor', 'action', 'target', 'result', 'ip'],
    cells: {
      at: { title: 'TIME', text: (e) => localTime(e.at) },
      actor: { title: 'WHO', text: (e) => `${oneLine(e.actor ?? 'nobody')}${e.by_token ? ' (API token)' : ''}` },
      action: { title: 'ACTION', text: (e) => e.action },
      target: { title: 'OBJECT', text: (e) => oneLine(e.target?.name ?? e.target?.id ?? '') },
      result: { title: 'RESULT', text: (e) => e.result, colour: (e) => (e.result === 'ok' ? null : 'red') },
      ip: { title: 'FROM', text: (e) => e.ip ?? '' },
    },
  }),
]
