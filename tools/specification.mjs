// Reads docs/specification.md, which lists the statements of the specification with the tests that show them. `test.mjs` uses it, so it is plain JavaScript.

/** The cells of a table's line. `\|` is a character of a cell. */
const cellsOf = (line) =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
/** The texts in backticks. */
const codeIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code)

/** The rows of the register, in order: number, statement, places in the source, test files, and whether there is a decision. */
export function registerRows(markdown) {
  return markdown
    .split('\n')
    .filter((line) => /^\| S\d{3} \|/.test(line))
    .map((line) => {
      const [number, statement, where = '', shown = ''] = cellsOf(line)
      const [tests, decision] = shown.split('decision, §')
      return { number, statement, where: codeIn(where), tests: codeIn(tests), isDecided: decision !== undefined && /^[\d.]+.*: “.+”$/.test(decision) }
    })
}

/** The numbers of statements at the end of a test's title: `the breakpoints have the specified widths [S273]`. */
export function numbersIn(title) {
  const [, numbers] = /\[(S\d{3}(?:, S\d{3})*)\]$/.exec(title) ?? []
  return numbers === undefined ? [] : numbers.split(', ')
}

/** Numbers of the register without a decision and without a test among those with these titles. */
export function unshown(rows, titles) {
  const shown = new Set(titles.flatMap(numbersIn))
  return rows.filter(({ number, isDecided }) => !isDecided && !shown.has(number)).map(({ number }) => number)
}
