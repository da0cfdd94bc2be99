/** What an import of CSV answers, as text: every problem with its line, or what was written. */
import type { ImportDoes, ImportProblem } from '#contract/csv/imports.ts'
import { table } from '../table.ts'
import type { Terminal } from '../terminal.ts'

interface Imported {
  readonly written: boolean
  readonly rows: readonly { readonly does: ImportDoes }[]
  readonly problems: readonly ImportProblem[]
}

export function importedText(terminal: Terminal, { rows, problems, written }: Imported): string {
  if (problems.length > 0)
    return table(
      terminal,
      problems,
      [
        { title: 'LINE', text: (p) => String(p.line), right: true },
        { title: 'COLUMN', text: (p) => p.column ?? '' },
        { title: 'PROBLEM', text: (p) => p.message },
      ],
      '',
    )
  const count = (does: ImportDoes) => rows.filter((r) => r.does === does).length
  return `${count('create')} ${written ? 'added' : 'to add'}, ${count('update')} ${written ? 'changed' : 'to change'}, ${count('nothing')} unchanged\n`
}
