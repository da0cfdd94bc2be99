/**
 * Values of a configuration that are possible, but not on this machine: selectors that match none
 * of its links or disks, and addresses that others have.
 */
import type { ConfigDocument } from '../config/decode.ts'
import { type Report, textOf } from '../config/report.ts'
import type { KnownLink } from '../network-effect/facts.ts'
import { isChosen, matches } from '../network-effect/selectors.ts'
import { Configuration, quoted } from './rule.ts'
import { findingOf, type RuntimeFinding } from './runtime-rules.ts'
import { type Inventory, type InventoryRule, some } from './known.ts'
import { chosenFrom, filtered } from './limits/subnets.ts'
import { volumeLimitInventoryRules } from './limits/volumes.ts'
import { tpmRules } from './machine/encryption.ts'
import { imageRules } from './machine/images.ts'
import { nameServerInventoryRules } from './machine/name-servers.ts'
import { otherRules } from './machine/others.ts'
import { peerRules } from './machine/peers.ts'
import { registrationRules } from './machine/registration.ts'
import { resourceRules } from './machine/resources.ts'
import { systemDiskRules } from './machine/volumes.ts'
import { gatewayRules } from './mounts.ts'
import { storageInventoryRules } from './system/storage.ts'
import { volumeRules } from './volumes.ts'

const deviceConfig = 'Talos internal/app/machined/pkg/controllers/network/device_config.go'

/** Selectors of links in the old form: of interfaces, and of a bond's members. */
const selectorsOf = (config: Configuration) => {
  const { main } = config
  return config.interfaces().flatMap((path) => {
    const single = [...path, 'deviceSelector']
    const members = main.items(...path, 'bond', 'deviceSelectors').map((item) => item.path)
    return [
      ...(main.has(...single) ? [{ paths: [single], path: single }] : []),
      ...(members.length > 0
        ? [{ paths: members, path: [...path, 'bond', 'deviceSelectors'] }]
        : []),
    ]
  })
}

const selectorAt = (main: Report, path: readonly string[]) =>
  Object.fromEntries(main.entries(...path).map(({ key, node }) => [key, textOf(node)]))

/** The case in which Talos has the values of a selector's fields; the driver's is any. */
const spelled: Readonly<Record<string, (text: string) => string>> = {
  hardwareAddr: (text) => text.toLowerCase().replaceAll('-', ':'),
  permanentAddr: (text) => text.toLowerCase().replaceAll('-', ':'),
  driver: (text) => text.toLowerCase(),
  busPath: (text) => text.toLowerCase(),
  pciID: (text) => text.toUpperCase(),
}

/** The spelling of a selector that would match a link, or what the links have. */
function spelling(
  main: Report,
  paths: readonly (readonly string[])[],
  links: readonly KnownLink[],
) {
  const selectors = paths.map((path) => selectorAt(main, path))
  for (const selector of selectors)
    for (const [key, text] of Object.entries(selector)) {
      const better = spelled[key]?.(text) ?? text
      if (better !== text && links.some((link) => matches({ [key]: better }, link) === true))
        return `Talos compares case-sensitively: write ${quoted(better)}`
    }
  const asked = new Set(selectors.flatMap((selector) => Object.keys(selector)))
  const shown = (link: KnownLink): string =>
    [
      link.name,
      link.driver && `(${link.driver})`,
      link.hardware_addr,
      asked.has('busPath') && link.bus_path,
      asked.has('pciID') && link.pci_id,
    ]
      .filter(Boolean)
      .join(' ')
  return `It has ${some(links.filter((link) => link.physical).map(shown))}`
}

/** `10.0.0.0/24` or an address contains an address; compares the bits. */
function holds(network: string, address: string): boolean {
  const [base, length] = network.split('/')
  const [a, b] = [bits(base!), bits(address)]
  if (a === null || b === null || a.length !== b.length) return false
  const prefix = length === undefined ? a.length : Number(length)
  return a.slice(0, prefix) === b.slice(0, prefix)
}

/** The bits of an address as text; null for another text. */
function bits(address: string): string | null {
  if (/^\d+(\.\d+){3}$/.test(address))
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  if (!address.includes(':')) return null
  const [head = '', tail] = address.split('%', 1)[0]!.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [front, back] = [groups(head), tail === undefined ? [] : groups(tail)]
  const middle = tail === undefined ? [] : Array<string>(8 - front.length - back.length).fill('0')
  return [...front, ...middle, ...back]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('')
}

/** Whether an IPv4 address is the first or last one of a network of more than two. */
function isEdge(network: string, address: string): boolean {
  const [, length = '32'] = network.split('/')
  const host = bits(address)?.slice(Number(length)) ?? ''
  return address.includes('.') && host.length > 1 && /^(0+|1+)$/.test(host)
}

/** Whether two texts are the same address. */
const isSame = (a: string, b: string): boolean =>
  a === b || (bits(a) !== null && bits(a) === bits(b))

