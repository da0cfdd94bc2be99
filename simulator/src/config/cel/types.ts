/**
 * The types of expressions, found from their syntax trees as cel-go's checker finds them, with the
 * variables and functions of Talos's environments (Talos: pkg/machinery/cel/celenv; cel-go:
 * common/stdlib/standard.go, checker/types.go), without the functions of timestamps and durations.
 */
import type { CelValue, Tree } from './syntax.ts'

/** What an expression selects. */
export type Scope = 'disk' | 'volume' | 'member' | 'link'

/** A type, or `?` for one that nothing determines, such as that of the items of `[]`. */
interface Type {
  readonly name: string
  readonly of: readonly Type[]
}

const plain = (name: string): Type => ({ name, of: [] })
const typeOf = (written: string): Type =>
  written.endsWith('[]') ? listOf(typeOf(written.slice(0, -2))) : plain(written)
const listOf = (item: Type): Type => ({ name: 'list', of: [item] })
const [bool, int, string, dyn, open] = ['bool', 'int', 'string', 'dyn', '?'].map(plain) as [
  Type,
  Type,
  Type,
  Type,
  Type,
]
const isOpen = ({ name }: Type): boolean => name === 'dyn' || name === '?'
const shown = ({ name, of }: Type): string =>
  name === '?' ? 'dyn' : of.length === 0 ? name : `${name}(${of.map(shown).join(', ')})`

/** Fields of messages by type. `field@14` exists since Talos 1.14. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Disk: {
    uint: 'size io_size sector_size',
    bool: 'readonly rotational cdrom',
    string:
      'model serial modalias wwid bus_path sub_system transport dev_path pretty_size uuid firmware_version@14',
    'string[]': 'secondary_disks symlinks',
  },
  Volume: {
    uint: 'size sector_size io_size block_size filesystem_block_size probed_size partition_index offset',
    string:
      'name uuid label partition_uuid partition_type partition_label type device_path parent dev_path parent_dev_path pretty_size',
  },
  Link: {
    uint: 'index link_index flags mtu master_index',
    int: 'type operational_state speed_megabits port duplex',
    bytes: 'hardware_addr broadcast_addr permanent_addr',
    bool: 'link_state',
    string:
      'queue_disc kind slave_kind bus_path pciid driver driver_version firmware_version product_id vendor_id product vendor alias',
    'string[]': 'alt_names',
    Vlan: 'vlan',
    Bridge: 'bridge_master',
    Bond: 'bond_master',
    Wireguard: 'wireguard',
    Vrf: 'vrf_master@13',
    Veth: 'veth@14',
  },
  Vlan: { uint: 'vid', int: 'protocol' },
  Bridge: { Stp: 'stp', BridgeVlan: 'vlan' },
  Stp: { bool: 'enabled' },
  BridgeVlan: { bool: 'filtering_enabled' },
  Bond: {
    uint: 'ad_actor_sys_prio ad_user_port_key all_slaves_active arp_interval down_delay lp_interval mii_mon min_links missed_max num_peer_notif packets_per_slave peer_notify_delay primary_index resend_igmp tlb_dynamic_lb up_delay',
    int: 'ad_select adlacp_active arp_all_targets arp_validate fail_over_mac hash_policy lacp_rate mode primary_reselect',
    bool: 'use_carrier',
    'Ip[]': 'arpip_targets nsip6_targets',
  },
  Ip: { bytes: 'ip' },
  Prefix: { bytes: 'ip', int: 'prefix_length' },
  Wireguard: {
    string: 'private_key public_key',
    int: 'listen_port firewall_mark',
    'Peer[]': 'peers',
  },
  Peer: {
    string: 'public_key preshared_key endpoint',
    duration: 'persistent_keepalive_interval',
    'Prefix[]': 'allowed_ips',
  },
  Vrf: { int: 'table' },
  Veth: { string: 'peer_name' },
}

const ZERO: Readonly<Record<string, CelValue>> = {
  uint: 0n,
  int: 0n,
  bool: false,
  string: '',
  'string[]': [],
}
/** The fields of a message that isn't filled in, without those that are messages. */
export const zeroFields = (message: string): Record<string, CelValue> =>
  Object.fromEntries(
    Object.entries(FIELDS[message]!).flatMap(([type, names]) =>
      names.split(' ').map((declared) => [declared.split('@')[0]!, ZERO[type]!]),
    ),
  )

