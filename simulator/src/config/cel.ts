import type { Disk } from '../fleet/hardware.ts'

/**
 * The part of the Common Expression Language that selects disks and members of arrays and volume
 * groups: comparisons, `&&`, `||`, `!`, `in`, `+ - * /`, lists, methods of texts, `glob`, and the
 * units of sizes (Talos: pkg/machinery/cel/celenv, DiskLocator, MemberVolumeLocator).
 */

type Value = string | number | boolean | readonly Value[]
type Variables = Readonly<Record<string, Value>>
type Expression = (variables: Variables) => Value

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

/** Fields of a volume, for members of arrays and volume groups. */
const EXAMPLE_MEMBER: Variables = {
  ...EXAMPLE,
  ...Object.fromEntries(
    'size sector_size io_size block_size filesystem_block_size probed_size partition_index offset'
      .split(' ')
      .map((name) => [`volume.${name}`, 0]),
  ),
  ...Object.fromEntries(
    'name uuid label partition_uuid partition_type partition_label type device_path parent dev_path parent_dev_path pretty_size'
      .split(' ')
      .map((name) => [`volume.${name}`, '']),
  ),
  volume_id: '',
}

/** Why an expression can't select disks, or members with `of`, or null. */
export const celProblem = (source: string, of: 'disk' | 'member' = 'disk'): string | null => {
  try {
    const example = of === 'disk' ? EXAMPLE : EXAMPLE_MEMBER
    const value = parse(source, example)(example)
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

/**
 * Whether an expression selects a whole disk, or a device that isn't hardware, of which only its
 * name and size are known, as a member.
 */
export const matcherOf = (
  source: string,
): ((device: Disk | Pick<Disk, 'name' | 'sizeBytes'>, volume: { name: string }) => boolean) => {
  const expression = parse(source, EXAMPLE_MEMBER)
  return (device, volume) => {
    const disk =
      'wwid' in device
        ? variablesOf(device)
        : { 'disk.size': device.sizeBytes, 'disk.dev_path': `/dev/${device.name}` }
    return (
      expression({
        ...EXAMPLE_MEMBER,
        ...disk,
        'volume.size': device.sizeBytes,
        'volume.name': volume.name,
        'volume.type': 'disk',
        'volume.dev_path': `/dev/${device.name}`,
      }) === true
    )
  }
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

/** Parses an expression over these variables. @throws Error if it isn't one */
const parse = (source: string, example: Variables = EXAMPLE): Expression => {
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
    if (Object.keys(example).some((key) => key.startsWith(`${name}.`)) && skip('.'))
      name = `${name}.${String(tokens[next++]?.value)}`
    if (!(name in example)) throw new Error(`undeclared reference to '${name}' (in container '')`)
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
