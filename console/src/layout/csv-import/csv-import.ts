/** An import of CSV as a CLI command, and the texts of its result. */
import type { ImportDoes, ImportProblem } from '#contract/csv/imports.ts'
import type { Operation } from '#contract/operation.ts'
import { counted } from '#contract/words.ts'
import { cliOf, curlOf, quoted } from '../../lib/shell.ts'

export interface ImportRow {
  readonly line: number
  readonly name: string
  readonly does: ImportDoes
}
export interface Imported<Row> {
  readonly written: boolean
  readonly rows: readonly Row[]
  readonly problems: readonly ImportProblem[]
}

export interface ImportNouns {
  /** Of the CLI: `subnet`. */
  readonly cli: string
  /** What is added, and what is changed by a row. */
  readonly added: string
  readonly changed: string
}

/** Longest text inserted into the command, in characters. Longer text must come from a file. */
const mostInline = 64 * 1024

/** A name with a leading hyphen would be read as an option. */
const asOperand = (file: string): string => (file.startsWith('-') ? `./${file}` : file)

/** The import as a CLI command and an API call, with the chosen file or the pasted text. */
export function importCommands({
  operation,
  nouns: { cli: noun },
  csv,
  file,
  origin,
}: {
  operation: Operation
  nouns: ImportNouns
  csv: string
  file: string | null
  origin: string
}): { cli: string; api: string } {
  const from = file ?? (csv.length > mostInline ? `${noun}s.csv` : null)
  if (from !== null) {
    const name = asOperand(from)
    const sent = `${curlOf(operation, {}, undefined, { origin })} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`
    return {
      cli: cliOf([noun, 'import', name]),
      api: `jq -Rs '{csv: .}' ${quoted(name)} |\n${sent}`,
    }
  }
  // The here-document ends at a line that consists of `END_OF_CSV`, which is never a CSV row of a
  // subnet.
  const text = csv.endsWith('\n') ? csv : `${csv}\n`
  return {
    cli: `${cliOf([noun, 'import', '/dev/stdin'])} <<'END_OF_CSV'\n${text}END_OF_CSV`,
    api: curlOf(operation, {}, { csv }, { origin }),
  }
}

/** Summary of an import: effects of its rows, or the number of problems. */
export function summaryOf(
  nouns: ImportNouns,
  { rows, problems }: Pick<Imported<Pick<ImportRow, 'does'>>, 'rows' | 'problems'>,
) {
  const of = (does: ImportDoes) => rows.filter((row) => row.does === does).length
  const [added, changed, same] = [of('create'), of('update'), of('nothing')]
  const parts = [
    added > 0 && `${counted(added, nouns.added)} to add`,
    changed > 0 && `${counted(changed, nouns.changed)} to change`,
    same > 0 && `${same} without a change`,
  ]
  const lines = new Set(problems.map((p) => p.line)).size
  return {
    problems: problems.length,
    changes: added + changed,
    text:
      problems.length > 0
        ? `${counted(problems.length, 'problem')} in ${counted(lines, 'line')}. Nothing was written: correct the text and check it again.`
        : `Every row is valid: ${parts.filter(Boolean).join(', ') || 'no rows'}.`,
    /** Label of the button. */
    verb:
      added + changed === 0
        ? 'Import'
        : `Import ${counted(added + changed, nouns.added === nouns.changed ? nouns.added : 'row')}`,
    /** Message after the import. */
    done: [
      added > 0 && `${counted(added, nouns.added)} added`,
      changed > 0 && `${counted(changed, nouns.changed)} changed`,
    ]
      .filter(Boolean)
      .join(', '),
  }
}
