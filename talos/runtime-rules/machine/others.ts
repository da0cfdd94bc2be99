/** Addresses and keys that the patches of other servers give those as well. */
import { addressOf } from '../../network-effect/addresses.ts'
import { readNetwork } from '../../network-effect/read.ts'
import { ConfigError, readDocuments } from '../../config/tree.ts'
import { Report } from '../../config/report.ts'
import { type Inventory, type InventoryRule, some } from '../known.ts'
import type { Configuration } from '../rule.ts'

/** What a patch gives a server that no other server may have. */
interface Given {
  readonly addresses: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
}

/** One spelling of an address; null for a text that is none, and for those that many may have. */
function spelled(text: string): string | null {
  const address = addressOf(text.split('/', 1)[0]!)
  if (address === undefined || /^(127\.|169\.254\.|fe[89ab]|::1)/i.test(text)) return null
  return `${address.family} ${address.value}`
}

const plain = (address: string): string[] => {
  const one = spelled(address)
  return one === null ? [] : [one]
}

/** Links whose addresses are often those of several servers, such as anycast on a dummy link. */
const isShared = ({ name, kind }: { readonly name: string; readonly kind: string }): boolean =>
  name === 'lo' || kind === 'dummy'

/** The places of the private keys of WireGuard in a document, in both forms. */
function* keysOf(document: Report): Generator<{ path: string[]; text: string }> {
  if (document.text('kind') === 'WireguardConfig')
    yield { path: ['privateKey'], text: document.text('privateKey') }
  for (const { path } of document.items('machine', 'network', 'interfaces')) {
    const at = [...path, 'wireguard', 'privateKey']
    yield { path: at, text: document.text(...at) }
  }
}

/** What a body gives; nothing if it can't be read, which its own check says. */
function givenBy(body: string): Given {
  try {
    const { devices, links } = readNetwork(body)
    const addressed = [
      ...devices.flatMap((one) => [one, ...one.vlans.map((vlan) => ({ ...one, ...vlan }))]),
      ...links,
    ]
    const keys = readDocuments(body, '').flatMap((root) => [...keysOf(new Report(root))])
    return {
      addresses: new Set(
        addressed.flatMap((one) => (isShared(one) ? [] : one.addresses.flatMap(plain))),
      ),
      keys: new Set(keys.map(({ text }) => text).filter((text) => text !== '')),
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { addresses: new Set(), keys: new Set() }
  }
}

const given = ({ beside = [] }: Inventory) =>
  beside.map(({ by, body }) => ({ by, ...givenBy(body) }))
/** `fox and owl`, each once. */
const named = (servers: readonly { readonly by: string }[]): string =>
  some([...new Set(servers.map(({ by }) => by))])

/** Addresses that a configuration gives to links of its own. */
function* ownAddresses(config: Configuration) {
  const dummies = new Set([
    'lo',
    ...config.of('DummyLinkConfig').map((one) => one.text('name')),
    ...config
      .interfaces()
      .filter((path) => config.main.flag(...path, 'dummy'))
      .map((path) => config.main.text(...path, 'interface')),
  ])
  for (const { document, path, text } of config.addresses()) {
    const at = path.indexOf('interfaces')
    const link =
      at === -1 ? document.text('name') : document.text(...path.slice(0, at + 2), 'interface')
    if (!dummies.has(link)) yield { document, path, text }
  }
}

const wayOut =
  'A shared patch can take it from a variable that each server fills, such as {{address}} or a label ({{label.KEY}})'

export const otherRules: readonly InventoryRule[] = [
  {
    id: 'address-of-anothers-patch',
    source: 'RFC 5227: two machines with one address cut each other off; siderolabs/talos#7726',
    level: 'warn',
    *find(config, inventory) {
      const others = given(inventory)
      if (others.length === 0) return
      for (const { text, ...place } of ownAddresses(config)) {
        const own = spelled(text)
        const same = others.filter(({ addresses }) => own !== null && addresses.has(own))
        if (same.length > 0)
          yield {
            ...place,
            sentence: `${text.split('/', 1)[0]!} is also the address that patches give ${named(same)}, and two servers with one address cut each other off. ${wayOut}`,
          }
      }
    },
  },
  {
    id: 'key-of-anothers-patch',
    source:
      'WireGuard, "Protocol and Cryptography": a peer is its public key, so two machines with one key take the connection from each other',
    level: 'warn',
    *find(config, inventory) {
      const others = given(inventory)
      if (others.length === 0) return
      for (const document of config.documents())
        for (const { path, text } of keysOf(document)) {
          const same = others.filter(({ keys }) => text !== '' && keys.has(text))
          if (same.length > 0)
            yield {
              document,
              path,
              sentence: `Patches give ${named(same)} the same private key of WireGuard, and two servers with one key take the connection from each other. ${wayOut}`,
            }
        }
    },
  },
]
