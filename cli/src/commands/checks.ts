import type { Check } from '#contract/clusters/clusters.ts'
import { table } from '../table.ts'
import type { Terminal } from '../terminal.ts'

/** A table of the checks that were made before an action on a cluster. */
export const checksText = (terminal: Terminal, checks: readonly Check[]): string =>
  table(
    terminal,
    checks,
    [
      { title: 'CHECK', text: (c) => c.check },
      { title: 'OK', text: (c) => (c.ok ? 'yes' : 'no'), colour: (c) => (c.ok ? 'green' : 'red') },
      { title: 'MESSAGE', text: (c) => c.message },
    ],
    'No checks',
  )
