/**
 * The syntax of the Common Expression Language (cel-spec `doc/langdef.md`, cel-go
 * `parser/gen/CEL.g4`), without messages that are written out and optional values, which Talos's
 * selectors don't need.
 */

/** A value of an expression. Integers of both types are bigints, and doubles are numbers. */
export type CelValue =
  | bigint
  | number
  | string
  | boolean
  | null
  | Uint8Array
  | readonly CelValue[]
  | ReadonlyMap<CelValue, CelValue>

export type LiteralType = 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'bool' | 'null'

export type Tree =
  | { readonly is: 'literal'; readonly type: LiteralType; readonly value: CelValue }
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'select'; readonly of: Tree; readonly field: string; readonly isTest: boolean }
  | {
      readonly is: 'call'
      readonly name: string
      readonly isMember: boolean
      readonly values: readonly Tree[]
    }
  | {
      readonly is: 'each'
      readonly macro: 'all' | 'exists' | 'exists_one' | 'map' | 'filter'
      readonly range: Tree
      readonly item: string
      /** What `map` with three arguments keeps. */
      readonly where: Tree | null
      readonly body: Tree
    }
  | { readonly is: 'list'; readonly items: readonly Tree[] }
  | { readonly is: 'map'; readonly entries: readonly (readonly [key: Tree, value: Tree])[] }

type Token =
  | { readonly is: 'literal'; readonly type: LiteralType; readonly value: CelValue }
  | { readonly is: 'name' | 'sign' | 'end'; readonly value: string }

