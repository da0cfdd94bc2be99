/** The value of a checked expression (cel-go `interpreter`, `common/types`). */
import type { CelValue, Tree } from './syntax.ts'
import { UNITS } from './types.ts'

/** The fields of a message. */
export type Facts = Readonly<Record<string, CelValue>>
/** Values of variables: those of a message by field, others as they are. */
export type Variables = Readonly<Record<string, Value>>
type Value = CelValue | Facts

const isMap = (value: Value): value is ReadonlyMap<CelValue, CelValue> => value instanceof Map
const isBytes = (value: Value): value is Uint8Array => value instanceof Uint8Array
const isFacts = (value: Value): value is Facts =>
  typeof value === 'object' &&
  value !== null &&
  !isMap(value) &&
  !isBytes(value) &&
  !Array.isArray(value)

const noOverload = (): never => {
  throw new Error('no such overload')
}
const text = (value: Value): string => (typeof value === 'string' ? value : noOverload())
const bool = (value: Value): boolean => (typeof value === 'boolean' ? value : noOverload())

/** The order of two values of one type. Numbers of several types are compared by what they are. */
const order = (one: Value, other: Value): number => {
  if (isBytes(one) && isBytes(other)) return Buffer.compare(one, other)
  const isNumber = (value: Value) => typeof value === 'bigint' || typeof value === 'number'
  if (!(isNumber(one) && isNumber(other)) && typeof one !== typeof other) return noOverload()
  if (typeof one === 'object' || typeof other === 'object') return noOverload()
  if (typeof one === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(text(other)))
  return one < other ? -1 : one > other ? 1 : 0
}

const isEqual = (one: Value, other: Value): boolean => {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, i) => isEqual(item, other[i]))
  if (isMap(one) && isMap(other))
    return (
      one.size === other.size &&
      [...one].every(([key, value]) => other.has(key) && isEqual(value, other.get(key)!))
    )
  if (isBytes(one) || typeof one !== 'object')
    try {
      return order(one, other) === 0
    } catch {
      return false
    }
  return one === other
}

/** The least int and the largest uint. */
const INT: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 64n - 1n]
const calculated = (name: string, left: Value, right: Value): CelValue => {
  if (name === '+') {
    if (typeof left === 'string') return left + text(right)
    if (isBytes(left) && isBytes(right)) return Buffer.concat([left, right])
    if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right] as CelValue[]
  }
  if (typeof left === 'number' && typeof right === 'number')
    return name === '+'
      ? left + right
      : name === '-'
        ? left - right
        : name === '*'
          ? left * right
          : left / right
  if (typeof left !== 'bigint' || typeof right !== 'bigint') return noOverload()
  if ((name === '/' || name === '%') && right === 0n) throw new Error('division by zero')
  const result =
    name === '+'
      ? left + right
      : name === '-'
        ? left - right
        : name === '*'
          ? left * right
          : name === '/'
            ? left / right
            : left % right
  if (result < INT[0] || result > INT[1]) throw new Error('integer overflow')
  return result
}

const size = (value: Value): bigint =>
  typeof value === 'string'
    ? BigInt(Array.from(value).length)
    : isMap(value)
      ? BigInt(value.size)
      : isBytes(value) || Array.isArray(value)
        ? BigInt(value.length)
        : noOverload()

const at = (of: Value, key: Value): CelValue => {
  const found = isMap(of)
    ? [...of].find(([one]) => isEqual(one, key))?.[1]
    : Array.isArray(of)
      ? (of as readonly CelValue[])[Number(key)]
      : isFacts(of)
        ? of[text(key)]
        : undefined
  if (found === undefined) throw new Error('no such key')
  return found
}

/** Only `*` is special (github.com/ryanuber/go-glob). */
const glob = (pattern: string, subject: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*')}$`,
    's',
  ).test(subject)

/** A number that is written in a text, as Go reads it. */
const written = (value: string, isInt: boolean): string =>
  (isInt ? /^[+-]?\d+$/ : /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/).test(value)
    ? value
    : noOverload()
const whole = (value: Value): bigint =>
  typeof value === 'bigint'
    ? value
    : BigInt(typeof value === 'number' ? Math.trunc(value) : written(text(value), true))
const truths: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'true', 'TRUE', 'True'].map((one) => [one, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'false', 'FALSE', 'False'].map((one) => [one, false])),
}

