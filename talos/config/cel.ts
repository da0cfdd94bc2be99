/**
 * CEL expressions in documents: whether Talos would compile them (Talos
 * `pkg/machinery/cel/celenv`), without evaluating them. Fields are those of Talos's own messages
 * (`api/resource/definitions/block`), so that a misspelt field is found here and not at the next
 * boot.
 */
import { Environment } from '@marcbachmann/cel-js'

export type CelScope = 'disk' | 'volume' | 'link' | 'oom trigger' | 'oom ranking'

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

/** Implementation of every function: never called, because expressions are only type-checked. */
const unused = () => false

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
      .registerFunction('glob(string, string): bool', unused),
  volume: () =>
    withUnits(base())
      .registerVariable({ name: 'volume', schema: volume })
      .registerVariable({ name: 'disk', schema: disk }),
  link: () =>
    base()
      .registerVariable('link', 'map')
      .registerFunction('glob(string, string): bool', unused)
      .registerFunction('mac(bytes): string', unused),
  'oom trigger': oomTrigger,
  'oom ranking': oomRanking,
}
const environments = new Map<CelScope, Environment>()
const wanted: Readonly<Record<CelScope, string>> = {
  disk: 'bool',
  volume: 'bool',
  link: 'bool',
  'oom trigger': 'bool',
  'oom ranking': 'double',
}

/**
 * Why Talos would not compile an expression, as part of a sentence, or undefined. The size and
 * depth of the expression are limited.
 */
export function celProblem(expression: string, scope: CelScope): string | undefined {
  const environment = environments.get(scope) ?? makers[scope]()
  environments.set(scope, environment)
  const { valid, type, error } = environment.check(expression)
  if (!valid) return (error?.message ?? 'it cannot be read').split('\n', 1)[0]!
  return type === wanted[scope] || type === 'dyn'
    ? undefined
    : `it gives ${type}, not ${wanted[scope]}`
}