/** Multipliers of sizes, which selectors of disks and volumes know. */
export const UNITS: ReadonlyMap<string, bigint> = new Map(
  ['k', 'M', 'G', 'T', 'P', 'E'].flatMap((unit, index) => [
    [`${unit}B`, 1000n ** BigInt(index + 1)],
    [`${unit === 'k' ? 'K' : unit}iB`, 1024n ** BigInt(index + 1)],
  ]),
)

const VARIABLES: Readonly<Record<Scope, Readonly<Record<string, string>>>> = {
  disk: { disk: 'Disk', system_disk: 'bool' },
  volume: { disk: 'Disk', volume: 'Volume' },
  member: { disk: 'Disk', volume: 'Volume', volume_id: 'string', system_disk: 'bool' },
  link: { link: 'Link' },
}
const TYPES = new Set('bool bytes double int string uint list map null_type type'.split(' '))

/** Types that each operator or function takes in all its places, and gives (or what it gives). */
const SAME: Readonly<Record<string, readonly [types: string, gives?: string]>> = {
  '&&': ['bool'],
  '||': ['bool'],
  '!_': ['bool'],
  '-_': ['int double'],
  '+': ['int uint double string bytes duration'],
  '-': ['int uint double duration'],
  '*': ['int uint double'],
  '/': ['int uint double'],
  '%': ['int uint'],
  ...Object.fromEntries(
    ['<', '<=', '>', '>='].map((name) => [
      name,
      ['bool int uint double string bytes duration timestamp', 'bool'] as const,
    ]),
  ),
}
const CONVERSIONS: Readonly<Record<string, string>> = {
  bool: 'bool string',
  bytes: 'bytes string',
  double: 'int uint double string',
  int: 'int uint double string duration timestamp',
  uint: 'int uint double string',
  string: 'bool bytes int uint double string duration timestamp',
}
const OF_TEXTS = new Set(['contains', 'startsWith', 'endsWith', 'matches'])

/** Functions of CEL that this checker doesn't know. */
const UNKNOWN_FUNCTIONS: ReadonlySet<string> = new Set(
  'duration timestamp getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds'.split(
    ' ',
  ),
)

/** Whether a value of one type may stand where the other is expected. */
const fits = (one: Type, other: Type): boolean => {
  if (isOpen(one) || isOpen(other)) return true
  // Null stands for a message that isn't set, and for a duration.
  const isNullable = ({ name }: Type) => name in FIELDS || name === 'duration'
  if (one.name === 'null') return other.name === 'null' || isNullable(other)
  if (other.name === 'null') return isNullable(one)
  return one.name === other.name && one.of.every((of, index) => fits(of, other.of[index]!))
}
/** The more general of two types that fit. */
const wider = (one: Type, other: Type): Type =>
  one.name === '?' || one.name === 'null' || other.name === 'dyn' ? other : one

/** The type of literals in a list: of all if they fit, otherwise dynamic. */
const joined = (types: readonly Type[]): Type =>
  types.reduce((all, one) => (fits(all, one) ? wider(all, one) : dyn), open)

class Checker {
  private readonly scope: Scope
  private readonly minor: number

  constructor(scope: Scope, minor: number) {
    this.scope = scope
    this.minor = minor
  }

  of(tree: Tree, locals: ReadonlyMap<string, Type>): Type {
    const inner = (one: Tree) => this.of(one, locals)
    switch (tree.is) {
      case 'literal':
        return plain(tree.type)
      case 'name':
        return locals.get(tree.name) ?? this.variable(tree.name)
      case 'select': {
        const field = this.field(inner(tree.of), tree.field)
        return tree.isTest ? bool : field
      }
      case 'list':
        return listOf(joined(tree.items.map(inner)))
      case 'map':
        return {
          name: 'map',
          of: [0, 1].map((side) => joined(tree.entries.map((entry) => inner(entry[side]!)))),
        }
      case 'each':
        return this.each(tree, locals)
      default:
        return this.call(tree, tree.values.map(inner))
    }
  }

  private variable(name: string): Type {
    const own = VARIABLES[this.scope][name]
    if (own !== undefined) return plain(own)
    if (this.scope !== 'link' && UNITS.has(name)) return plain('uint')
    if (TYPES.has(name)) return plain('type')
    throw new Error(`undeclared reference to '${name}' (in container '')`)
  }