const converted: Readonly<Record<string, (value: Value) => CelValue>> = {
  bool: (value) => (typeof value === 'string' ? (truths[value] ?? noOverload()) : bool(value)),
  bytes: (value) => (isBytes(value) ? value : Buffer.from(text(value))),
  double: (value) => Number(typeof value === 'string' ? written(value, false) : value),
  int: whole,
  uint: (value) => (whole(value) < 0n ? noOverload() : whole(value)),
  string: (value) => {
    if (isBytes(value)) return new TextDecoder().decode(value)
    return typeof value === 'object' ? noOverload() : String(value)
  },
  dyn: (value) => value as CelValue,
  type: () => {
    throw new Error("the simulator doesn't evaluate type()")
  },
  size,
  mac: (value) =>
    isBytes(value)
      ? (Buffer.from(value).toString('hex').match(/../g) ?? []).join(':')
      : noOverload(),
}

const functions: Readonly<Record<string, (one: string, other: string) => boolean>> = {
  glob,
  contains: (one, other) => one.includes(other),
  startsWith: (one, other) => one.startsWith(other),
  endsWith: (one, other) => one.endsWith(other),
  matches: (one, other) => new RegExp(other, 'u').test(one),
}

/** Either side alone decides `&&` and `||`, also if the other fails. */
const decided = (by: boolean, sides: readonly (() => boolean)[]): boolean => {
  let failed: unknown
  for (const side of sides)
    try {
      if (side() === by) return by
    } catch (cause) {
      failed = cause
    }
  if (failed !== undefined) throw failed
  return !by
}

const ordered: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (is) => is < 0,
  '<=': (is) => is <= 0,
  '>': (is) => is > 0,
  '>=': (is) => is >= 0,
}

const call = (name: string, values: readonly Tree[], variables: Variables): Value => {
  const value = (index: number): Value => evaluate(values[index]!, variables)
  if (name === '&&' || name === '||')
    return decided(
      name === '||',
      values.map((_, index) => () => bool(value(index))),
    )
  if (name === '?:') return bool(value(0)) ? value(1) : value(2)
  if (name === '!_') return !bool(value(0))
  if (name === '-_') return -(value(0) as bigint | number)
  if (name in converted) return converted[name]!(value(0))
  const [left, right] = [value(0), value(1)]
  if (name === '==') return isEqual(left, right)
  if (name === '!=') return !isEqual(left, right)
  if (name === '[]') return at(left, right)
  if (name === 'in')
    return (isMap(right) ? [...right.keys()] : (right as readonly CelValue[])).some((one) =>
      isEqual(one, left),
    )
  if (name in ordered) return ordered[name]!(order(left, right))
  if (name in functions) return functions[name]!(text(left), text(right))
  return calculated(name, left, right)
}

const each = (tree: Tree & { is: 'each' }, variables: Variables): Value => {
  const range = evaluate(tree.range, variables)
  const items = isMap(range) ? [...range.keys()] : (range as readonly CelValue[])
  const within = (one: Tree, item: CelValue) => evaluate(one, { ...variables, [tree.item]: item })
  const { where, body } = tree
  const holds = items.map((item) => () => bool(within(body, item)))
  if (tree.macro === 'exists') return decided(true, holds)
  if (tree.macro === 'all') return decided(false, holds)
  if (tree.macro === 'exists_one') return holds.filter((one) => one()).length === 1
  if (tree.macro === 'filter') return items.filter((_, index) => holds[index]!())
  return items
    .filter((item) => where === null || bool(within(where, item)))
    .map((item) => within(body, item) as CelValue)
}

/**
 * The value of an expression.
 *
 * @throws Error where Talos fails, for instance at a division by zero
 */
export const evaluate = (tree: Tree, variables: Variables): Value => {
  switch (tree.is) {
    case 'literal':
      return tree.value
    case 'name':
      return variables[tree.name] ?? UNITS.get(tree.name) ?? tree.name
    case 'select': {
      const of = evaluate(tree.of, variables)
      if (!tree.isTest) return at(of, tree.field)
      if (isMap(of)) return of.has(tree.field)
      // A field of a message is there if it isn't zero.
      const value = at(of, tree.field)
      return Array.isArray(value) || isBytes(value) ? value.length > 0 : Boolean(value)
    }
    case 'list':
      return tree.items.map((item) => evaluate(item, variables) as CelValue)
    case 'map':
      return new Map(
        tree.entries.map(
          (entry) => entry.map((one) => evaluate(one, variables)) as [CelValue, CelValue],
        ),
      )
    case 'each':
      return each(tree, variables)
    default:
      return call(tree.name, tree.values, variables)
  }
}
