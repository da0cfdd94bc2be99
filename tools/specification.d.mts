interface RegisterRow {
  number: string
  statement: string
  where: string[]
  tests: string[]
  isDecided: boolean
}
export function registerRows(markdown: string): RegisterRow[]
export function numbersIn(title: string): string[]
export function unshown(rows: readonly RegisterRow[], titles: readonly string[]): string[]
