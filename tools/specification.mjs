// Reads docs/specification.md, which lists the statements of the specification with the tests that
// show them. `test.mjs` uses it, so it is plain JavaScript.

/** The cells of a table's line. `\|` is a character of a cell. */
const cellsOf = (line) =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
/** The texts in backticks. */
const codeIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code)
/** A test as a row names it: `file`: title. */
const testIn = (text) => {
  const [, file, title] = /^`([^`]+)`: (.+)$/.exec(text) ?? []
  return file === undefined ? [] : [{ file, title: title.replaceAll('\\|', '|') }]
}

/**
 * The rows of the register, in order: number, statement, places in the source, tests by file and
 * title, and whether there is a decision.
 */
export function registerRows(markdown) {
  return markdown
    .split('\n')
    .filter((line) => /^\| S\d{3} \|/.test(line))
    .map((line) => {
      const [number, statement, where = '', shown = ''] = cellsOf(line)
      const parts = shown.split('<br>')
      return {
        number,
        statement,
        where: codeIn(where),
        tests: parts.flatMap(testIn),
        isDecided: parts.some((part) => /^decision, §[\d.]+.*: “.+”$/.test(part)),
      }
    })
}

/**
 * Whether a test of a report is the named one. The name of a test with cases has `%s` where the
 * title has the case.
 */
const isNamed = (named, { file, title }) => {
  const [begin, ...rest] = named.title.split('%s')
  return (
    named.file === file &&
    (rest.length === 0
      ? named.title === title
      : title.startsWith(begin) && title.endsWith(rest.at(-1)))
  )
}

/**
 * Numbers of the register without a decision and without any named test among those that passed
 * (file and title).
 */
export const unshown = (rows, passed) =>
  rows
    .filter(
      ({ tests, isDecided }) =>
        !isDecided && !tests.some((named) => passed.some((test) => isNamed(named, test))),
    )
    .map(({ number }) => number)
