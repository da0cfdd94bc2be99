/** Settings that a bond can't have, and links that are chosen by an address which they share. */
import type { Report } from '../../config/report.ts'
import { addressOf } from '../../network-effect/addresses.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'

interface Bond {
  readonly document: Report
  /** Path of the settings. */
  readonly path: readonly string[]
  readonly name: string
  readonly mode: string
  /** Null if selectors choose them. */
  readonly ports: number | null
  /** Talos itself checks most settings of the old form (`v1alpha1_validation.go`, checkBond). */
  readonly isOldForm: boolean
}

function bondsOf(config: Configuration): Bond[] {
  const { main } = config
  const old = config
    .interfaces()
    .filter((path) => main.entries(...path, 'bond').length > 0)
    .map((path) => ({
      document: main,
      path: [...path, 'bond'],
      name: main.text(...path, 'interface'),
      mode: main.text(...path, 'bond', 'mode') || 'balance-rr',
      ports: main.has(...path, 'bond', 'deviceSelectors')
        ? null
        : main.items(...path, 'bond', 'interfaces').length,
      isOldForm: true,
    }))
  const documents = config.of('BondConfig').map((document) => ({
    document,
    path: [],
    name: document.text('name'),
    mode: document.text('bondMode'),
    ports: document.items('links').length,
    isOldForm: false,
  }))
  return [...old, ...documents]
}

const numberOf = ({ document, path }: Bond, key: string): number =>
  document.number(...path, key) ?? 0

const balancing = new Set(['802.3ad', 'balance-tlb', 'balance-alb'])

/** Settings of a document that are not those of its mode. */
function* ofOtherModes(bond: Bond): Generator<string> {
  const { document, mode } = bond
  const isSet = (key: string, usual: string): boolean =>
    document.has(key) && document.text(key) !== usual
  if (mode !== '802.3ad') {
    for (const key of ['adActorSysPrio', 'adUserPortKey']) if (numberOf(bond, key) > 0) yield key
    if (isSet('lacpRate', 'slow')) yield 'lacpRate'
    if (isSet('adLACPActive', 'on')) yield 'adLACPActive'
  }
  if (balancing.has(mode)) {
    for (const key of ['arpInterval', 'missedMax']) if (numberOf(bond, key) > 0) yield key
    for (const key of ['arpIpTargets', 'nsIp6Targets']) if (document.has(key)) yield key
    if (isSet('arpValidate', 'none')) yield 'arpValidate'
  }
  if (mode !== 'balance-rr' && numberOf(bond, 'packetsPerSlave') > 1) yield 'packetsPerSlave'
}

const again = 'so Talos takes the bond down again and again'

function* settingProblems(bond: Bond): Generator<Hit> {
  const { document, path, name, mode, ports, isOldForm } = bond
  const hit = (key: string, sentence: string): Hit => ({
    document,
    path: [...path, key],
    sentence,
  })
  if (!isOldForm)
    for (const key of ofOtherModes(bond))
      yield hit(
        key,
        `${key} is no setting of ${mode}, the mode of ${name}: Linux never has it, ${again}. Leave it out`,
      )
  const miimon = numberOf(bond, 'miimon')
  for (const key of isOldForm ? ['peerNotifyDelay'] : ['updelay', 'downdelay', 'peerNotifDelay']) {
    const delay = numberOf(bond, key)
    if (miimon === 0 ? delay > 0 : delay % miimon !== 0)
      yield hit(
        key,
        miimon === 0
          ? `${key} of ${name} needs miimon: Linux has no such delay without it, ${again}`
          : `${key} of ${name} must be a multiple of miimon (${miimon}): Linux has no delay of ${delay} ms, ${again}`,
      )
  }
  if (miimon > 0 && numberOf(bond, 'arpInterval') > 0 && !balancing.has(mode))
    yield hit(
      'arpInterval',
      `${name} can’t have both miimon and arpInterval: Linux refuses all its settings, ${again}`,
    )
  const least = numberOf(bond, 'minLinks')
  if (mode === '802.3ad' && ports !== null && ports > 0 && least > ports)
    yield hit(
      'minLinks',
      `${name} works only with ${least} ports (minLinks) and has ${ports}, so it never carries anything`,
    )
  for (const [key, family] of [
    ['arpIpTargets', 4],
    ['nsIp6Targets', 6],
  ] as const)
    for (const { path: where, text } of document.texts(...path, key)) {
      const address = addressOf(text)
      if (address !== undefined && address.family !== family)
        yield {
          document,
          path: where,
          sentence: `${text} is no IPv${family} address, so Talos sets nothing of ${name}: ${key} has only those`,
        }
    }
}

