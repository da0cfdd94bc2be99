/** Whether a text is TOML. */
import { parse, TomlError, type TomlValue } from 'smol-toml'

/**
 * Levels of lists and tables in a value. go-toml v2, which Talos merges the parts with
 * (`internal/pkg/toml/merge.go`), reads 10,000, which no configuration of containerd needs.
 */
const maxDepth = 100

const most = 2n ** 63n

/** An integer that doesn't fit in 64 bits: go-toml refuses the text. */
function tooLarge(value: TomlValue): bigint | undefined {
  if (typeof value === 'bigint') return value >= most || value < -most ? value : undefined
  if (typeof value !== 'object' || value instanceof Date) return undefined
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = tooLarge(inner)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The first mistake in a text of TOML, with its line. The text itself isn't quoted, because it may
 * have passwords of registries in it. Null if nothing is wrong.
 */
export function tomlProblem(text: string): string | null {
  if (text.startsWith('\u{FEFF}')) return 'it begins with a byte order mark (U+FEFF)'
  try {
    // Integers have 64 bits in TOML, more than a number can hold.
    const number = tooLarge(parse(text, { integersAsBigInt: true, maxDepth }))
    return number === undefined ? null : `the number ${number} does not fit in 64 bits`
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [what = ''] = error.message.split('\n', 1)
    return `line ${error.line}, column ${error.column}: ${what.replace('Invalid TOML document: ', '')}`
  }
}
