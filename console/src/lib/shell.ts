/** What a form would do, as a command line: for those who go on with a script. */
import type { Operation } from '#contract/operation.ts'

/** A word that a shell takes as it is written: plain where it is harmless, in single quotes otherwise. */
export const quoted = (text: string): string => (/^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The same as a call of the API, for a shell, an option a line. The token is a variable, so that none stands in a history. Without a `body` nothing is sent. */
export function curlOf(
  operation: Pick<Operation, 'method' | 'path'>,
  params: Readonly<Record<string, string>>,
  body: unknown,
  { origin, version }: { origin: string; version?: number | undefined },
): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  return [
    `curl -X ${operation.method} ${inQuotes(origin + path)}`,
    `-H "Authorization: Bearer $STEELYARD_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(version === undefined ? [] : [`-H 'If-Match: "${version}"'`]),
    ...(body === undefined ? [] : [`-d ${inQuotes(JSON.stringify(body))}`]),
  ].join(' \\\n  ')
}

/** An option's value: a flag is true, a list is one option per entry; what is absent is left out. */
export type OptionValue = string | number | boolean | null | undefined | readonly string[]

/** The same as a command of `steelyard`: `cliOf(['image', 'create'], {format: 'iso'})`. */
export function cliOf(words: readonly string[], options: Readonly<Record<string, OptionValue>> = {}): string {
  const given = Object.entries(options).flatMap(([name, value]): string[] => {
    if (value === undefined || value === null || value === false || value === '') return []
    if (value === true) return [`--${name}`]
    // What begins with a hyphen would be read as an option itself.
    return (typeof value === 'object' ? value : [String(value)]).map((one) => `--${name}${one.startsWith('-') ? '=' : ' '}${quoted(one)}`)
  })
  return ['steelyard', ...words.map(quoted), ...given].join(' ')
}
