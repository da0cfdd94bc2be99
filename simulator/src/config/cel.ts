import type { Disk } from '../fleet/hardware.ts'

/**
 * The part of the Common Expression Language that selects disks: comparisons, `&&`, `||`, `!`, `in`,
 * `+ - * /`, lists, methods of texts, `glob`, and the units of sizes (Talos:
 * pkg/machinery/cel/celenv, DiskLocator).
 */

type Value = string | number | boolean | readonly Value[]
type Variables = Readonly<Record<string, Value>>
type Expression = (variables: Variables) => Value

const DISK = 'disk.'
/** Fields of a disk, each with a value of its type. */
const EXAMPLE: Variables = {
  'disk.size': 0,
  'disk.io_size': 0,
  'disk.sector_size': 0,
  'disk.readonly': false,
  'disk.model': '',
  'disk.serial': '',
  'disk.modalias': '',
  'disk.wwid': '',
  'disk.bus_path': '',
  'disk.sub_system': '',
  'disk.transport': '',
  'disk.rotational': false,
  'disk.cdrom': false,
  'disk.dev_path': '',
  'disk.pretty_size': '',
  'disk.secondary_disks': [],
  'disk.uuid': '',
  'disk.symlinks': [],
  system_disk: false,
  ...Object.fromEntries(
    ['k', 'M', 'G', 'T', 'P', 'E'].flatMap((unit, index) => [
      [`${unit}B`, 1000 ** (index + 1)],
      [`${unit === 'k' ? 'K' : unit}iB`, 1024 ** (index + 1)],
    ]),
  ),
}

/** Why an expression can't select disks, or null. */
export const celProblem = (source: string): string | null => {
  try {
    const value = parse(source)(EXAMPLE)
    return typeof value === 'boolean'
      ? null
      : `expression output type is ${Array.isArray(value) ? 'list' : typeof value}, expected bool`
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/** The disks that an expression selects, in their order. */
export const matchingDisks = (source: string, disks: readonly Disk[]): Disk[] => {
  const expression = parse(source)
  return disks.filter((disk) => expression(variablesOf(disk)) === true)
}

const variablesOf = (disk: Disk): Variables => ({
  ...EXAMPLE,
  'disk.size': disk.sizeBytes,
  'disk.sector_size': 512,
  'disk.io_size': 512,
  'disk.readonly': disk.readonly,
  'disk.model': disk.model,
  'disk.serial': disk.serial,
  'disk.wwid': disk.wwid,
  'disk.bus_path': disk.busPath,
  'disk.transport': disk.transport,
  'disk.rotational': disk.rotational,
  'disk.dev_path': `/dev/${disk.name}`,
  'disk.symlinks':
    disk.wwid === '' ? [] : [`/dev/disk/by-id/wwn-0x${disk.wwid.split('.')[1] ?? ''}`],
})

const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?)u?|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([A-Za-z_][A-Za-z0-9_]*)|(&&|\|\||[=!<>]=|[-+*/<>!()[\],.]))/y

type Token = { is: 'number'; value: number } | { is: 'text' | 'name' | 'sign'; value: string }

const tokensOf = (source: string): Token[] => {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  const end = source.trimEnd().length
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(source)
    if (!match) throw new Error(`Syntax error: token recognition error at: '${source.slice(at)}'`)
    const [, number, double, single, name, sign] = match
    if (number !== undefined) tokens.push({ is: 'number', value: Number(number) })
    else if (name !== undefined) tokens.push({ is: 'name', value: name })
    else if (sign !== undefined) tokens.push({ is: 'sign', value: sign })
    else
      tokens.push({
        is: 'text',
        value: (double ?? single ?? '').replaceAll(/\\(.)/g, (_, letter: string) => letter),
      })
  }
  return tokens
}

