/**
 * Reads a CSV file with a header whose columns are known, before its rows are judged: size, header,
 * number of rows.
 */
import { Problem } from '#contract/errors.ts'
import { type ImportProblem, importLimits, tooLargeImport } from '#contract/csv/imports.ts'
import { count } from '#contract/words.ts'
import { type CsvRecord, parseCsv } from './csv.ts'

/** Separator of the entries in a cell. */
export const entrySeparator = ';'

/** Largest body of a call that imports: in JSON a line break or a quote takes two bytes. */
export const largestImport = 2 * importLimits.bytes + 64 * 1024

/** Maximum number of cells in a line: several times the number of columns. */
const mostCells = 100
/** Maximum number of columns of a header. The file may be of another kind and have many. */
const mostColumns = 1_000
/** Maximum number of unknown columns that messages name. */
const mostUnknown = 20

export interface Columns<Column extends string> {
  readonly columns: readonly Column[]
  /** Columns that every file must have. */
  readonly required: readonly Column[]
}

/** A message about a row. */
export interface Trouble<Column extends string> {
  /** The column that the message is about; null for the whole row. */
  readonly column: Column | null
  readonly message: string
}

/** The columns of a header in order, or its errors. */
export function readHeader<Column extends string>(
  cells: readonly string[],
  { columns: known, required }: Columns<Column>,
): { columns: Column[] } | { troubles: string[] } {
  if (cells.length === 1 && cells[0]!.includes(entrySeparator))
    return { troubles: ['Columns must be separated by commas, not semicolons'] }
  const isColumn = (name: string): name is Column => (known as readonly string[]).includes(name)
  const columns: Column[] = []
  const repeated = new Set<Column>()
  const others = new Set<string>()
  const untitled: number[] = []
  for (const [i, cell] of cells.entries()) {
    const name = cell === '' ? cell : cell.trim().toLowerCase()
    if (name === '') untitled.push(i + 1)
    else if (!isColumn(name)) others.add(name)
    else if (columns.includes(name)) repeated.add(name)
    else columns.push(name)
  }
  const unknown = [...others]
    .slice(0, mostUnknown)
    .map((n) => `There is no column "${n.slice(0, 40)}". Columns are ${known.join(', ')}`)
  if (others.size > mostUnknown)
    unknown.push(`${others.size - mostUnknown} more columns are not known`)
  const twice = [...repeated].map((c) => `The column ${c} appears twice`)
  const left = required.filter((c) => !columns.includes(c)).map((c) => `The column ${c} is missing`)
  const without = untitled.slice(0, mostUnknown).map((i) => `Column ${i} has no title`)
  const troubles = [...without, ...unknown, ...twice, ...left]
  return troubles.length > 0 ? { troubles } : { columns }
}

/**
 * A row with a cell for each column of the header, trimmed; or why it can't be read. The last cells
 * may be missing, because Excel leaves them out where they are empty in many rows. A row that ends
 * before a required column is cut off.
 */
export function cellsOf<Column extends string>(
  record: CsvRecord,
  columns: readonly Column[],
  { required }: Pick<Columns<Column>, 'required'>,
): ReadonlyMap<Column, string> | string {
  const cells = withoutEmptyEnd(record.cells, columns.length)
  const fewest = Math.max(...required.map((column) => columns.indexOf(column))) + 1
  return cells.length <= columns.length && cells.length >= fewest
    ? new Map(columns.map((column, i) => [column, (cells[i] ?? '').trim()]))
    : `The header has ${columns.length} columns, this line has ${cells.length}`
}

/** Cells without those at the end, from `from` on, that are empty. */
function withoutEmptyEnd(cells: readonly string[], from: number): readonly string[] {
  let end = cells.length
  while (end > from && cells[end - 1]!.trim() === '') end--
  return end === cells.length ? cells : cells.slice(0, end)
}

/**
 * The cells of a header without the columns at its end that have neither a title nor a value in any
 * row: spreadsheets write them where a column was emptied.
 */
function titled(head: readonly string[], body: readonly CsvRecord[]): readonly string[] {
  const most = body.reduce((longest, { cells }) => {
    return Math.max(longest, withoutEmptyEnd(cells, 0).length)
  }, 1)
  return withoutEmptyEnd(head, Math.min(most, head.length))
}

interface Table<Column extends string> {
  readonly columns: readonly Column[]
  readonly body: readonly CsvRecord[]
  /** Why the rest of the text can't be read; empty if all was read. */
  readonly unreadable: readonly ImportProblem[]
}

/**
 * Reads the text of an import. A file whose header or size is wrong has only problems.
 * @throws Problem invalid if the file is too large
 */
export function readTable<Column extends string>(
  csv: string,
  shape: Columns<Column>,
): Table<Column> | { readonly problems: ImportProblem[] } {
  if (Buffer.byteLength(csv) > importLimits.bytes)
    throw new Problem('invalid', tooLargeImport, { csv: tooLargeImport })
  // Spreadsheets may end a file with rows that contain only commas; these don't count as records.
  const { records, problem } = parseCsv(csv, {
    records: importLimits.rows + 2,
    columns: mostColumns,
    cells: mostCells,
  })
  const [head, ...body] = records
  const unreadable = problem ? [{ ...problem, column: null }] : []
  const refused = (line: number, ...messages: string[]) => ({
    problems: [...messages.map((message) => ({ line, column: null, message })), ...unreadable],
  })
  if (!head) return problem ? refused(1) : refused(1, 'The file is empty')
  const header = readHeader(titled(head.cells, body), shape)
  if ('troubles' in header) return refused(head.line, ...header.troubles)
  const surplus: CsvRecord | undefined = body[importLimits.rows]
  if (surplus) return refused(surplus.line, `A file has at most ${count(importLimits.rows)} rows`)
  return { columns: header.columns, body, unreadable }
}
