/**
 * The functions and operators of CEL's standard library (cel-go `common/stdlib/standard.go`) and of
 * its optional values (`cel/library.go`), without comparisons of numbers of two types, which are
 * off in Talos's environments (`checker/env.go`).
 */
import { type CelType, split, typeOf } from './types.ts'

export interface Signature {
  readonly isMember: boolean
  readonly types: readonly CelType[]
  readonly result: CelType
}

export type Signatures = ReadonlyMap<string, readonly Signature[]>

/** Signatures by name, from lines such as `string.contains(string): bool`. */
export function signaturesOf(lines: readonly string[]): Signatures {
  const found = new Map<string, Signature[]>()
  for (const line of lines) {
    const [begin, end] = [line.indexOf('('), line.lastIndexOf('): ')]
    const [left, args] = [line.slice(0, begin), line.slice(begin + 1, end)]
    const result = line.slice(end + '): '.length)
    const at = left.startsWith('optional.') ? -1 : left.lastIndexOf('.')
    const name = left.slice(at + 1)
    const types = [...(at < 0 ? [] : [left.slice(0, at)]), ...split(args)].map(typeOf)
    const signature = { isMember: at >= 0, types, result: typeOf(result) }
    found.set(name, [...(found.get(name) ?? []), signature])
  }
  return found
}

const each = (names: string, line: (name: string) => string): string[] => names.split(' ').map(line)
const numbers = 'int uint double'

export const standardLines: readonly string[] = [
  '?:(bool, A, A): A',
  '!_(bool): bool',
  ...each('int double', (type) => `-_(${type}): ${type}`),
  ...each('== !=', (operator) => `${operator}(A, A): bool`),
  ...['<', '<=', '>', '>='].flatMap((operator) =>
    each(
      'bool int uint double string bytes timestamp duration',
      (type) => `${operator}(${type}, ${type}): bool`,
    ),
  ),
  ...each(`bytes string ${numbers} duration list<A>`, (type) => `+(${type}, ${type}): ${type}`),
  '+(duration, timestamp): timestamp',
  '+(timestamp, duration): timestamp',
  ...each(`${numbers} duration`, (type) => `-(${type}, ${type}): ${type}`),
  '-(timestamp, duration): timestamp',
  '-(timestamp, timestamp): duration',
  ...each(numbers, (type) => `*(${type}, ${type}): ${type}`),
  ...each(numbers, (type) => `/(${type}, ${type}): ${type}`),
  ...each('int uint', (type) => `%(${type}, ${type}): ${type}`),
  '[](list<A>, int): A',
  '[](map<A, B>, A): B',
  'in(A, list<A>): bool',
  'in(A, map<A, B>): bool',
  ...['bytes', 'list<A>', 'map<A, B>', 'string'].flatMap((type) => [
    `size(${type}): int`,
    `${type}.size(): int`,
  ]),
  'type(A): type<A>',
  ...each('bool string', (type) => `bool(${type}): bool`),
  ...each('bytes string', (type) => `bytes(${type}): bytes`),
  ...each(`${numbers} string`, (type) => `double(${type}): double`),
  ...each('duration string', (type) => `duration(${type}): duration`),
  'dyn(A): dyn',
  ...each(`${numbers} duration string timestamp`, (type) => `int(${type}): int`),
  ...each(`bool bytes ${numbers} duration string timestamp`, (type) => `string(${type}): string`),
  ...each('timestamp int string', (type) => `timestamp(${type}): timestamp`),
  ...each(`${numbers} string`, (type) => `uint(${type}): uint`),
  ...each('contains endsWith startsWith matches', (name) => `string.${name}(string): bool`),
  'matches(string, string): bool',
  ...[
    'getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek',
    'getHours getMinutes getSeconds getMilliseconds',
  ].flatMap((names) =>
    names
      .split(' ')
      .flatMap((name) => [`timestamp.${name}(): int`, `timestamp.${name}(string): int`]),
  ),
  ...each('getHours getMinutes getSeconds getMilliseconds', (name) => `duration.${name}(): int`),
]

/** What `cel.OptionalTypes()` adds. */
export const optionalLines: readonly string[] = [
  'optional.of(A): optional<A>',
  'optional.ofNonZeroValue(A): optional<A>',
  'optional.none(): optional<A>',
  'optional.unwrap(list<optional<A>>): list<A>',
  'optional<A>.value(): A',
  'optional<A>.hasValue(): bool',
  'optional<A>.or(optional<A>): optional<A>',
  'optional<A>.orValue(A): A',
  'list<optional<A>>.unwrapOpt(): list<A>',
  'list<A>.first(): optional<A>',
  'list<A>.last(): optional<A>',
  ...each('[] [?]', (operator) => `${operator}(optional<list<A>>, int): optional<A>`),
  ...each('[] [?]', (operator) => `${operator}(optional<map<A, B>>, A): optional<B>`),
  '[?](list<A>, int): optional<A>',
  '[?](map<A, B>, A): optional<B>',
]

/** Names that are types, as in `type(x) == string`. */
export const typeNames: Readonly<Record<string, CelType>> = {
  ...Object.fromEntries(
    ['bool', 'bytes', 'double', 'int', 'string', 'uint'].map((name) => [
      name,
      typeOf(`type<${name}>`),
    ]),
  ),
  list: typeOf('type<list<dyn>>'),
  map: typeOf('type<map<dyn, dyn>>'),
  null_type: typeOf('type<null>'),
  'google.protobuf.Duration': typeOf('type<duration>'),
  'google.protobuf.Timestamp': typeOf('type<timestamp>'),
  type: typeOf('type<dyn>'),
}
