/**
 * Templates of `-o jsonpath=…`, in the syntax that kubectl documents
 * (https://kubernetes.io/docs/reference/kubectl/jsonpath/): text, `{"\n"}`, `{range …}{end}`, and
 * paths of fields, indexes, slices, `*`, `..`, unions and filters. Written here, because the
 * libraries for JSONPath read RFC 9535, which has neither text nor ranges.
 */
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

/** Selects values below a value. `root`: the whole object, which `$` names. */
type Step = (value: unknown, root: unknown) => unknown[]
type Path = readonly Step[]
type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'range'; readonly path: Path; readonly parts: readonly Part[] }

const refuse = (why: string, at: string): CliError =>
  new CliError(
    'usage',
    `The jsonpath template can't be read: ${why}, at ${oneLine(at.slice(0, 40)) || 'its end'}`,
    {
      hint: "Such as -o jsonpath='{.items[*].name}'; docs/cli.md has the syntax",
    },
  )

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const fieldOf = (value: unknown, name: string): unknown[] =>
  isObject(value) && Object.hasOwn(value, name) ? [value[name]] : []
const childrenOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []
const descendantsOf = (value: unknown): unknown[] => [
  value,
  ...childrenOf(value).flatMap(descendantsOf),
]
const select = (path: Path, value: unknown, root: unknown): unknown[] =>
  path.reduce((found, step) => found.flatMap((v) => step(v, root)), [value])

/** Reads a template from left to right. */
class Reader {
  readonly #text: string
  #at = 0
  constructor(text: string) {
    this.#text = text
  }
  get rest(): string {
    return this.#text.slice(this.#at)
  }
  get isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }
  /** Steps over `word` if it is next. */
  skips(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }
  spaces(): void {
    while (this.skips(' '));
  }
  demand(word: string): void {
    if (!this.skips(word)) throw refuse(`${word} is missing`, this.rest)
  }
  /** The characters up to one of `ends`; a backslash takes the next character as it is. */
  until(ends: string): string {
    let read = ''
    for (; !this.isAtEnd && !ends.includes(this.#text[this.#at]!); this.#at++) {
      if (this.#text[this.#at] === '\\') this.#at++
      read += this.#text[this.#at] ?? ''
    }
    return read
  }
  /** A text in quotes, with the escapes of kubectl. Null if there is none. */
  quoted(): string | null {
    const quote = this.#text[this.#at]
    if (quote !== '"' && quote !== "'") return null
    const from = this.rest
    let read = ''
    for (this.#at++; !this.isAtEnd; this.#at++) {
      const char = this.#text[this.#at]!
      if (char === quote) {
        this.#at++
        return read
      }
      if (char !== '\\') {
        read += char
        continue
      }
      const next = this.#text[++this.#at] ?? ''
      read += { n: '\n', t: '\t', r: '\r' }[next] ?? next
    }
    throw refuse('a quote has no end', from)
  }
}

const fieldEnds = '.[]{}()<>=! ,"\''

/** The item of a list; a negative index counts from the end. */
function itemAt(list: unknown, index: number): unknown[] {
  const item: unknown = Array.isArray(list) ? list.at(index) : undefined
  return item === undefined ? [] : [item]
}

/** An index or a slice of a list: `0`, `-1`, `1:3`, `::2`. */
function indexStep(text: string): Step {
  const parts = text.split(':')
  if (parts.length > 3 || parts.some((p) => !/^-?\d{0,9}$/.test(p)) || text === '' || text === '-')
    throw refuse('an index is a number such as 0 or -1, or a slice such as 1:3', text)
  if (parts.length === 1) return (value) => itemAt(value, Number(text))
  const [from, to, by] = parts.map((p) => (p === '' ? undefined : Number(p)))
  if (by !== undefined && by < 1) throw refuse('a slice steps forward', text)
  return (value) =>
    Array.isArray(value) ? value.slice(from, to).filter((_, i) => i % (by ?? 1) === 0) : []
}

/** One of the alternatives in brackets. */
function bracketStep(reader: Reader): Step {
  reader.spaces()
  if (reader.skips('*')) return childrenOf
  const name = reader.quoted()
  if (name !== null) return (value) => fieldOf(value, name)
  return indexStep(reader.until('],').trim())
}

/** Numbers are compared with numbers, texts with texts; anything else has no order. */
function order(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  return Number.NaN
}
const operators: Readonly<Record<string, (a: unknown, b: unknown) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<=': (a, b) => order(a, b) <= 0,
  '>=': (a, b) => order(a, b) >= 0,
  '<': (a, b) => order(a, b) < 0,
  '>': (a, b) => order(a, b) > 0,
}

