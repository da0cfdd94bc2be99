/** Name servers, host entries, time servers, search domains and names in certificates. */
import type { Report } from '../config/report.ts'
import { isAddress, isDnsName, isHostPort } from '../config/formats.ts'
import { addressOf, includes } from '../network-effect/addresses.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from './rule.ts'

const network = ['machine', 'network'] as const
const etcFile = 'Talos internal/app/machined/pkg/controllers/network/etcfile.go'
const bridge = 'Talos pkg/machinery/config/types/v1alpha1/v1alpha1_network_bridge.go, Resolvers'
const ntp = 'Talos internal/pkg/ntp/ntp.go, resolveServers'

const nameServers = (config: Configuration) => [
  ...config.main
    .texts(...network, 'nameservers')
    .map(({ path, text }) => ({ document: config.main, path, text })),
  ...config.of('ResolverConfig').flatMap((document) =>
    document.items('nameservers').map(({ path }) => ({
      document,
      path: [...path, 'address'],
      text: document.text(...path, 'address'),
    })),
  ),
]

const textsIn = (document: Report, path: readonly string[]) =>
  document.texts(...path).map((found) => ({ document, ...found }))

const timeServers = (config: Configuration) => [
  ...textsIn(config.main, ['machine', 'time', 'servers']),
  ...config.of('TimeSyncConfig').flatMap((document) => textsIn(document, ['ntp', 'servers'])),
]

/** Networks in which no other machine answers (RFC 6890). */
const nowhere = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/127',
  'ff00::/8',
]

/** What a text has that an address or a name must not have, as part of a sentence. */
function advice(text: string): string {
  if (text === '') return 'it is empty'
  if (text !== text.trim()) return `it has spaces; write ${quoted(text.trim())}`
  if (isHostPort(text) && !isAddress(text)) return 'it must have no port'
  if (/^[a-z]+:\/\//i.test(text)) return 'it must not be a URL'
  return 'it is neither an address nor a DNS name'
}

const isHost = (text: string): boolean => isAddress(text) || isDnsName(text)

function* hostEntries(config: Configuration): Generator<{
  document: Report
  address: { path: string[]; text: string } | null
  names: { path: string[]; text: string }[]
  path: string[]
}> {
  const { main } = config
  for (const { path } of main.items(...network, 'extraHostEntries'))
    yield {
      document: main,
      path,
      address: { path: [...path, 'ip'], text: main.text(...path, 'ip') },
      names: main.texts(...path, 'aliases'),
    }
  for (const document of config.of('StaticHostConfig'))
    yield { document, path: ['hostnames'], address: null, names: document.texts('hostnames') }
}

export const nameRules: readonly RuntimeRule[] = [
  {
    id: 'name-server-address',
    source: bridge,
    level: 'refuse',
    *find(config) {
      for (const { path, text } of textsIn(config.main, [...network, 'nameservers']))
        if (!isAddress(text)) {
          const why =
            text === ''
              ? 'it is empty'
              : text !== text.trim()
                ? `it has spaces; write ${quoted(text.trim())}`
                : isHostPort(text)
                  ? 'it must have no port'
                  : 'it must be an address'
          yield {
            document: config.main,
            path,
            sentence: `The name server ${quoted(text)} can’t be used: ${why}. Talos leaves it out without a word`,
          }
        }
    },
  },
  {
    id: 'name-servers-at-most-three',
    source: `${etcFile}, renderResolvConf`,
    level: 'warn',
    *find(config) {
      const [, , , fourth] = nameServers(config)
      if (fourth !== undefined)
        yield {
          ...fourth,
          sentence: `Only the first three name servers reach /etc/resolv.conf; ${fourth.text} is the fourth`,
        }
    },
  },
  {
    id: 'search-domain',
    source: `${etcFile}, renderResolvConf; resolv.conf(5)`,
    level: 'refuse',
    *find(config) {
      const found = [
        ...textsIn(config.main, [...network, 'searchDomains']),
        ...config
          .of('ResolverConfig')
          .flatMap((document) => textsIn(document, ['searchDomains', 'domains'])),
      ]
      for (const { text, ...place } of found)
        if (text !== '.' && !isDnsName(text))
          yield { ...place, sentence: `The search domain ${quoted(text)} is not a DNS name` }
    },
  },
  {
    id: 'host-entry-address',
    source: `${etcFile}, renderHosts`,
    level: 'refuse',
    *find(config): Generator<Hit> {
      for (const { document, address } of hostEntries(config))
        if (address !== null && !isAddress(address.text))
          yield {
            document,
            path: address.path,
            sentence: `The host entry ${quoted(address.text)} is not an address, so its names lead nowhere`,
          }
    },
  },
  {
    id: 'host-entry-names',
    source: `${etcFile}, renderHosts; hosts(5)`,
    level: 'refuse',
    *find(config): Generator<Hit> {
      for (const { document, path, names } of hostEntries(config)) {
        if (names.length === 0)
          yield { document, path, sentence: 'A host entry needs at least one name' }
        for (const name of names)
          if (!isDnsName(name.text))
            yield {
              document,
              path: name.path,
              sentence: `The name ${quoted(name.text)} of a host entry is not a host name`,
            }
      }
    },
  },
  {
    id: 'time-server-name',
    source: ntp,
    level: 'refuse',
    *find(config) {
      for (const { text, ...place } of timeServers(config))
        if (!isHost(text) && !/^\/dev\/\S+$/.test(text))
          yield {
            ...place,
            sentence: `The time server ${quoted(text)} can’t be found: ${advice(text)}`,
          }
    },
  },
  {
    id: 'certificate-name',
    source:
      'RFC 5280, 4.2.1.6; Talos internal/app/machined/pkg/controllers/secrets/api_cert_sans.go',
    level: 'refuse',
    *find(config) {
      for (const path of [
        ['machine', 'certSANs'],
        ['cluster', 'apiServer', 'certSANs'],
      ])
        for (const { text, ...place } of textsIn(config.main, path))
          if (!isHost(text.replace(/^\*\./, '')))
            yield {
              ...place,
              sentence: `The name ${quoted(text)} for the certificate can’t be used: ${advice(text)}`,
            }
    },
  },
  {
    id: 'server-on-itself',
    source:
      'RFC 6890; Talos internal/app/machined/pkg/controllers/network/dns_upstream.go and internal/pkg/ntp: the servers are asked before the first container runs',
    level: 'warn',
    *find(config) {
      const found = [
        ...nameServers(config).map((one) => ({ ...one, what: 'name server' })),
        ...timeServers(config).map((one) => ({ ...one, what: 'time server' })),
      ]
      for (const { text, what, ...place } of found) {
        const address = addressOf(text)
        if (address && nowhere.some((network) => includes(network, address)))
          yield {
            ...place,
            sentence: `${text} leads the server to itself or to nobody, so the ${what} does not answer while the server boots`,
          }
      }
    },
  },
]
