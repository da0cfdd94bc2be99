/** The import of subnets as a CLI command, and the texts of its result. */
import type { Answer } from '#contract/operation.ts'
import { subnetImport } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { cliOf, curlOf, quoted } from '../../../lib/shell.ts'

/** Longest text inserted into the command, in characters. Longer text must come from a file. */
const mostInline = 64 * 1024

/** A name with a leading hyphen would be read as an option. */
const asOperand = (file: string): string => (file.startsWith('-') ? `./${file}` : file)

/** The import as a CLI command and an API call, with the chosen file or the pasted text. */
export function importCommands({
  csv,
  file,
  origin,
}: {
  csv: string
  file: string | null
  origin: string
}): { cli: string; api: string } {
  const from = file ?? (csv.length > mostInline ? 'subnets.csv' : null)
  if (from !== null) {
    const name = asOperand(from)
    const sent = `${curlOf(subnetImport, {}, undefined, { origin })} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`
    return {
      cli: cliOf(['subnet', 'import', name]),
      api: `jq -Rs '{csv: .}' ${quoted(name)} |\n${sent}`,
    }
  }
  // The here-document ends at a line that consists of `END_OF_CSV`, which is never a CSV row of a
  // subnet.
  const text = csv.endsWith('\n') ? csv : `${csv}\n`
  return {
    cli: `${cliOf(['subnet', 'import', '/dev/stdin'])} <<'END_OF_CSV'\n${text}END_OF_CSV`,
    api: curlOf(subnetImport, {}, { csv }, { origin }),
  }
}

/** Summary of an import: effects of its rows, or the number of problems. */
export function summaryOf({
  rows,
  problems,
}: Pick<Answer<typeof subnetImport>, 'rows' | 'problems'>) {
  const of = (does: 'create' | 'update' | 'nothing') =>
    rows.filter((row) => row.does === does).length
  const [added, changed, same] = [of('create'), of('update'), of('nothing')]
  const parts = [
    added > 0 && `${counted(added, 'subnet')} to add`,
    changed > 0 && `${counted(changed, 'subnet')} to change`,
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
    verb: added + changed === 0 ? 'Import' : `Import ${counted(added + changed, 'subnet')}`,
    /** Message after the import. */
    done: [
      added > 0 && `${counted(added, 'subnet')} added`,
      changed > 0 && `${counted(changed, 'subnet')} changed`,
    ]
      .filter(Boolean)
      .join(', '),
  }
}