/** One side of a comparison: a path, or a value. Null: a path that finds nothing. */
function operand(reader: Reader): (value: unknown, root: unknown) => unknown[] {
  reader.spaces()
  const text = reader.quoted()
  if (text !== null) return () => [text]
  if (/^[@$.]/.test(reader.rest)) {
    const path = pathIn(reader)
    return (value, root) => select(path, value, root)
  }
  const word = reader.until(') <>=!')
  const known: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }
  if (Object.hasOwn(known, word)) return () => [known[word]]
  if (!/^-?\d{1,15}(?:\.\d{1,9})?$/.test(word))
    throw refuse('a filter compares with a text in quotes, a number, true, false or null', word)
  return () => [Number(word)]
}

/** `?(@.status=="ready")`, `?(@.reason)`. */
function filterStep(reader: Reader): Step {
  const left = operand(reader)
  reader.spaces()
  const sign = Object.keys(operators).find((word) => reader.skips(word))
  const right = sign === undefined ? null : operand(reader)
  reader.spaces()
  reader.demand(')')
  return (list, root) =>
    childrenOf(list).filter((value) => {
      const found = left(value, root)
      if (right === null) return found.length > 0
      return found.length > 0 && operators[sign!]!(found[0], right(value, root)[0])
    })
}

function pathIn(reader: Reader): Path {
  const steps: Step[] = []
  if (reader.skips('$')) steps.push((_value, root) => [root])
  else reader.skips('@')
  for (;;) {
    if (reader.skips('..')) {
      const name = reader.until(fieldEnds)
      if (name === '' && !reader.rest.startsWith('[')) throw refuse('.. needs a name', reader.rest)
      steps.push(descendantsOf)
      if (name === '*') steps.push(childrenOf)
      else if (name !== '') steps.push((value) => fieldOf(value, name))
    } else if (reader.skips('.')) {
      const name = reader.until(fieldEnds)
      if (name === '*') steps.push(childrenOf)
      else if (name !== '') steps.push((value) => fieldOf(value, name))
    } else if (reader.skips('[?(')) {
      steps.push(filterStep(reader))
      reader.demand(']')
    } else if (reader.skips('[')) {
      const either: Step[] = []
      do either.push(bracketStep(reader))
      while (reader.skips(','))
      reader.demand(']')
      steps.push((value, root) => either.flatMap((step) => step(value, root)))
    } else return steps
  }
}

/** The parts up to the end, or up to the `{end}` of a range. */
function partsIn(reader: Reader, isRange: boolean): Part[] {
  const parts: Part[] = []
  while (!reader.isAtEnd) {
    if (!reader.skips('{')) {
      parts.push({ kind: 'text', text: reader.until('{') })
      continue
    }
    reader.spaces()
    const text = reader.quoted()
    if (text !== null) parts.push({ kind: 'text', text })
    else if (/^end *\}/.test(reader.rest)) {
      if (!isRange) throw refuse('{end} has no {range}', reader.rest)
      reader.until('}')
      reader.demand('}')
      return parts
    } else if (reader.skips('range ')) {
      reader.spaces()
      const path = pathIn(reader)
      reader.spaces()
      reader.demand('}')
      parts.push({ kind: 'range', path, parts: partsIn(reader, true) })
      continue
    } else if (/^[.$@[]/.test(reader.rest)) parts.push({ kind: 'path', path: pathIn(reader) })
    else throw refuse('a path begins with a dot', reader.rest)
    reader.spaces()
    reader.demand('}')
  }
  if (isRange) throw refuse('{range} has no {end}', '')
  return parts
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

const write = (parts: readonly Part[], value: unknown, root: unknown): string =>
  parts
    .map((part) => {
      if (part.kind === 'text') return part.text
      const found = select(part.path, value, root)
      return part.kind === 'path'
        ? found.map(shown).join(' ')
        : found.map((each) => write(part.parts, each, root)).join('')
    })
    .join('')

/**
 * A function that writes a value by a template. Fields that the value lacks write nothing, as in
 * kubectl. Throws CliError `usage` if the template can't be read.
 */
export function jsonpath(template: string): (value: unknown) => string {
  // A path alone needs no braces.
  const parts = partsIn(new Reader(/^[.$[]/.test(template) ? `{${template}}` : template), false)
  return (value) => write(parts, value, value)
}
