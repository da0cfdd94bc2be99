/**
 * Sentences about slips in files that the parser of YAML and the schemas describe badly: special
 * spaces and marks of copied text, and values of another type than their text looks like.
 */
import type * as z from 'zod/mini'
import { isGeneral } from '#contract/sentences.ts'

/** Spaces that aren't YAML's space (YAML 1.2, 5.5 and 6.1). */
const otherSpace = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]/u
const otherSpaces = new RegExp(otherSpace.source, 'gu')
const fence = /^\s*(?:`{3,}|~{3,})/
/** Indentation that has one, or a mark of YAML before one, without a comment or a quote before it. */
const inStructure = new RegExp(
  `^\\s*?(?=${otherSpace.source})|^[^#"']*?[:-](?=${otherSpace.source})`,
  'u',
)

/**
 * The first special space in the place of YAML's own, or mark of Markdown, in a text that can't be
 * read; null if there is none. The line counts from 1.
 */
export function copiedSlip(text: string): { line: number; message: string } | null {
  for (const [i, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (fence.test(line))
      return {
        line: i + 1,
        message: `${line.trim().slice(0, 3)} is a mark of Markdown and not of YAML: remove the line, and the one at the end`,
      }
    const at = line.trim() === '' ? undefined : inStructure.exec(line)?.[0].length
    if (at === undefined) continue
    const code = line.codePointAt(at)!.toString(16).toUpperCase().padStart(4, '0')
    return {
      line: i + 1,
      message: `There is a special space (U+${code}) in column ${at + 1}, which often comes with text that is copied from a web page: type it anew`,
    }
  }
  return null
}

/** The text with YAML's own spaces, and without marks of Markdown, in the same lines. */
export const withoutSlips = (text: string): string =>
  text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => {
      if (fence.test(line)) return ''
      return inStructure.test(line) ? line.replaceAll(otherSpaces, ' ') : line
    })
    .join('\n')

/** What to write in place of a value of another type; null if the schema's own sentence says it. */
export function typeSlip(issue: z.core.$ZodIssue): string | null {
  if (issue.code !== 'invalid_type' || !isGeneral(issue.message)) return null
  const { expected, input } = issue
  const isPlain = typeof input === 'number' || typeof input === 'boolean'
  if (expected === 'string' && isPlain) return 'Write it in quotes: it is text'
  if (expected === 'string' && typeof input === 'object' && input !== null)
    return 'Write it as text: a | behind the colon, and the text below, indented'
  if (expected === 'array')
    return input === null
      ? 'The list is empty: write its entries below, each with a hyphen before it'
      : 'Write a list: its entries below, each with a hyphen before it'
  if (expected === 'boolean') return 'Write true or false, without quotes'
  const isNumber = expected === 'number' || expected === 'int'
  return isNumber && typeof input === 'string' ? 'Write a number, without quotes' : null
}
