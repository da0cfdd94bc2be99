/**
 * CSV as RFC 4180 has it, strictly: a quote stands at the start of a cell or doubled within quotes, rows end with CRLF or LF.
 * Spreadsheets run a cell that begins like a formula, so such a cell is written with an apostrophe before it, and read without.
 */
export interface CsvRecord {
  /** Of the line that it begins on, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

export interface Csv {
  /** Lines with nothing in them are left out. */
  readonly records: readonly CsvRecord[]
  /** Why what follows can't be read. */
  readonly problem: { readonly line: number; readonly message: string } | null
}

/** What spreadsheets take for the start of a formula (OWASP, CSV injection); the apostrophes keep writing and reading each other's inverse. */
const formula = /^'*[=+\-@\t\r]/
const guarded = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
const unguarded = (cell: string): string => (cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell)

export const writeCsv = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) => row.map(guarded).map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)))
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')

/** Sticky: a line of a million cells is not copied for each of them. */
const plain = /[^,\r\n]*/y

/** The next cell from `at`: its text, where it ends, how many lines it spans; or why it is none. */
function readCell(text: string, at: number): { cell: string; end: number; lines: number } | { problem: string; lines: number } {
  if (text[at] !== '"') {
    plain.lastIndex = at
    const [cell] = plain.exec(text)!
    return cell.includes('"') ? { problem: 'A quote stands in a cell that does not begin with one', lines: 0 } : { cell, end: at + cell.length, lines: 0 }
  }
  let cell = ''
  for (let from = at + 1; ;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return { problem: 'A quote is not closed', lines: 0 }
    cell += text.slice(from, quote)
    if (text[quote + 1] !== '"') return { cell, end: quote + 1, lines: cell.split('\n').length - 1 }
    cell += '"'
    from = quote + 2
  }
}

export function parseCsv(given: string): Csv {
  const text = given.replace(/^\u{FEFF}/u, '')
  const records: CsvRecord[] = []
  let line = 1
  let at = 0
  while (at < text.length) {
    const cells: string[] = []
    const began = line
    for (;;) {
      const read = readCell(text, at)
      if ('problem' in read) return { records, problem: { line: line + read.lines, message: read.problem } }
      cells.push(unguarded(read.cell))
      line += read.lines
      at = read.end
      if (text[at] !== ',') break
      at++
    }
    if (text.startsWith('\r\n', at)) at += 2
    else if (text[at] === '\n') at++
    else if (at < text.length)
      return { records, problem: { line, message: text[at] === '\r' ? 'A line must end with a line feed' : 'Text stands behind a closing quote' } }
    line++
    if (cells.length > 1 || cells[0] !== '') records.push({ line: began, cells })
  }
  return { records, problem: null }
}