const TOKEN =
  /(?:(?<number>0x[0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?)|(?<prefix>[bB]?[rR]?)(?<text>"""[^]*?(?:(?<!\\)|(?<=\\\\))"""|'''[^]*?(?:(?<!\\)|(?<=\\\\))'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')|(?<name>[A-Za-z_]\w*)|(?<sign>&&|\|\||[=!<>]=|[-+*/%<>!()[\]{},.?:]))/y
const SPACE = /(?:[\t \r\n\f]|\/\/[^\n]*)*/y
const ESCAPE =
  /\\(?:(?<plain>[abfnrtv"'`?\\])|[xX](?<hex>[0-9a-fA-F]{2})|u(?<short>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8})|(?<octal>[0-3][0-7]{2})|(?<wrong>[^]))/g
const PLAIN: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

const wrong = (why: string): never => {
  throw new Error(`Syntax error: ${why}`)
}

const numberOf = (written: string): Token => {
  if (!written.startsWith('0x') && /[.eE]/.test(written))
    return { is: 'literal', type: 'double', value: Number(written) }
  const isUnsigned = /u$/i.test(written)
  const value = BigInt(isUnsigned ? written.slice(0, -1) : written)
  // One more than the largest int may follow a minus.
  if (value > (isUnsigned ? 2n ** 64n - 1n : 2n ** 63n))
    wrong(`invalid ${isUnsigned ? 'uint' : 'int'} literal`)
  return { is: 'literal', type: isUnsigned ? 'uint' : 'int', value }
}

const textOf = (prefix: string, quoted: string): Token => {
  const width = /^("""|''')/.test(quoted) ? 3 : 1
  const inner = quoted.slice(width, -width)
  const isBytes = /b/i.test(prefix)
  const bytes: number[] = []
  const put = (text: string) => bytes.push(...Buffer.from(text))
  let at = 0
  if (!/r/i.test(prefix))
    for (const match of inner.matchAll(ESCAPE)) {
      const { plain, hex, short, long, octal } = match.groups!
      put(inner.slice(at, match.index))
      at = match.index + match[0].length
      const code =
        hex || short || long ? parseInt((hex ?? short ?? long)!, 16) : parseInt(octal ?? '', 8)
      if (plain !== undefined) put(PLAIN[plain] ?? plain)
      else if (Number.isNaN(code) || code > 0x10ffff || (isBytes && (short ?? long)))
        wrong('unable to unescape string')
      else if (isBytes) bytes.push(code)
      else put(String.fromCodePoint(code))
    }
  put(inner.slice(at))
  const value = Uint8Array.from(bytes)
  return isBytes
    ? { is: 'literal', type: 'bytes', value }
    : { is: 'literal', type: 'string', value: new TextDecoder().decode(value) }
}

const tokensOf = (source: string): Token[] => {
  const tokens: Token[] = []
  for (let at = 0; ;) {
    SPACE.lastIndex = at
    at += SPACE.exec(source)![0].length
    if (at >= source.length) return [...tokens, { is: 'end', value: '<EOF>' }]
    TOKEN.lastIndex = at
    const match = TOKEN.exec(source) ?? wrong(`token recognition error at: '${source.slice(at)}'`)
    at += match[0].length
    const { number, prefix = '', text, name, sign = '' } = match.groups!
    if (number !== undefined) tokens.push(numberOf(number))
    else if (text !== undefined) tokens.push(textOf(prefix, text))
    else if (name === 'true' || name === 'false')
      tokens.push({ is: 'literal', type: 'bool', value: name === 'true' })
    else if (name === 'null') tokens.push({ is: 'literal', type: 'null', value: null })
    else if (name === 'in') tokens.push({ is: 'sign', value: 'in' })
    else if (name !== undefined) tokens.push({ is: 'name', value: name })
    else tokens.push({ is: 'sign', value: sign })
  }
}

const shown = (token: Token): string =>
  token.is === 'literal' ? `${token.type} literal` : token.value

/** Operators from the loosest to the tightest. */
const LEVELS = [
  ['||'],
  ['&&'],
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
]

/** Reads tokens into a tree. */
class Parser {
  private next = 0
  private readonly tokens: readonly Token[]

  constructor(source: string) {
    this.tokens = tokensOf(source)
  }

  whole(): Tree {
    const tree = this.expression()
    if (this.token.is !== 'end') wrong(`extraneous input '${shown(this.token)}'`)
    return tree
  }

  private get token(): Token {
    return this.tokens[this.next]!
  }

  private isSign(value: string): boolean {
    return this.token.is === 'sign' && this.token.value === value
  }

  private skip(value: string): boolean {
    return this.isSign(value) && ++this.next > 0
  }

  private expect(value: string): void {
    if (!this.skip(value)) wrong(`expecting '${value}' at '${shown(this.token)}'`)
  }

  private name(): string {
    const { token } = this
    if (token.is !== 'name') return wrong(`expecting a name at '${shown(token)}'`)
    this.next++
    return token.value
  }

  private expression(): Tree {
    const condition = this.level(0)
    if (!this.skip('?')) return condition
    const then = this.level(0)
    this.expect(':')
    return operation('?:', condition, then, this.expression())
  }

  private level(depth: number): Tree {
    const operators = LEVELS[depth]
    if (!operators) return this.unary()
    let left = this.level(depth + 1)
    for (;;) {
      const operator = operators.find((one) => this.skip(one))
      if (operator === undefined) return left
      left = operation(operator, left, this.level(depth + 1))
    }
  }

  private unary(): Tree {
    for (const sign of ['!', '-'] as const) {
      let count = 0
      while (this.isSign(sign) && !this.isNegative()) {
        this.next++
        count++
      }
      if (count === 0) continue
      const of = this.member()
      return count % 2 === 0 ? of : operation(sign === '!' ? '!_' : '-_', of)
    }
    return this.member()
  }

  /** Whether a minus and a number follow, which are one literal. */
  private isNegative(): boolean {
    const after = this.tokens[this.next + 1]
    return (
      this.isSign('-') &&
      after?.is === 'literal' &&
      (after.type === 'int' || after.type === 'double')
    )
  }

  private member(): Tree {
    let left = this.primary()
    for (;;) {
      if (this.skip('[')) {
        const index = this.expression()
        this.expect(']')
        left = operation('[]', left, index)
      } else if (this.skip('.')) {
        const field = this.name()
        left = this.skip('(')
          ? memberCall(left, field, this.list(')', false))
          : { is: 'select', of: left, field, isTest: false }
      } else return left
    }
  }

  private primary(): Tree {
    const isNegative = this.isNegative() && this.skip('-')
    const { token } = this
    if (token.is === 'literal') {
      this.next++
      const { type, value } = token
      if (isNegative) return { is: 'literal', type, value: -(value as bigint | number) as CelValue }
      if (type === 'int' && (value as bigint) > 2n ** 63n - 1n) wrong('invalid int literal')
      return { is: 'literal', type, value }
    }
    if (this.skip('(')) {
      const inner = this.expression()
      this.expect(')')
      return inner
    }
    if (this.skip('[')) return { is: 'list', items: this.list(']', true) }
    if (this.skip('{')) return { is: 'map', entries: this.entries() }
    if (token.is === 'end') wrong("mismatched input '<EOF>'")
    // A leading dot only says that the name isn't one of a container.
    this.skip('.')
    const name = this.name()
    if (RESERVED.has(name)) wrong(`reserved identifier: ${name}`)
    if (!this.skip('(')) return { is: 'name', name }
    const values = this.list(')', false)
    const [first] = values
    if (name !== 'has' || values.length !== 1) return { is: 'call', name, isMember: false, values }
    return first?.is === 'select'
      ? { ...first, isTest: true }
      : wrong('invalid argument to has() macro')
  }

  private list(end: string, mayTrail: boolean): Tree[] {
    const items: Tree[] = []
    if (this.skip(end)) return items
    do {
      if (mayTrail && items.length > 0 && this.isSign(end)) break
      items.push(this.expression())
    } while (this.skip(','))
    this.expect(end)
    return items
  }

  private entries(): [Tree, Tree][] {
    const entries: [Tree, Tree][] = []
    while (!this.skip('}')) {
      const key = this.expression()
      this.expect(':')
      entries.push([key, this.expression()])
      if (!this.skip(',')) {
        this.expect('}')
        break
      }
    }
    return entries
  }
}

const operation = (name: string, ...values: Tree[]): Tree => ({
  is: 'call',
  name,
  isMember: false,
  values,
})

/** A call of a method, or a macro over a list or a map. */
const memberCall = (of: Tree, macro: string, values: readonly Tree[]): Tree => {
  const hasWhere = macro === 'map' && values.length === 3
  if (!MACROS.has(macro) || !(values.length === 2 || hasWhere))
    return { is: 'call', name: macro, isMember: true, values: [of, ...values] }
  const [item] = values
  if (item?.is !== 'name') return wrong('argument must be a simple name')
  return {
    is: 'each',
    macro: macro as 'all',
    range: of,
    item: item.name,
    where: hasWhere ? values[1]! : null,
    body: values.at(-1)!,
  }
}

/** The syntax tree of an expression. @throws Error with the mistake */
export const parse = (source: string): Tree => new Parser(source).whole()
