import { type Colour, paint, type Terminal } from './terminal.ts'
import { cut, oneLine, pad, widthOf } from './text.ts'

export interface Column<T> {
  readonly title: string
  readonly text: (row: T) => string
  readonly colour?: (row: T) => Colour | null
  /** Aligns to the right, for numbers. */
  readonly right?: boolean
  /** Left out before others if the terminal is too narrow. */
  readonly minor?: boolean
}

const gap = 2
/** A column of sentences isn't cut shorter than this. */
const leastSentence = 12

/** A column before it is fitted. `natural`, `title`: widths of the widest cell and of the title. */
interface Measured {
  readonly natural: number
  readonly title: number
  /** Its cells are sentences, which may be cut. Names, ids and numbers are whole or left out. */
  readonly isSentence: boolean
  readonly minor: boolean
}

/**
 * The columns that fit into `width`, with their widths, in their order. Sentences are cut first.
 * Then columns are left out from the right, the minor ones first. The first column, which names the
 * row, stays whole.
 */
function fit(
  columns: readonly Measured[],
  width: number | null,
): { readonly at: number; readonly width: number }[] {
  const least = ({ natural, title, isSentence }: Measured, at: number) =>
    isSentence && at > 0 ? Math.max(title, Math.min(natural, leastSentence)) : natural
  const sum = (widths: readonly number[]) =>
    widths.reduce((a, b) => a + b, 0) + gap * (widths.length - 1)
  const kept = columns.map((_, at) => at)
  if (width !== null)
    while (kept.length > 1 && sum(kept.map((at) => least(columns[at]!, at))) > width) {
      const minor = kept.findLastIndex((at) => at > 0 && columns[at]!.minor)
      kept.splice(minor === -1 ? -1 : minor, 1)
    }
  const fitted = kept.map((at) => ({ at, width: columns[at]!.natural }))
  let over = width === null ? 0 : sum(fitted.map((f) => f.width)) - width
  while (over > 0) {
    const longest = fitted
      .filter((f) => f.width > least(columns[f.at]!, f.at))
      .toSorted((a, b) => b.width - a.width)[0]
    if (!longest) break
    longest.width--
    over--
  }
  return fitted
}

/**
 * An aligned table, one line per row, fitted to the terminal. Without rows: the sentence `empty`.
 */
export function table<T>(
  terminal: Terminal,
  rows: readonly T[],
  columns: readonly Column<T>[],
  empty: string,
): string {
  const { headers = true, wide = false } = terminal.layout ?? {}
  if (rows.length === 0) return headers ? `${empty}\n` : ''
  const cells = rows.map((row) => columns.map((c) => oneLine(c.text(row)) || '-'))
  const measured = columns.map(({ title, minor = false, right = false }, i): Measured => {
    const own = headers ? widthOf(title) : 0
    return {
      natural: cells.reduce((most, line) => Math.max(most, widthOf(line[i]!)), own),
      title: own,
      isSentence: !right && cells.some((line) => line[i]!.includes(' ')),
      minor,
    }
  })
  const fitted = fit(measured, wide ? null : terminal.columns)
  const line = (texts: readonly string[], painted: (text: string, i: number) => string) =>
    fitted
      .map(({ at, width }, place) => {
        const text = cut(texts[at]!, width)
        const space = ' '.repeat(width - widthOf(text))
        const shown = painted(text, at)
        if (columns[at]!.right) return space + shown
        return place === fitted.length - 1 ? shown : shown + space
      })
      .join(' '.repeat(gap))
      .trimEnd()
  const head = line(
    columns.map((c) => c.title),
    (text) => paint(terminal, 'bold', text),
  )
  const body = cells.map((texts, r) =>
    line(texts, (text, i) => {
      const colour = columns[i]!.colour?.(rows[r]!)
      return colour ? paint(terminal, colour, text) : text
    }),
  )
  const missing = columns.flatMap(({ title }, at) =>
    fitted.some((f) => f.at === at) ? [] : [title],
  )
  const note =
    missing.length > 0 ? [paint(terminal, 'dim', `Not shown: ${missing.join(', ')} (-o wide)`)] : []
  return `${[...(headers ? [head] : []), ...body, ...(headers ? note : [])].join('\n')}\n`
}

/** The fields of one object, one per line. Empty values are omitted. */
export function facts(
  terminal: Terminal,
  entries: readonly (readonly [name: string, value: string | number | null | undefined])[],
): string {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = shown.reduce((most, [name]) => Math.max(most, widthOf(name)), 0)
  return shown
    .map(
      ([name, value]) =>
        `${paint(terminal, 'bold', pad(name, width))}  ${oneLine(String(value))}\n`,
    )
    .join('')
}

/** "10 of 200", if the page doesn't show all items. */
export function shownOf(page: { items: readonly unknown[]; page: number; total: number }): string {
  return page.items.length < page.total
    ? `${page.items.length} of ${page.total} (page ${page.page})\n`
    : ''
}
