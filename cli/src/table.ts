import { type Colour, paint, type Terminal } from './terminal.ts'
import { cut, oneLine, pad, widthOf } from './text.ts'

export interface Column<T> {
  readonly title: string
  readonly text: (row: T) => string
  readonly colour?: (row: T) => Colour | null
  /** Aligns to the right, for numbers. */
  readonly right?: boolean
}

const gap = 2
const least = 6

/**
 * Column widths that fit the terminal. The widest column shrinks first; no column gets narrower
 * than `least` or its title. A line that is still too long wraps, because dropping a column would
 * hide data.
 */
export function fit(
  widths: readonly number[],
  titles: readonly number[],
  columns: number | null,
): number[] {
  const fitted = [...widths]
  if (columns === null) return fitted
  const floor = (i: number) => Math.max(least, titles[i]!)
  let over = fitted.reduce((a, b) => a + b, 0) + gap * (fitted.length - 1) - columns
  while (over > 0) {
    let at = -1
    for (let i = 0; i < fitted.length; i++)
      if (fitted[i]! > floor(i) && (at < 0 || fitted[i]! > fitted[at]!)) at = i
    if (at < 0) break
    fitted[at]!--
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
  if (rows.length === 0) return `${empty}\n`
  const cells = rows.map((row) => columns.map((c) => oneLine(c.text(row)) || '-'))
  const titles = columns.map((c) => widthOf(c.title))
  const widths = fit(
    columns.map((_, i) =>
      cells.reduce((most, line) => Math.max(most, widthOf(line[i]!)), titles[i]!),
    ),
    titles,
    terminal.columns,
  )
  const line = (texts: readonly string[], painted: (text: string, i: number) => string) =>
    texts
      .map((text, i) => {
        const fitted = cut(text, widths[i]!)
        const space = ' '.repeat(widths[i]! - widthOf(fitted))
        const shown = painted(fitted, i)
        if (columns[i]!.right) return space + shown
        return i === texts.length - 1 ? shown : shown + space
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
  return `${[head, ...body].join('\n')}\n`
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
