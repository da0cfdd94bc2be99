/**
 * CEL expressions in documents: whether Talos would compile them (Talos
 * `pkg/machinery/cel/celenv`), and which disks or links of a known machine they select. Fields are
 * those of Talos's own messages (`api/resource/definitions/block`), so that a misspelt field is
 * found here and not at the next boot.
 */
import { Environment, evaluate } from '@marcbachmann/cel-js'
import { evaluateCounted } from './cel-steps.ts'

export type CelScope = 'disk' | 'volume' | 'member volume' | 'link' | 'oom trigger' | 'oom ranking'

const disk = {
  ...fields('uint', 'size io_size sector_size'),
  ...fields('bool', 'readonly rotational cdrom'),
  ...fields(
    'string',
    'model serial modalias wwid bus_path sub_system transport dev_path pretty_size uuid',
  ),
  ...fields('list<string>', 'secondary_disks symlinks'),
}
const volume = {
  ...fields(
    'uint',
    'size sector_size io_size block_size filesystem_block_size probed_size partition_index offset',
  ),
  ...fields(
    'string',
    'name uuid label partition_uuid partition_type partition_label type device_path parent dev_path parent_dev_path pretty_size',
  ),
}

function fields(type: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(' ').map((name) => [name, type]))
}

const base = () =>
  new Environment({ enableOptionalTypes: true, limits: { maxAstNodes: 10_000, maxDepth: 100 } })

/** Implementation of functions whose expressions are only type-checked. */
const unused = () => false

/**
 * Whether a text matches a pattern with `*`, as Talos compares it (github.com/ryanuber/go-glob):
 * upper and lower case differ.
 */
export function globMatches(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (parts.length === 1) return pattern === text
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

const macText = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')

function withUnits(environment: Environment): Environment {
  for (const unit of ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'])
    environment.registerVariable(unit, 'uint')
  return environment
}

function withClasses(environment: Environment): Environment {
  for (const name of ['Besteffort', 'Burstable', 'Guaranteed', 'Podruntime', 'System'])
    environment.registerVariable(name, 'int')
  return environment
}

function oomTrigger(): Environment {
  const environment = withClasses(withUnits(base()))
  for (const delta of ['', 'd_'])
    for (const part of ['some', 'full'])
      for (const span of ['avg10', 'avg60', 'avg300', 'total']) {
        environment.registerVariable(`${delta}memory_${part}_${span}`, 'double')
        environment.registerVariable(`${delta}qos_memory_${part}_${span}`, 'map<int, double>')
      }
  for (const delta of ['', 'd_'])
    for (const what of ['current', 'peak', 'max'])
      environment.registerVariable(`${delta}qos_memory_${what}`, 'map<int, double>')
  environment.registerVariable('time_since_trigger', 'google.protobuf.Duration')
  return environment.registerFunction('multiply_qos_vectors(map, map): double', unused)
}

function oomRanking(): Environment {
  const environment = withClasses(withUnits(base()))
  for (const name of ['memory_max', 'memory_current', 'memory_peak'])
    environment.registerVariable(name, 'optional<uint>')
  return environment.registerVariable('path', 'string').registerVariable('class', 'int')
}

const makers: Readonly<Record<CelScope, () => Environment>> = {
  disk: () =>
    withUnits(base())
      .registerVariable({ name: 'disk', schema: disk })
      .registerVariable('system_disk', 'bool')
      .registerFunction('glob(string, string): bool', globMatches),
  volume: () =>
    withUnits(base())
      .registerVariable({ name: 'volume', schema: volume })
      .registerVariable({ name: 'disk', schema: disk }),
  'member volume': () =>
    withUnits(base())
      .registerVariable({ name: 'volume', schema: volume })
      .registerVariable({ name: 'disk', schema: disk })
      .registerVariable('volume_id', 'string')
      .registerVariable('system_disk', 'bool')
      .registerFunction('glob(string, string): bool', globMatches),
  link: () =>
    base()
      .registerVariable('link', 'map')
      .registerFunction('glob(string, string): bool', globMatches)
      .registerFunction('mac(bytes): string', macText),
  'oom trigger': oomTrigger,
  'oom ranking': oomRanking,
}
const environments = new Map<CelScope, Environment>()
const wanted: Readonly<Record<CelScope, string>> = {
  disk: 'bool',
  volume: 'bool',
  'member volume': 'bool',
  link: 'bool',
  'oom trigger': 'bool',
  'oom ranking': 'double',
}

function environmentOf(scope: CelScope): Environment {
  const environment = environments.get(scope) ?? makers[scope]()
  environments.set(scope, environment)
  return environment
}

const uint = (value: number | bigint): unknown => evaluate('uint(x)', { x: BigInt(value) })

/** Powers of 1000 and 1024, as `GB` and `GiB`. */
const units = () =>
  Object.fromEntries(
    ['k', 'M', 'G', 'T', 'P', 'E'].flatMap((letter, i) => [
      [`${letter}B`, uint(1000n ** BigInt(i + 1))],
      [`${letter.toUpperCase()}iB`, uint(1024n ** BigInt(i + 1))],
    ]),
  )
let knownUnits: Record<string, unknown> | undefined

/** Known fields of a disk or link, with Talos's names. A bigint is unsigned. */
export type CelFacts = Readonly<
  Record<string, string | boolean | bigint | Uint8Array | readonly string[]>
>

/**
 * Whether an expression selects a disk or link. Null if that can't be told, because it needs a
 * field that isn't known, fails, or takes too many steps (`cel-steps.ts`).
 */
export function celSelects(
  expression: string,
  scope: 'disk' | 'member volume' | 'link',
  facts: CelFacts,
  more: Readonly<Record<string, boolean>> = {},
): boolean | null {
  const what = scope === 'link' ? 'link' : 'disk'
  const fields = new RegExp(String.raw`\b${what}\s*\.\s*([a-zA-Z_]+)`, 'g')
  if ([...expression.matchAll(fields)].some(([, field]) => !Object.hasOwn(facts, field!)))
    return null
  const values = Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [
      key,
      typeof value === 'bigint' ? uint(value) : value,
    ]),
  )
  try {
    const answer: unknown = evaluateCounted(environmentOf(scope), expression, {
      ...(what === 'disk' ? (knownUnits ??= units()) : {}),
      ...more,
      [what]: values,
    })
    return typeof answer === 'boolean' ? answer : null
  } catch {
    return null
  }
}

/**
 * Why Talos would not compile an expression, as part of a sentence, or undefined. The size and
 * depth of the expression are limited.
 */
export function celProblem(expression: string, scope: CelScope): string | undefined {
  const environment = environmentOf(scope)
  const { valid, type, error } = environment.check(expression)
  if (!valid) return (error?.message ?? 'it cannot be read').split('\n', 1)[0]!
  return type === wanted[scope] || type === 'dyn'
    ? undefined
    : `it gives ${type}, not ${wanted[scope]}`
}
