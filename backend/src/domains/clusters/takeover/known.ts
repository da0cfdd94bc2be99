/**
 * Which machine a node of Kubernetes stands for: its registered server, and its other nodes, also
 * those that it may get.
 */
import { isSameMachine, macsOf, type ServerFacts } from '../../servers/api.ts'
import { listed } from '../../../sentences.ts'
import type { SurveyedMachine } from './survey.ts'

type Machine = Pick<SurveyedMachine, 'name' | 'address' | 'told'>
type Told = NonNullable<Machine['told']>

/** The registered server that a machine is. Boards may share its UUID and serial number. */
export function knownOf(
  { address, told }: Pick<Machine, 'address' | 'told'>,
  facts: readonly ServerFacts[],
): ServerFacts | undefined {
  if (told === null) return undefined
  const { identity, reading } = told
  const seen = { address: address ?? '', identity, macs: macsOf(reading.inventory.interfaces) }
  return facts.find((server) => isSameMachine({ ...server, identity_mac: null }, seen))
}

const identityOf = ({ identity: { uuid, serial }, reading }: Told): string =>
  [uuid, serial, ...macsOf(reading.inventory.interfaces).toSorted()].join(' ')

/**
 * Why a node is one too many, or null. A machine that gets another host name registers a second
 * node, and the first one stays (siderolabs/talos#5834).
 */
export function leftoverProblem(
  { name, told }: Machine,
  machines: readonly Machine[],
): string | null {
  if (told === null) return null
  const { hostname } = told.reading.status
  if (name === hostname || name.startsWith(`${hostname}.`)) return null
  const other = machines.find(
    (m) => m.name !== name && m.told !== null && identityOf(m.told) === identityOf(told),
  )
  return other === undefined
    ? null
    : `Kubernetes has two nodes for one machine, ${name} and ${other.name}; the machine calls itself ${hostname || 'nothing'}: delete the node that is left over (kubectl delete node ${name})`
}

/**
 * The names that Talos derives from the machine's id (`pkg/machinery/resources/network`,
 * HostnameSpec): they stay.
 */
const derivedName = /^talos-[a-z0-9]{3}-[a-z0-9]{3}$/

/**
 * A warning about machines that the network names. If it doesn't, or names them otherwise, when
 * they restart, they register other nodes (siderolabs/talos#10760).
 */
export function unnamedWarning(machines: readonly Machine[]): string[] {
  const names = machines.flatMap(({ name, told }) =>
    told === null || told.namesHost || derivedName.test(told.reading.status.hostname) ? [] : [name],
  )
  if (names.length === 0) return []
  const [has, gets] =
    names.length === 1 ? ['has its name', 'it gets'] : ['have their names', 'they get']
  return [
    `${listed(names)} ${has} from the network (DHCP) or the kernel’s arguments, not from ${names.length === 1 ? 'its configuration' : 'their configurations'}: if ${gets} another name at a restart, Kubernetes gets another node, and Steelyard waits for this one. Put the name into the configuration first: talosctl patch machineconfig, with HostnameConfig`,
  ]
}
