import { subnetImport } from '#contract/network/subnets.ts'
import { cliOf, curlOf, quoted } from '../../../lib/shell.ts'

/** Longest text inserted into the command, in characters. Longer text must come from a file. */
const mostInline = 64 * 1024

/** A name with a leading hyphen would be read as an option. */
const asOperand = (file: string): string => (file.startsWith('-') ? `./${file}` : file)

/** The import as a CLI command and an API call, with the chosen file or the pasted text. */
export function importCommands({ csv, file, origin }: { csv: string; file: string | null; origin: string }): { cli: string; api: string } {
  const from = file ?? (csv.length > mostInline ? 'subnets.csv' : null)
  if (from !== null) {
    const name = asOperand(from)
    const sent = `${curlOf(subnetImport, {}, undefined, { origin })} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`
    return { cli: cliOf(['subnet', 'import', name]), api: `jq -Rs '{csv: .}' ${quoted(name)} |\n${sent}` }
  }
  // The here-document ends at a line with only this word, which no CSV row of subnets is.
  const text = csv.endsWith('\n') ? csv : `${csv}\n`
  return { cli: `${cliOf(['subnet', 'import', '/dev/stdin'])} <<'END_OF_CSV'\n${text}END_OF_CSV`, api: curlOf(subnetImport, {}, { csv }, { origin }) }
}
