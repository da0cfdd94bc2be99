/**
 * Variables of shared patches: `{{name}}`, `{{address}}`, `{{link}}` and `{{label.KEY}}` stand for
 * values of the server that gets the patch. Values are filled in as text before the YAML is read, so
 * a value is limited to characters that YAML doesn't read as anything but a scalar.
 */
import { labelKey, type Labels } from '../labels/selector.ts'
import { patchLimits } from '../patches.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { count } from '../words.ts'

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

/**
 * What filling may cost: each place is a piece of the text of every server, and each variable a
 * value that is kept beside it.
 */
export const variableLimits = {
  /** Places of a body with a variable. */
  places: 2_000,
  /** Variables of a body, however often each stands in it. */
  variables: 50,
} as const

/** A body that is read once, to be filled for many servers. */
export interface Template {
  /** The text before, between and after the places of variables: one more than `places`. */
  readonly texts: readonly string[]
  /** The variable of each place. */
  readonly places: readonly string[]
  /** The variables, each once, in the order of the text. */
  readonly variables: readonly string[]
  /** The bytes of all texts. */
  readonly bytes: number
}

export function templateOf(text: string): Template {
  const texts: string[] = []
  const places: string[] = []
  let end = 0
  for (const { 0: place, 1: name, index } of text.matchAll(candidate)) {
    texts.push(text.slice(end, index))
    places.push(name!)
    end = index + place.length
  }
  texts.push(text.slice(end))
  const bytes = new TextEncoder().encode(texts.join('')).length
  return { texts, places, variables: [...new Set(places)], bytes }
}

/** Whether a body has few enough variables to be saved. */
export function canHaveVariables({ places, variables }: Template): Verdict {
  if (places.length > variableLimits.places)
    return no(
      `The patch has variables at ${count(places.length)} places, and it can have them at ${count(variableLimits.places)} at most`,
    )
  return variables.length <= variableLimits.variables
    ? yes
    : no(
        `The patch has ${count(variables.length)} variables, and it can have ${variableLimits.variables} at most`,
      )
}

/** The values of a template's variables. */
export type Values = Readonly<Record<string, string>>

/** The values that a server gives a template, or why it can't be filled. */
export type Filled =
  | { readonly values: Values }
  | { readonly variable: string; readonly why: 'missing' | 'unsafe' }

/** @param template with known variables only */
export function valuesFor({ variables }: Template, of: VariableValues): Filled {
  const values: Record<string, string> = {}
  for (const variable of variables) {
    const value = valueOf(variable, of)
    if (value === null || value === '') return { variable, why: 'missing' }
    if (!safe.test(value)) return { variable, why: 'unsafe' }
    values[variable] = value
  }
  return { values }
}

/** The text with the values. */
export const filledText = ({ texts, places }: Template, values: Values): string =>
  texts.map((text, i) => (i < places.length ? text + values[places[i]!]! : text)).join('')

/** The bytes of the text with the values, which isn't made for that. Values are ASCII. */
export const filledBytes = ({ bytes, places }: Template, values: Values): number =>
  places.reduce((sum, name) => sum + values[name]!.length, bytes)

/** Whether a body may be saved that has so many bytes with the values of a server. */
export const canFill = (server: string, bytes: number): Verdict =>
  bytes <= patchLimits.bodyBytes
    ? yes
    : no(
        `With the values of ${server} the patch has ${count(bytes)} bytes, and it can have ${count(patchLimits.bodyBytes)} at most`,
      )

/** The text with each variable replaced; what `replaced` returns must be a scalar. */
export const replaceVariables = (text: string, replaced: (name: string) => string): string =>
  text.replaceAll(candidate, (_, name: string) => replaced(name))