  private field(of: Type, field: string): Type {
    if (isOpen(of)) return dyn
    if (of.name === 'map') return of.of[1]!
    const fields = FIELDS[of.name]
    if (!fields) throw new Error(`type '${shown(of)}' does not support field selection`)
    for (const [type, names] of Object.entries(fields))
      for (const declared of names.split(' ')) {
        const [name, since = '0'] = declared.split('@')
        if (name === field && this.minor >= Number(since)) return typeOf(type)
      }
    throw new Error(`undefined field '${field}'`)
  }

  private each(tree: Tree & { is: 'each' }, locals: ReadonlyMap<string, Type>): Type {
    const range = this.of(tree.range, locals)
    if (!isOpen(range) && range.name !== 'list' && range.name !== 'map')
      throw new Error(
        `expression of type '${shown(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      )
    const item = range.of[0] ?? dyn
    const within = new Map([...locals, [tree.item, item]])
    const condition = (one: Tree) => {
      const type = this.of(one, within)
      if (!fits(type, bool)) throw mismatch('_?_:_', [type])
    }
    if (tree.where) condition(tree.where)
    if (tree.macro === 'map') return listOf(this.of(tree.body, within))
    condition(tree.body)
    return tree.macro === 'filter' ? listOf(item) : bool
  }

  private call({ name, isMember }: { name: string; isMember: boolean }, types: Type[]): Type {
    const [first = dyn, second = dyn, third = dyn] = types
    const takes = (...wanted: Type[]): boolean =>
      types.length === wanted.length && wanted.every((one, index) => fits(types[index]!, one))
    const refuse = (): never => {
      throw mismatch(name, types)
    }
    if (!isMember) {
      const operator = this.operator(name, types, refuse)
      if (operator) return operator
      if (name === '?:') return takes(bool, open, second) ? wider(second, third) : refuse()
      if (
        name === 'glob' &&
        (this.scope === 'disk' || this.scope === 'member' || this.scope === 'link')
      )
        return takes(string, string) ? bool : refuse()
      if (name === 'mac' && this.scope === 'link') return takes(plain('bytes')) ? string : refuse()
      const from = CONVERSIONS[name]
      if (from !== undefined)
        return from.split(' ').some((type) => takes(plain(type))) ? plain(name) : refuse()
      if (name === 'dyn') return types.length === 1 ? dyn : refuse()
      if (name === 'type') return types.length === 1 ? plain('type') : refuse()
    }
    if (name === 'size')
      return types.length === 1 &&
        (isOpen(first) || ['string', 'bytes', 'list', 'map'].includes(first.name))
        ? int
        : refuse()
    if (OF_TEXTS.has(name) && (isMember || name === 'matches'))
      return takes(string, string) ? bool : refuse()
    throw new Error(
      UNKNOWN_FUNCTIONS.has(name)
        ? `the simulator doesn't know '${name}'`
        : `undeclared reference to '${name}' (in container '')`,
    )
  }

  /** The type of an operator's result, or null if it is a function. */
  private operator(name: string, types: readonly Type[], refuse: () => never): Type | null {
    const [left = dyn, right = dyn] = types
    if (name === '==' || name === '!=') return fits(left, right) ? bool : refuse()
    if (name === 'in')
      return isOpen(right) || (['list', 'map'].includes(right.name) && fits(left, right.of[0]!))
        ? bool
        : refuse()
    if (name === '[]') {
      if (isOpen(left)) return dyn
      if (left.name === 'list' && fits(right, int)) return left.of[0]!
      return left.name === 'map' && fits(right, left.of[0]!) ? left.of[1]! : refuse()
    }
    const same = SAME[name]
    if (!same) return null
    const [allowed, gives] = same
    if (name === '+' && types.some((one) => one.name === 'list') && fits(left, right))
      return wider(left, right)
    const fitting = allowed
      .split(' ')
      .filter((type) => types.every((one) => fits(one, plain(type))))
    if (fitting.length === 0) return refuse()
    return gives === undefined ? (fitting.length === 1 ? plain(fitting[0]!) : dyn) : plain(gives)
  }
}

const mismatch = (name: string, types: readonly Type[]): Error =>
  new Error(
    `found no matching overload for '${/^\w/.test(name) || name.includes('_') ? name : `_${name}_`}' applied to '(${types.map(shown).join(', ')})'`,
  )

/**
 * Why an expression isn't a condition of a minor of Talos (13 is 1.13), or null.
 *
 * @throws Error if it has a type error
 */
export const conditionProblem = (tree: Tree, scope: Scope, minor: number): string | null => {
  const type = new Checker(scope, minor).of(tree, new Map())
  return type.name === 'bool' ? null : `expression output type is ${shown(type)}, expected bool`
}
