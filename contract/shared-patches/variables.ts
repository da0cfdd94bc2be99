/**
 * Variables of shared patches: `{{name}}`, `{{address}}`, `{{link}}` and `{{label.KEY}}` stand for
 * values of the server that gets the patch. Values are filled in as text before the YAML is read, so
 * a value is limited to characters that YAML doesn't read as anything but a scalar.
 */
import { labelKey, type Labels } from '../labels/selector.ts'

/** What a server gives its variables. */
export interface VariableValues {
  readonly name: string
  /** The dialled address, without prefix. */
  readonly address: string
  /** The link with that address; null if unknown. */
  readonly link: string | null
  readonly labels: Labels
}

/** Text between double braces that begins like a name; other braces belong to the patch. */
const candidate = /\{\{[ ]?([A-Za-z][A-Za-z0-9._/-]{0,330})[ ]?\}\}/g
let label: RegExp | undefined
const isLabel = (name: string): boolean =>
  name.startsWith('label.') &&
  (label ??= new RegExp(`^${labelKey}$`)).test(name.slice('label.'.length))

const isKnown = (name: string): boolean =>
  name === 'name' || name === 'address' || name === 'link' || isLabel(name)

/** The variables of a text, each once, in the order of the text. */
export const variablesIn = (text: string): string[] => [
  ...new Set(Array.from(text.matchAll(candidate), ([, name]) => name!)),
]

/** The first variable that doesn't exist, with its line from 1; null if all exist. */
export function unknownVariable(
  text: string,
): { readonly name: string; readonly line: number } | null {
  for (const { 1: name, index } of text.matchAll(candidate))
    if (!isKnown(name!)) return { name: name!, line: text.slice(0, index).split('\n').length }
  return null
}

export const unknownVariableSentence = (name: string): string =>
  `There is no variable {{${name}}}: a patch knows {{name}}, {{address}}, {{link}} and {{label.KEY}}`

/**
 * A value that stays a scalar of one line wherever it is filled in: YAML reads a colon as a key only
 * before a space or at the end.
 */
const safe = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,252}[A-Za-z0-9])?$/

const valueOf = (name: string, { labels, ...values }: VariableValues): string | null => {
  if (name === 'name' || name === 'address' || name === 'link') return values[name]
  const key = name.slice('label.'.length)
  return Object.hasOwn(labels, key) ? labels[key]! : null
}

/** The text with the values of a server, or why that is impossible. */
export type Filled =
  | { readonly text: string; readonly values: Readonly<Record<string, string>> }
  | { readonly variable: string; readonly why: 'missing' | 'unsafe' }

/** @param text with known variables only */
export function fill(text: string, of: VariableValues): Filled {
  const values: Record<string, string> = {}
  for (const variable of variablesIn(text)) {
    const value = valueOf(variable, of)
    if (value === null || value === '') return { variable, why: 'missing' }
    if (!safe.test(value)) return { variable, why: 'unsafe' }
    values[variable] = value
  }
  return { text: text.replaceAll(candidate, (_, name: string) => values[name]!), values }
}

/** The text with each variable replaced; what `replaced` returns must be a scalar. */
export const replaceVariables = (text: string, replaced: (name: string) => string): string =>
  text.replaceAll(candidate, (_, name: string) => replaced(name))
