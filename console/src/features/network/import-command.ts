import { subnetImport } from '#contract/network/subnets.ts'
import { cliOf, curlOf, quoted } from '../../lib/shell.ts'

/** What a shell takes as one argument and people still paste, in characters; longer text is read from a file. */
const mostInline = 64 * 1024

/** A name that begins with a hyphen would be read as an option. */
const asOperand = (file: string): string => (file.startsWith('-') ? `./${file}` : file)

/** The import as a command and as a call: of the file that was chosen, by its name, or of the text that was pasted. */
export function importCommands({ csv, file, origin }: { csv: string; file: string | null; origin: string }): { cli: string; api: string } {
  const from = file ?? (csv.length > mostInline ? 'subnets.csv' : null)
  if (from !== null) {
    const name = asOperand(from)
    const sent = `${curlOf(subnetImport, {}, undefined, { origin })} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`
    return { cli: cliOf(['subnet', 'import', name]), api: `jq -Rs '{csv: .}' ${quoted(name)} |\n${sent}` }
  }
  // The text ends where the word stands alone on a line, which no row of a CSV of subnets does.
  const text = csv.endsWith('\n') ? csv : `${csv}\n`
  return { cli: `${cliOf(['subnet', 'import', '/dev/stdin'])} <<'END_OF_CSV'\n${text}END_OF_CSV`, api: curlOf(subnetImport, {}, { csv }, { origin }) }
}
