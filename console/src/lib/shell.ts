/** Writes the action of a form as a command line. */
import type { Operation } from '#contract/operation.ts'
import { apiOrigin } from './api-origin.ts'

/** Quotes a word for a shell, if it needs quotes. */
export const quoted = (text: string): string =>
  /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * A curl command, one option per line. The token is a variable, so that it doesn't enter the
 * shell's history.
 */
export function curlOf(
  operation: Pick<Operation, 'method' | 'path'>,
  params: Readonly<Record<string, string>>,
  body: unknown,
  { origin = apiOrigin(), version }: { origin?: string; version?: number | undefined } = {},
): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  )
  return [
    `curl -X ${operation.method} ${inQuotes(origin + path)}`,
    `-H "Authorization: Bearer $STEELYARD_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(version === undefined ? [] : [`-H 'If-Match: "${version}"'`]),
    ...(body === undefined ? [] : [`-d ${inQuotes(JSON.stringify(body))}`]),
  ].join(' \\\n  ')
}

/** An option's value: true is a flag, a list is one option per entry, undefined is omitted. */
export type OptionValue = string | number | boolean | null | undefined | readonly string[]

/** A `steelyard` command: `cliOf(['image', 'create'], {format: 'iso'})`. */
export function cliOf(
  words: readonly string[],
  options: Readonly<Record<string, OptionValue>> = {},
): string {
  const given = Object.entries(options).flatMap(([name, value]): string[] => {
    if (value === undefined || value === null || value === false || value === '') return []
    if (value === true) return [`--${name}`]
    // A value with a leading hyphen would be read as an option.
    return (typeof value === 'object' ? value : [String(value)]).map(
      (one) => `--${name}${one.startsWith('-') ? '=' : ' '}${quoted(one)}`,
    )
  })
  return ['steelyard', ...words.map(quoted), ...given].join(' ')
}
