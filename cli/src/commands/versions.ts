import { type OfferedTalos, supportEnded, versionList } from '#contract/versions.ts'
import { command, type Command } from '../command.ts'
import { type Column, table } from '../table.ts'
import { oneLine } from '../text.ts'

const columns: readonly Column<OfferedTalos>[] = [
  { title: 'TALOS', text: (v) => v.talos_version },
  { title: 'SUPPORT', text: (v) => supportEnded(v.support) ?? 'supported', colour: (v) => (v.support.ended ? 'yellow' : 'green') },
  { title: 'KUBERNETES', text: (v) => `${v.kubernetes_minors[0]} to ${v.kubernetes_minors[1]}` },
  {
    title: 'OF THESE SUPPORTED',
    text: (v) =>
      v.kubernetes
        .filter((k) => !k.support.ended)
        .map((k) => k.version)
        .join(', ') || 'none',
  },
]

export const versionCommands: Command[] = [
  command({
    name: 'versions',
    summary: 'Versions of Talos and Kubernetes that clusters are made of, newest first.',
    options: { prereleases: { kind: 'flag', help: 'Also alphas, betas and release candidates' } },
    examples: ['versions', 'versions --json'],
    async run({ terminal, api, show }, { options }) {
      const answer = await api.call(versionList, { query: options.prereleases ? { prereleases: 'true' } : {} })
      for (const notice of answer.notices) terminal.err(`${oneLine(notice)}\n`)
      if (answer.reason !== null)
        terminal.err(`${oneLine(answer.reason)}. ${answer.source === 'shipped' ? 'These versions were shipped with Steelyard.' : 'This is its last list.'}\n`)
      show(answer, ({ items }) => table(terminal, items, columns, 'No versions'))
    },
  }),
]
