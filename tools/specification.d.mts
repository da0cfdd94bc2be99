interface NamedTest {
  readonly file: string
  readonly title: string
}
interface RegisterRow {
  readonly number: string
  readonly statement: string
  readonly where: readonly string[]
  readonly tests: readonly NamedTest[]
  readonly isDecided: boolean
}
export function registerRows(markdown: string): RegisterRow[]
export function unshown(rows: readonly RegisterRow[], passed: readonly NamedTest[]): string[]
