/**
 * Strict CSV (RFC 4180): quotes are allowed only around a whole cell, and doubled inside of such a
 * cell; rows end with CRLF or LF. Spreadsheets execute cells that look like formulas, so such cells
 * are written with a leading apostrophe, which is removed on reading.
 */
import { count } from '#contract/words.ts'

export interface CsvRecord {
  /** The line on which the record starts, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

export interface Csv {
  /** Without empty lines. */
  readonly records: readonly CsvRecord[]
  /** Why the rest of the text can't be read. */
  readonly problem: { readonly line: number; readonly message: string } | null
}

/**
 * Start of a cell that spreadsheets treat as a formula (OWASP, CSV injection). Leading apostrophes
 * match too, so that reading is the inverse of writing.
 */
const formula = /^'*[=+\-@\t\r]/
const guarded = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
const unguarded = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell

export const writeCsv = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) =>
      row
        .map(guarded)
        .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)),
    )
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')

const COMMA = 44
const LF = 10
const CR = 13
const QUOTE = 34
const SPACE = 32
const TAB = 9

/** Reads the quoted cell at `at`. Returns its text, end and number of lines, or its error. */
function readQuoted(
  text: string,
  at: number,
): { cell: string; end: number; lines: number } | { problem: string } {
  let lines = 0
  let doubled = false
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === LF) lines++
    if (code !== QUOTE) continue
    if (text.charCodeAt(i + 1) === QUOTE) {
      doubled = true
      i++
      continue
    }
    const cell = text.slice(at + 1, i)
    return { cell: doubled ? cell.split('""').join('"') : cell, end: i + 1, lines }
  }
  return { problem: 'A quote is not closed' }
}

/** The end of an unquoted cell; -1 if the cell contains a quote. */
function plainEnd(text: string, at: number): number {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === COMMA || code === LF || code === CR) return i
    if (code === QUOTE) return -1
  }
  return text.length
}

/**
 * Returns the end of the line at `at` if the line is empty, else -1. With `cells`, a line of empty
 * cells counts as empty.
 */
function blankEnd(text: string, at: number, cells: boolean): number {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === LF) return i + 1
    const isNothing =
      code === CR
        ? text.charCodeAt(i + 1) === LF
        : cells && (code === COMMA || code === SPACE || code === TAB)
    if (!isNothing) return -1
  }
  return -1
}

export interface CsvBounds {
  /** Maximum number of non-empty records that are read. */
  readonly records: number
  /** Maximum number of cells of the first record, which is the header. */
  readonly columns: number
  /** Maximum number of cells of a record below the header. */
  readonly cells: number
}

/**
 * Reads each character only once, so a megabyte takes some tens of ms, whatever its content.
 * @param bounds limits for external text; empty records below the header are then skipped
 */
export function parseCsv(given: string, bounds?: CsvBounds): Csv {
  const text = given.charCodeAt(0) === 0xfeff ? given.slice(1) : given
  const records: CsvRecord[] = []
  const most = bounds ?? { records: Infinity, columns: Infinity, cells: Infinity }
  let line = 1
  let at = 0
  while (at < text.length && records.length < most.records) {
    // The first record is the header, whatever its content.
    const isHeader = records.length === 0
    const isBounded = bounds !== undefined && !isHeader
    const blank = blankEnd(text, at, isBounded)
    if (blank !== -1) {
      at = blank
      line++
      continue
    }
    const began = line
    const cells: string[] = []
    let isBlank = true
    for (;;) {
      let cell: string
      if (text.charCodeAt(at) === QUOTE) {
        const read = readQuoted(text, at)
        if ('problem' in read) return { records, problem: { line, message: read.problem } }
        cell = read.cell
        at = read.end
        line += read.lines
      } else {
        const end = plainEnd(text, at)
        if (end === -1)
          return {
            records,
            problem: { line, message: 'A cell that does not begin with a quote contains one' },
          }
        cell = end === at ? '' : text.slice(at, end)
        at = end
      }
      if (cells.length === (isHeader ? most.columns : most.cells))
        return {
          records,
          problem: {
            line: began,
            message: isHeader
              ? `A header has at most ${count(most.columns)} columns`
              : `A line has at most ${count(most.cells)} cells`,
          },
        }
      if (cell !== '') isBlank &&= cell.trim() === ''
      cells.push(unguarded(cell))
      if (text.charCodeAt(at) !== COMMA) break
      at++
    }
    if (text.charCodeAt(at) === LF) at++
    else if (text.startsWith('\r\n', at)) at += 2
    else if (at < text.length)
      return {
        records,
        problem: {
          line,
          message:
            text.charCodeAt(at) === CR
              ? 'A line must end with a line feed'
              : 'Text follows a closing quote',
        },
      }
    line++
    const isLeftOut = isBounded ? isBlank : cells.length === 1 && cells[0] === ''
    if (!isLeftOut) records.push({ line: began, cells })
  }
  return { records, problem: null }
}
