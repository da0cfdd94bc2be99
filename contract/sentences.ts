/**
 * Default messages of schemas: "Required", "Unknown field", "Expected string, received number".
 * They don't name the field, so `isGeneral` recognises them by their first word. The contract's
 * other messages name the field.
 */
import * as z from 'zod/mini'

/** Longer lists of values are cut. */
const mostValues = 20
const units: Readonly<Record<string, string>> = { string: 'characters', array: 'items' }
const forms: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  datetime: 'a UTC time in ISO 8601',
}
const types: Readonly<Record<string, string>> = {
  int: 'whole number',
  record: 'object',
  undefined: 'no value',
}

const typeOf = (input: unknown): string =>
  input === null
    ? 'null'
    : Array.isArray(input)
      ? 'array'
      : Number.isNaN(input)
        ? 'no number'
        : typeof input
const named = (type: string): string => types[type] ?? type
const size = (origin: string, bound: number | bigint): string =>
  units[origin] ? `${bound} ${units[origin]}` : String(bound)

/** The message for what the schema expected; undefined for kinds that this file doesn't cover. */
const sentenceOfIssue: z.core.$ZodErrorMap = (issue) => {
  if (
    issue.input === undefined &&
    (issue.code === 'invalid_type' ||
      issue.code === 'invalid_value' ||
      issue.code === 'invalid_union')
  )
    return 'Required'
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${named(issue.expected)}, received ${typeOf(issue.input)}`
    case 'invalid_value':
      return `Expected ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.slice(0, mostValues).map(String).join(', ')}`
    case 'too_small':
      return `Expected at least ${size(issue.origin, issue.minimum)}`
    case 'too_big':
      return `Expected at most ${size(issue.origin, issue.maximum)}`
    case 'invalid_format':
      return `Expected ${forms[issue.format] ?? 'a different format'}`
    case 'unrecognized_keys':
      return 'Unknown field'
    default:
      return undefined
  }
}

/** Whether a message is a default message, which needs the field's name beside it. */
export const isGeneral = (sentence: string): boolean =>
  /^(?:Required$|Expected |Unknown field$)/.test(sentence)

z.config({ localeError: sentenceOfIssue })
