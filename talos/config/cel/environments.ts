/**
 * Talos's environments (`pkg/machinery/cel/celenv`): what expressions in documents may use. Fields
 * are those of Talos's own messages (`api/resource/definitions`), which `npm run conformance`
 * compares with the messages of each version.
 */
import { isSince, type Minor } from '../../versions.ts'
import type { Declarations } from './check.ts'
import { optionalLines, type Signatures, signaturesOf, standardLines } from './signatures.ts'
import { type CelType, type Messages, typeOf } from './types.ts'

export type CelScope = 'disk' | 'volume' | 'member volume' | 'link' | 'oom trigger' | 'oom ranking'

const fields = (type: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, type]))

/** The messages of the newest minor. An enumeration is an int. */
export const newestMessages: Messages = {
  DiskSpec: {
    ...fields('uint', 'size io_size sector_size'),
    ...fields('bool', 'readonly rotational cdrom'),
    ...fields(
      'string',
      'model serial modalias wwid bus_path sub_system transport dev_path pretty_size uuid firmware_version',
    ),
    ...fields('list<string>', 'secondary_disks symlinks'),
  },
  DiscoveredVolumeSpec: {
    ...fields(
      'uint',
      'size sector_size io_size block_size filesystem_block_size probed_size partition_index offset',
    ),
    ...fields(
      'string',
      'name uuid label partition_uuid partition_type partition_label type device_path parent dev_path parent_dev_path pretty_size',
    ),
  },
  LinkStatusSpec: {
    ...fields('uint', 'index link_index flags mtu master_index'),
    ...fields('int', 'type operational_state speed_megabits port duplex'),
    ...fields('bytes', 'hardware_addr broadcast_addr permanent_addr'),
    ...fields(
      'string',
      'queue_disc kind slave_kind bus_path pciid driver driver_version firmware_version product_id vendor_id product vendor alias',
    ),
    link_state: 'bool',
    alt_names: 'list<string>',
    vlan: 'VLANSpec',
    bridge_master: 'BridgeMasterSpec',
    bond_master: 'BondMasterSpec',
    wireguard: 'WireguardSpec',
    vrf_master: 'VRFMasterSpec',
    veth: 'VethSpec',
  },
  VLANSpec: { vid: 'uint', protocol: 'int' },
  BridgeMasterSpec: { stp: 'STPSpec', vlan: 'BridgeVLANSpec' },
  STPSpec: { enabled: 'bool' },
  BridgeVLANSpec: { filtering_enabled: 'bool' },
  BondMasterSpec: {
    ...fields(
      'uint',
      'ad_actor_sys_prio ad_user_port_key all_slaves_active arp_interval down_delay lp_interval mii_mon min_links missed_max num_peer_notif packets_per_slave peer_notify_delay primary_index resend_igmp tlb_dynamic_lb up_delay',
    ),
    ...fields(
      'int',
      'ad_select adlacp_active arp_all_targets arp_validate fail_over_mac hash_policy lacp_rate mode primary_reselect',
    ),
    use_carrier: 'bool',
    ...fields('list<NetIP>', 'arpip_targets nsip6_targets'),
  },
  NetIP: { ip: 'bytes' },
  NetIPPrefix: { ip: 'bytes', prefix_length: 'int' },
  WireguardSpec: {
    ...fields('string', 'private_key public_key'),
    ...fields('int', 'listen_port firewall_mark'),
    peers: 'list<WireguardPeer>',
  },
  WireguardPeer: {
    ...fields('string', 'public_key preshared_key endpoint'),
    persistent_keepalive_interval: 'duration',
    allowed_ips: 'list<NetIPPrefix>',
  },
  VRFMasterSpec: { table: 'int' },
  VethSpec: { peer_name: 'string' },
}

/** The first minor of those fields that an older supported one lacks. */
const since: Readonly<Record<string, Readonly<Record<string, Minor>>>> = {
  DiskSpec: { firmware_version: '1.14' },
  LinkStatusSpec: { vrf_master: '1.13', veth: '1.14' },
  VRFMasterSpec: { table: '1.13' },
  VethSpec: { peer_name: '1.14' },
}

/** Messages that an expression can name on a Talos version, each with its fields. */
export const messagesOf = (talosVersion: string): Messages =>
  Object.fromEntries(
    Object.entries(newestMessages).flatMap(([message, types]) => {
      const own = Object.entries(types).filter(([field]) => {
        const first = since[message]?.[field]
        return first === undefined || isSince(talosVersion, first)
      })
      return own.length === 0 ? [] : [[message, Object.fromEntries(own)]]
    }),
  )

const units = fields('uint', 'KiB MiB GiB TiB PiB EiB kB MB GB TB PB EB')
const classes = fields('int', 'Besteffort Burstable Guaranteed Podruntime System')
const volume = { ...units, volume: 'DiscoveredVolumeSpec', disk: 'DiskSpec' }

function pressure(): Record<string, string> {
  const found: Record<string, string> = { time_since_trigger: 'duration' }
  for (const delta of ['', 'd_']) {
    for (const part of ['some', 'full'])
      for (const span of ['avg10', 'avg60', 'avg300', 'total']) {
        found[`${delta}memory_${part}_${span}`] = 'double'
        found[`${delta}qos_memory_${part}_${span}`] = 'map<int, double>'
      }
    for (const what of ['current', 'peak', 'max'])
      found[`${delta}qos_memory_${what}`] = 'map<int, double>'
  }
  return found
}

/** The variables of each scope, with their types. */
const variables: Readonly<Record<CelScope, Readonly<Record<string, string>>>> = {
  disk: { ...units, disk: 'DiskSpec', system_disk: 'bool' },
  volume,
  'member volume': { ...volume, volume_id: 'string', system_disk: 'bool' },
  link: { link: 'LinkStatusSpec' },
  'oom trigger': { ...units, ...classes, ...pressure() },
  'oom ranking': {
    ...units,
    ...classes,
    ...fields('optional<uint>', 'memory_max memory_current memory_peak'),
    path: 'string',
    class: 'int',
  },
}

const glob = 'glob(string, string): bool'
/** The functions of each scope besides the standard ones. */
const functions: Readonly<Record<CelScope, readonly string[]>> = {
  disk: [glob],
  volume: [],
  'member volume': [glob],
  link: [glob, 'mac(bytes): string'],
  'oom trigger': [
    ...optionalLines,
    'multiply_qos_vectors(map<dyn, double>, map<dyn, double>): double',
  ],
  'oom ranking': optionalLines,
}

/** Whether a scope knows optional values, and with them `.?`. */
export const hasOptionals = (scope: CelScope): boolean => scope.startsWith('oom ')

/** Functions that cel-go 0.31, of Talos 1.14, no longer has. */
const before114 = ['duration(int): duration']

const signatures = new Map<string, Signatures>()
const declared = new Map<CelScope, ReadonlyMap<string, CelType>>()

/** What an expression of a scope may use on a Talos version. */
export function declarationsOf(scope: CelScope, talosVersion: string): Declarations {
  const removed = isSince(talosVersion, '1.14') ? [] : before114
  const key = `${scope} ${removed.length}`
  const known =
    signatures.get(key) ?? signaturesOf([...standardLines, ...removed, ...functions[scope]])
  signatures.set(key, known)
  const own =
    declared.get(scope) ??
    new Map(Object.entries(variables[scope]).map(([name, type]) => [name, typeOf(type)]))
  declared.set(scope, own)
  return {
    variables: own,
    functions: known,
    messages: messagesOf(talosVersion),
    optionals: hasOptionals(scope),
  }
}
