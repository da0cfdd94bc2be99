/** What is held after a restore, or after the database went back in time by itself. */
import { heldText } from '#contract/operations/held-text.ts'
import type { Answer } from '#contract/operation.ts'
import { operationTitle } from '#contract/operations.ts'
import { canResumeCluster, restorationGet } from '#contract/restoration.ts'
import { command, type Command } from '../../command.ts'
import { table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

type Restoration = Answer<typeof restorationGet>

/** A sentence about the restore, and a table each of the held clusters and operations. */
function heldTables(terminal: Terminal, { restored, clusters, operations }: Restoration): string {
  if (restored === null) return 'Nothing is held\n'
  const madeAt = localTime(restored.backup_made_at)
  const parts = [
    restored.missing === null
      ? `Restored from a backup of ${madeAt}.\n`
      : `The database went back in time, to ${madeAt}, and lacks ${oneLine(restored.missing)}.\n`,
  ]
  if (clusters.length > 0)
    parts.push(
      table(
        terminal,
        clusters,
        [
          { title: 'CLUSTER', text: (c) => c.name },
          {
            title: 'RESUMABLE',
            text: (c) => (canResumeCluster(c).ok ? 'yes' : 'no'),
            colour: (c) => (canResumeCluster(c).ok ? 'green' : 'yellow'),
          },
          { title: 'STATE', text: heldText },
        ],
        '',
      ),
    )
  if (operations.length > 0)
    parts.push(
      table(
        terminal,
        operations,
        [
          { title: 'OPERATION', text: (o) => o.id },
          { title: 'WHAT', text: operationTitle },
          { title: 'BY', text: (o) => o.created_by ?? 'Steelyard' },
        ],
        '',
      ),
    )
  parts.push(
    'Nothing is sent to these until somebody has checked and resumed them: steelyard cluster resume, steelyard operation resume\n',
  )
  return parts.join('\n')
}

export const restorationCommands: Command[] = [
  command({
    name: 'restoration show',
    summary:
      'What is held since a restore, or since the database went back in time: clusters with the state of their servers, and operations.',
    examples: ['restoration show', 'restoration show -o jsonpath={.clusters[*].name}'],
    async run({ api, show, terminal }) {
      show(await api.call(restorationGet, {}), (answer) => heldTables(terminal, answer))
    },
  }),
]
