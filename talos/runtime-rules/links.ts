/** Links: names, VLAN ids, MTUs. */
import { linkKinds } from '../config/model/network.ts'
import type { Report } from '../config/report.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const kernelNames = 'Linux net/core/dev.c, dev_valid_name; IFNAMSIZ; no validator of Talos'
const longestName = 15
/** Of a link that no one has given another (Linux `ETH_DATA_LEN`). */
const usualMtu = 1500

interface Vlan {
  readonly document: Report
  readonly path: readonly string[]
  readonly parent: string
  readonly id: number
  readonly mtu: number | undefined
}

function vlansOf(config: Configuration): Vlan[] {
  const { main } = config
  const old = config.interfaces().flatMap((path) =>
    main.items(...path, 'vlans').map((vlan) => ({
      document: main,
      path: [...vlan.path, 'vlanId'],
      parent:
        main.text(...path, 'interface') ||
        JSON.stringify(main.entries(...path, 'deviceSelector').map(({ key, node }) => [key, node])),
      id: main.number(...vlan.path, 'vlanId') ?? 0,
      mtu: main.number(...vlan.path, 'mtu'),
    })),
  )
  const documents = config.of('VLANConfig').map((document) => ({
    document,
    path: ['vlanID'],
    parent: document.text('parent'),
    id: document.number('vlanID') ?? 0,
    mtu: document.number('mtu'),
  }))
  return [...old, ...documents]
}

interface Mtu {
  readonly document: Report
  readonly path: readonly string[]
  /** Name of the link; empty for a VLAN of the old form. */
  readonly name: string
  readonly mtu: number
}

function mtusOf(config: Configuration): Mtu[] {
  const { main } = config
  const old = config.interfaces().flatMap((path) =>
    [path, ...main.items(...path, 'vlans').map((vlan) => vlan.path)].map((one) => ({
      document: main,
      path: [...one, 'mtu'],
      name: main.text(...one, 'interface'),
    })),
  )
  const documents = config
    .of(...linkKinds)
    .map((document) => ({ document, path: ['mtu'], name: document.text('name') }))
  return [...old, ...documents].flatMap((found) => {
    const mtu = found.document.number(...found.path)
    // 0 means unset in the old form.
    return mtu === undefined || mtu === 0 ? [] : [{ ...found, mtu }]
  })
}

export const linkRules: readonly RuntimeRule[] = [
  {
    id: 'link-name',
    source: kernelNames,
    level: 'refuse',
    *find(config) {
      for (const { name, ...place } of config.madeLinks()) {
        const length = Buffer.byteLength(name)
        if (length > longestName)
          yield {
            ...place,
            sentence: `The link name ${name} has ${length} characters; Linux allows ${longestName}, so the link is never created`,
          }
        else if (name !== '' && (/[\s/:]/.test(name) || name === '.' || name === '..'))
          yield {
            ...place,
            sentence: `Linux allows no link with the name ${quoted(name)}: no spaces, slashes or colons`,
          }
      }
    },
  },
  {
    id: 'vlan-id',
    source:
      'IEEE 802.1Q, 9.6: 0 and 4095 are reserved; Linux net/8021q/vlan_netlink.c, vlan_validate, refuses 4095; the old form has no validator (Talos pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go, checkVlans)',
    level: 'refuse',
    *find(config) {
      for (const { document, path, id } of vlansOf(config))
        // Talos's validator checks the documents.
        if (document === config.main && (id < 1 || id > 4094))
          yield { document, path, sentence: `The VLAN id ${id} must be from 1 to 4094` }
    },
  },
  {
    id: 'vlan-twice',
    source: 'Linux net/8021q/vlan.c, vlan_check_real_dev: EEXIST',
    level: 'refuse',
    *find(config) {
      const seen = new Set<string>()
      for (const { parent, id, document, path } of vlansOf(config)) {
        const key = `${parent} ${id}`
        if (seen.has(key) && id !== 0)
          yield {
            document,
            path,
            sentence: `The VLAN id ${id} is there twice on the same link${parent.startsWith('[') ? '' : `, ${parent}`}`,
          }
        seen.add(key)
      }
    },
  },
  {
    id: 'mtu',
    source: 'Linux net/core/dev.c, dev_validate_mtu; ETH_MIN_MTU, ETH_MAX_MTU',
    level: 'refuse',
    *find(config) {
      for (const { document, path, mtu } of mtusOf(config))
        if (mtu < 68 || mtu > 65_535)
          yield {
            document,
            path,
            sentence: `The MTU ${mtu} is not possible: Linux allows 68 to 65535`,
          }
    },
  },
  {
    id: 'mtu-of-vlan',
    source: 'Linux net/8021q/vlan_dev.c, vlan_dev_change_mtu: ERANGE',
    level: 'refuse',
    *find(config) {
      const parents = new Map(mtusOf(config).map(({ name, mtu }) => [name, mtu]))
      for (const { document, path, parent, mtu } of vlansOf(config)) {
        const most = parents.get(parent)
        if (mtu !== undefined && most !== undefined && mtu > most)
          yield {
            document,
            path: [...path.slice(0, -1), 'mtu'],
            sentence: `The MTU ${mtu} of the VLAN is more than the ${most} of its link ${parent}, which Linux refuses`,
          }
      }
    },
  },
  {
    id: 'mtu-of-vlan-alone',
    source:
      'Linux net/8021q/vlan_dev.c, vlan_dev_change_mtu: ERANGE; include/uapi/linux/if_ether.h, ETH_DATA_LEN; Talos internal/app/machined/pkg/controllers/network/link_spec.go, syncLink, sets no MTU that a link does not name, and repeats the error before it makes the link a part of another',
    level: 'warn',
    *find(config) {
      const { main } = config
      const known = new Set(mtusOf(config).map(({ name }) => name))
      for (const { document, path, parent, mtu } of vlansOf(config)) {
        const hasMtu =
          document === main ? (main.number(...path.slice(0, -3), 'mtu') ?? 0) > 0 : false
        if (mtu !== undefined && mtu > usualMtu && !hasMtu && !known.has(parent))
          yield {
            document,
            path: [...path.slice(0, -1), 'mtu'],
            sentence: `The MTU ${mtu} of the VLAN is more than the ${usualMtu} that its link has unless DHCP says otherwise, and Linux refuses that: give the link an MTU of ${mtu} too`,
          }
      }
    },
  },
  {
    id: 'mtu-without-ipv6',
    source: 'Linux net/ipv6/addrconf.c: a link below IPV6_MIN_MTU (1280) loses IPv6',
    level: 'warn',
    *find(config) {
      for (const { document, path, mtu } of mtusOf(config))
        if (mtu >= 68 && mtu < 1280)
          yield {
            document,
            path,
            sentence: `With an MTU of ${mtu} the link has no IPv6, which needs 1280`,
          }
    },
  },
]