const disablesSource =
  'Linux Documentation/networking/ip-sysctl.rst, disable_ipv6: the link loses its IPv6 addresses'

/** Sysctls that switch IPv6 off on a link or on all. */
const disabledSix = (main: Report) =>
  main
    .entries('machine', 'sysctls')
    .filter(
      ({ key, node }) =>
        /^net[./]ipv6[./]conf[./].+[./]disable_ipv6$/.test(key) &&
        !/[./]lo[./]/.test(key) &&
        textOf(node) === '1',
    )

export const inventoryRules: readonly InventoryRule[] = [
  {
    id: 'selector-of-links',
    source: `${deviceConfig}: "no matching network device" is only logged, and the device is left out`,
    level: 'warn',
    *find(config, { server, links }) {
      if (links === null) return
      for (const { path, paths } of selectorsOf(config)) {
        const answers = paths.flatMap((one) =>
          links.map((link) => matches(selectorAt(config.main, one), link)),
        )
        if (answers.every((answer) => answer === false))
          yield {
            document: config.main,
            path,
            sentence: `${paths.length > 1 ? 'These selectors match' : 'This selector matches'} no link of ${server}, so Talos leaves the interface out. ${spelling(config.main, paths, links)}`,
          }
      }
    },
  },
  {
    id: 'alias-of-no-link',
    source: 'Talos internal/app/machined/pkg/controllers/network/link_alias_config.go',
    level: 'warn',
    *find(config, { server, links }) {
      if (links === null) return
      for (const document of config.of('LinkAliasConfig')) {
        const expression = document.text('selector', 'match')
        const ports = links.filter((link) => link.physical)
        const answers = ports.map((link) => isChosen(expression, link))
        const name = document.text('name')
        const place = { document, path: ['selector', 'match'] }
        if (expression !== '' && answers.every((answer) => answer === false))
          yield {
            ...place,
            sentence: `The expression matches no link of ${server}, so the alias ${name} names none${/[A-F]/.test(expression) ? '. MAC addresses are in lower case' : ''}`,
          }
        const chosen = ports.filter((_, i) => answers[i] === true)
        if (chosen.length > 1 && !name.includes('%d'))
          yield {
            ...place,
            sentence: `The expression matches ${chosen.length} links of ${server} (${some(chosen.map((link) => link.name))}), so Talos gives the alias ${name} to none of them. A name such as net%d numbers them`,
          }
      }
    },
  },
  ...volumeRules,
  ...volumeLimitInventoryRules,
  ...storageInventoryRules,
  ...gatewayRules,
  ...resourceRules,
  ...systemDiskRules,
  ...imageRules,
  ...tpmRules,
  ...registrationRules,
  ...nameServerInventoryRules,
  ...peerRules,
  ...otherRules,
  {
    id: 'disk-that-is-not-there',
    source:
      'Talos internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, MountUserDisks',
    level: 'warn',
    *find({ main }, { server, disks }) {
      if (disks === null) return
      for (const { path } of main.items('machine', 'disks')) {
        const device = main.text(...path, 'device')
        if (/^\/dev\/[^/]+$/.test(device) && !disks.some((disk) => disk.path === device))
          yield {
            document: main,
            path: [...path, 'device'],
            sentence: `${server} has no disk ${device}. It has ${some(disks.map((disk) => disk.path))}`,
          }
      }
    },
  },
  {
    id: 'address-of-another',
    source: 'RFC 5227: two machines with one address cut each other off',
    level: 'refuse',
    *find(config, { taken }) {
      for (const { text, ...place } of [...config.virtualAddresses(), ...config.addresses()]) {
        const [address] = text.split('/', 1)
        const other = taken.find((one) => isSame(one.address, address!))
        if (other !== undefined)
          yield { ...place, sentence: `${address} is the address of ${other.by} already` }
      }
    },
  },
  {
    id: 'address-of-gateway',
    source: 'RFC 5227: an address that two machines have; the server would lose its gateway',
    level: 'refuse',
    *find(config, { server, gateways = [] }) {
      for (const { text, ...place } of [...config.virtualAddresses(), ...config.addresses()]) {
        const [address] = text.split('/', 1)
        if (gateways.some((one) => isSame(one, address!)))
          yield { ...place, sentence: `${address} is the gateway of ${server}` }
      }
    },
  },
  {
    id: 'virtual-address-that-is-taken',
    source:
      'Talos internal/app/machined/pkg/controllers/network/operator/vip.go: the address moves from one control plane to another, so none may have it for itself',
    level: 'refuse',
    *find(config, { server, addresses }) {
      for (const { text, ...place } of config.virtualAddresses())
        if (addresses?.some((one) => isSame(one, text)))
          yield {
            ...place,
            sentence: `${text} can’t be a virtual address: ${server} has it already, perhaps by DHCP`,
          }
    },
  },
  {
    id: 'virtual-address-network',
    source:
      'Talos internal/app/machined/pkg/controllers/network/operator/vip.go announces it by ARP, which only machines of its network hear; RFC 1122, 3.2.1.3',
    level: 'warn',
    *find(config, { server, links, addresses }) {
      if (links === null || addresses === null) return
      const networks = [
        ...links.flatMap((link) => link.addresses),
        ...config.addresses().map(({ text }) => text),
      ].filter((text) => !/\/(32|128)$|^fe80|^127\.|^::1/i.test(text) && text.includes('/'))
      if (networks.length === 0) return
      for (const { text, ...place } of config.virtualAddresses()) {
        if (bits(text) === null) continue
        const own = networks.find((network) => holds(network, text))
        if (own === undefined)
          yield {
            ...place,
            sentence: `${text} is in no network of ${server} (${some(networks)}), so other machines may not reach it`,
          }
        else if (isEdge(own, text))
          yield {
            ...place,
            sentence: `${text} is the network or broadcast address of ${own}, so nobody reaches it`,
          }
      }
    },
  },
  {
    id: 'link-that-exists',
    source:
      'Talos internal/app/machined/pkg/controllers/network/link_spec.go, syncLink: a link of another kind with this name is removed first, which Linux refuses for a port',
    level: 'warn',
    *find(config, { server, links }) {
      for (const { name, ...place } of config.madeLinks())
        if (links?.some((link) => link.physical && link.name === name))
          yield {
            ...place,
            sentence: `${server} has a port ${name} already, so no other link can have this name`,
          }
    },
  },
  {
    id: 'ipv6-switched-off',
    source: disablesSource,
    level: 'warn',
    *find({ main }, { server, addresses }) {
      const six = (addresses ?? []).filter((one) => one.includes(':'))
      if (six.length > 0 && six.length < addresses!.length)
        for (const { path, key } of disabledSix(main))
          yield {
            document: main,
            path,
            sentence: `${server} loses its IPv6 addresses (${some(six)}) with ${key}`,
          }
    },
  },
  {
    id: 'only-ipv6-switched-off',
    source: disablesSource,
    level: 'refuse',
    *find({ main }, { server, addresses }) {
      if (addresses && addresses.length > 0 && addresses.every((one) => one.includes(':')))
        for (const { path, key } of disabledSix(main))
          yield {
            document: main,
            path,
            sentence: `${server} has only IPv6 addresses (${some(addresses)}), and loses them with ${key}`,
          }
    },
  },
  {
    id: 'no-address-in-network',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/nodeip.go and etcd/spec.go: without an address in the networks the component waits',
    level: 'warn',
    *find(config, { server, addresses }) {
      if (addresses === null) return
      const { main } = config
      const own = [...addresses, ...config.addresses().map(({ text }) => text.split('/', 1)[0]!)]
      for (const { path, what } of chosenFrom(config)) {
        const networks = main.texts(...path).map(({ text }) => text)
        const wanted = networks.filter((text) => !text.startsWith('!'))
        // A list that only takes away is another rule's.
        if (wanted.length > 0 && filtered(own, networks, holds).length === 0)
          yield {
            document: main,
            path,
            sentence: `${server} has no address in ${some(networks)}, so ${what} does not start. It has ${some(addresses)}`,
          }
      }
    },
  },
  {
    id: 'etcd-address-unheard',
    source:
      'Talos internal/app/machined/pkg/controllers/etcd/spec.go: other members call the advertised addresses, and etcd listens on those of listenSubnets',
    level: 'warn',
    *find(config, { server, addresses }) {
      if (addresses === null || config.isWorker) return
      const { main } = config
      const own = [...addresses, ...config.addresses().map(({ text }) => text.split('/', 1)[0]!)]
      const listsOf = (key: string) => main.texts('cluster', 'etcd', key).map(({ text }) => text)
      const [said, heard] = [listsOf('advertisedSubnets'), listsOf('listenSubnets')]
      if (said.length === 0 || heard.length === 0) return
      const [told, listened] = [filtered(own, said, holds), filtered(own, heard, holds)]
      // A list without an address of the server is another rule's.
      if (told.length === 0 || listened.length === 0) return
      const deaf = told.filter((one) => !listened.includes(one))
      if (deaf.length === told.length)
        yield {
          document: main,
          path: ['cluster', 'etcd', 'listenSubnets'],
          sentence: `etcd of ${server} tells the others ${some(deaf)} (advertisedSubnets) and listens on ${some(listened)} only, so no other member reaches it`,
        }
    },
  },
]

/** All findings in the documents of a merged configuration (`mergePatches`) for one machine. */
export function inventoryFindings(
  documents: readonly ConfigDocument[],
  inventory: Inventory,
  controlPlane: readonly ConfigDocument[] | null = null,
): RuntimeFinding[] {
  const config = new Configuration(documents, undefined, controlPlane)
  return inventoryRules.flatMap((rule) =>
    Array.from(rule.find(config, inventory), (hit) => findingOf(rule, hit)),
  )
}