/** Parses an expression. @throws Error if it isn't one */
const parse = (source: string): Expression => {
  const tokens = tokensOf(source)
  let next = 0
  const isSign = (value: string): boolean =>
    tokens[next]?.is === 'sign' && tokens[next]!.value === value
  const skip = (value: string): boolean => isSign(value) && ++next > 0
  const expect = (value: string): void => {
    if (!skip(value))
      throw new Error(
        `Syntax error: expecting '${value}' at '${String(tokens[next]?.value ?? '')}'`,
      )
  }
  /** Operators of one level, left to right. */
  const level =
    (below: () => Expression, operators: Readonly<Record<string, Operator>>) => (): Expression => {
      let left = below()
      for (;;) {
        const token = tokens[next]
        const operator =
          token?.is === 'sign' || token?.is === 'name' ? operators[token.value] : undefined
        if (!operator) return left
        next++
        const [before, after] = [left, below()]
        left = (variables) => operator(before(variables), () => after(variables))
      }
    }
  const list = (end: string): Expression[] => {
    const items: Expression[] = []
    if (skip(end)) return items
    do items.push(whole())
    while (skip(','))
    expect(end)
    return items
  }
  const primary = (): Expression => {
    const token = tokens[next++]
    if (token === undefined) throw new Error("Syntax error: mismatched input '<EOF>'")
    if (token.is === 'number' || token.is === 'text') return () => token.value
    if (token.is === 'sign') {
      if (token.value === '(') {
        const inner = whole()
        expect(')')
        return inner
      }
      if (token.value === '[') {
        const items = list(']')
        return (variables) => items.map((item) => item(variables))
      }
      throw new Error(`Syntax error: extraneous input '${token.value}'`)
    }
    if (token.value === 'true' || token.value === 'false') return () => token.value === 'true'
    if (skip('(')) return call(token.value, list(')'))
    let name = token.value
    if (name === 'disk' && skip('.')) name = `${DISK}${String(tokens[next++]?.value)}`
    if (!(name in EXAMPLE)) throw new Error(`undeclared reference to '${name}' (in container '')`)
    return (variables) => variables[name]!
  }
  const postfix = (): Expression => {
    let left = primary()
    while (skip('.')) {
      const name = String(tokens[next++]?.value)
      expect('(')
      left = call(name, [left, ...list(')')])
    }
    return left
  }
  const unary = (): Expression => {
    if (skip('!')) {
      const of = unary()
      return (variables) => !bool(of(variables))
    }
    if (skip('-')) {
      const of = unary()
      return (variables) => -number(of(variables))
    }
    return postfix()
  }
  const product = level(unary, { '*': (a, b) => number(a) * number(b()), '/': divided })
  const sum = level(product, { '+': added, '-': (a, b) => number(a) - number(b()) })
  const relation = level(sum, RELATIONS)
  const both = level(relation, { '&&': (a, b) => bool(a) && bool(b()) })
  const whole: () => Expression = level(both, { '||': (a, b) => bool(a) || bool(b()) })
  const expression = whole()
  if (next < tokens.length)
    throw new Error(`Syntax error: extraneous input '${String(tokens[next]!.value)}'`)
  return expression
}

type Operator = (left: Value, right: () => Value) => Value

const noOverload = (): never => {
  throw new Error('found no matching overload')
}
const bool = (value: Value): boolean => (typeof value === 'boolean' ? value : noOverload())
const number = (value: Value): number => (typeof value === 'number' ? value : noOverload())
const string = (value: Value): string => (typeof value === 'string' ? value : noOverload())

const divided: Operator = (a, b) => Math.trunc(number(a) / number(b()))
const added: Operator = (a, b) => {
  const right = b()
  return typeof a === 'string' ? a + string(right) : number(a) + number(right)
}

/** Compares two values of one type. */
const compared =
  (is: (order: number) => boolean): Operator =>
  (a, b) => {
    const right = b()
    if (typeof a !== typeof right || typeof a === 'object') return noOverload()
    return is(a < right ? -1 : a > right ? 1 : 0)
  }

const RELATIONS: Readonly<Record<string, Operator>> = {
  '==': compared((order) => order === 0),
  '!=': compared((order) => order !== 0),
  '<': compared((order) => order < 0),
  '<=': compared((order) => order <= 0),
  '>': compared((order) => order > 0),
  '>=': compared((order) => order >= 0),
  in: (a, b) => {
    const right = b()
    return Array.isArray(right) ? right.includes(a) : noOverload()
  },
}

const glob = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*')}$`,
  ).test(text)

const FUNCTIONS: Readonly<Record<string, (...values: readonly Value[]) => Value>> = {
  glob: (pattern, text) => glob(string(pattern), string(text)),
  startsWith: (text, part) => string(text).startsWith(string(part)),
  endsWith: (text, part) => string(text).endsWith(string(part)),
  contains: (text, part) => string(text).includes(string(part)),
  matches: (text, pattern) => new RegExp(string(pattern)).test(string(text)),
  lowerAscii: (text) => string(text).toLowerCase(),
  size: (of) => (typeof of === 'string' || Array.isArray(of) ? of.length : noOverload()),
}

const call = (name: string, values: readonly Expression[]): Expression => {
  const own = FUNCTIONS[name]
  if (!own) throw new Error(`undeclared reference to '${name}' (in container '')`)
  return (variables) => own(...values.map((value) => value(variables)))
}
