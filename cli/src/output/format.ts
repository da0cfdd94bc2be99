/** `-o`: the forms in which a command prints its result. */
import { Document, Scalar, visit } from 'yaml'
import { CliError } from '../exit.ts'
import { escaped, needsEscapes, oneLine, safeJson } from '../text.ts'
import { jsonpath } from './jsonpath.ts'

export type Format =
  /** Tables and sentences. `wide`: tables with all columns, nothing cut. */
  | { readonly kind: 'text'; readonly wide: boolean }
  | { readonly kind: 'json' | 'yaml' | 'name' }
  | { readonly kind: 'jsonpath'; readonly write: (value: unknown) => string }

/** Values of `-o`, as the help and the completion show them. */
export const formatNames = ['json', 'yaml', 'wide', 'name', 'jsonpath=TEMPLATE'] as const

/** Reads the value of `-o`. Throws CliError `usage`. */
export function readFormat(text: string): Format {
  // `-o=json` arrives with the sign.
  const value = text.replace(/^=/, '')
  if (value === 'json' || value === 'yaml' || value === 'name') return { kind: value }
  if (value === 'wide') return { kind: 'text', wide: true }
  if (value.startsWith('jsonpath='))
    return { kind: 'jsonpath', write: jsonpath(value.slice('jsonpath='.length)) }
  throw new CliError('usage', `-o is one of ${formatNames.join(', ')}, not ${oneLine(value)}`)
}

/** Fields that commands take as the name of an object, the best first. */
const nameFields = ['email', 'code', 'name', 'id', 'patch_id', 'node_id', 'seq'] as const

function nameOf(item: unknown): string {
  if (typeof item === 'string' || typeof item === 'number') return String(item)
  const fields = (item ?? {}) as Readonly<Record<string, unknown>>
  const name = nameFields.map((field) => fields[field]).find((v) => v !== undefined && v !== null)
  if (typeof name === 'string' || typeof name === 'number') return String(name)
  throw new CliError('usage', 'This result has no names: use -o json')
}

/** The names of a list's items, or of one object, one per line. */
function names(value: unknown): string {
  const items =
    typeof value === 'object' && value !== null && 'items' in value && Array.isArray(value.items)
      ? (value.items as unknown[])
      : [value]
  return items.map((item) => `${oneLine(nameOf(item))}\n`).join('')
}

/**
 * YAML that is safe on a terminal: a text with control or invisible characters is written in double
 * quotes, where YAML has escapes for them.
 */
function yaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && needsEscapes(node.value))
        node.type = Scalar.QUOTE_DOUBLE
    },
  })
  return escaped(document.toString({ lineWidth: 0 }))
}

/** A result in a form for programs, ending with a line break. */
export function machineText(format: Exclude<Format, { kind: 'text' }>, value: unknown): string {
  if (format.kind === 'jsonpath') {
    const text = format.write(value)
    return text === '' || text.endsWith('\n') ? text : `${text}\n`
  }
  if (format.kind === 'json') return `${safeJson(value, 2)}\n`
  return format.kind === 'yaml' ? yaml(value) : names(value)
}

/** One of several results that follow each other, such as each change that `--watch` prints. */
export function machineLine(format: Exclude<Format, { kind: 'text' }>, value: unknown): string {
  if (format.kind === 'json') return `${safeJson(value)}\n`
  return `${format.kind === 'yaml' ? '---\n' : ''}${machineText(format, value)}`
}