/** Fields of a selector that a link without hardware doesn't have. */
const ofHardware = ['permanentAddr', 'driver', 'busPath', 'pciID']

/** Whether a selector also means links above the port. */
const isShared = (main: Report, path: readonly string[]): boolean =>
  main.has(...path, 'hardwareAddr') &&
  !main.flag(...path, 'physical') &&
  !ofHardware.some((key) => main.has(...path, key))

const instead = 'Write permanentAddr instead, or add physical: true'

export const bondRules: readonly RuntimeRule[] = [
  {
    id: 'bond-setting',
    source:
      'Talos internal/app/machined/pkg/adapters/network/bond_master_spec.go, Encode, leaves a setting out by mode and miimon; controllers/network/link_spec.go, syncLink, sets the bond down and frees its ports while BondMasterSpec.Equal differs from what Linux has (siderolabs/talos#12742; same in v1.14.0-rc.1); Linux drivers/net/bonding/bond_options.c, unsuppmodes and _bond_option_delay_set; bond_netlink.c, "ARP monitoring cannot be used with MII monitoring"; bond_3ad.c, bond_3ad_set_carrier: min_links',
    level: 'refuse',
    *find(config) {
      for (const bond of bondsOf(config)) yield* settingProblems(bond)
    },
  },
  {
    id: 'bond-asks-nobody',
    source:
      'Linux Documentation/networking/bonding.rst, arp_ip_target: "to enable ARP monitoring, at least one IP address must be specified"; drivers/net/bonding/bond_main.c, bond_ab_arp_inspect; the old form has no targets (Talos v1alpha1_validation.go: "bond.arpIPTarget is not supported")',
    level: 'warn',
    *find(config) {
      for (const bond of bondsOf(config)) {
        const { document, path, name, mode, isOldForm } = bond
        const hasTargets = ['arpIpTargets', 'nsIp6Targets'].some((key) =>
          document.has(...path, key),
        )
        if (numberOf(bond, 'arpInterval') > 0 && !hasTargets && !balancing.has(mode))
          yield {
            document,
            path: [...path, 'arpInterval'],
            sentence: `With arpInterval ${name} asks no address whether its ports work, so Linux may take all of them for dead: ${isOldForm ? 'use miimon: 100, or a BondConfig with arpIpTargets' : 'name arpIpTargets, or use miimon: 100'}`,
          }
      }
    },
  },
  {
    id: 'selector-of-shared-address',
    source:
      'Talos internal/app/machined/pkg/controllers/network/device_config.go, selectDevices: hardwareAddr is the address in use of any link, also of a virtual one (siderolabs/talos#7331, #9747); Linux net/8021q/vlan_dev.c, vlan_dev_init: a VLAN has the address of its link; net/core/dev.c, __netdev_upper_dev_link: EBUSY for a link above the bond',
    level: 'warn',
    *find(config) {
      const { main } = config
      const parents = new Set(config.of('VLANConfig').map((document) => document.text('parent')))
      for (const path of config.interfaces()) {
        const name = main.text(...path, 'interface')
        if (!main.has(...path, 'vlans') && !(name !== '' && parents.has(name))) continue
        const own = [...path, 'deviceSelector']
        if (isShared(main, own))
          yield {
            document: main,
            path: [...own, 'hardwareAddr'],
            sentence: `The VLANs of this link have the same MAC address, so hardwareAddr selects them too, and Talos gives them the same addresses and VLANs. ${instead}`,
          }
        const port = main
          .items(...path, 'bond', 'deviceSelectors')
          .find((item) => isShared(main, item.path))
        if (port !== undefined)
          yield {
            document: main,
            path: [...port.path, 'hardwareAddr'],
            sentence: `The VLANs on ${name} have the MAC address of its ports, so hardwareAddr selects them too, and Talos takes them down to make them ports of ${name}. ${instead}`,
          }
      }
    },
  },
]
