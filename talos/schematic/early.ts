/**
 * Small documents that a machine reads before it asks anybody for its configuration: from a file in
 * its image (Talos since 1.12) or from the kernel argument `talos.config.early` (since 1.11;
 * `internal/app/machined/pkg/controllers/config/acquire.go`). Each source replaces the documents of
 * the one before (`SetConfig`), so whoever answers `talos.config=` has to repeat them.
 */
import { zstdCompressSync, constants } from 'node:zlib'
import { type ConfigDocument, decodeDocuments, documentId, duplicates } from '../config/decode.ts'
import { hiddenIn } from '../config/mask.ts'
import { ConfigError, type ConfigProblem, readDocuments } from '../config/tree.ts'
import { validateDocument } from '../config/validate-documents.ts'
import { patchText } from '../facts/patch.ts'

/** What the documents say. Addresses, hosts and certificates have their right forms already. */
export interface EarlyWishes {
  readonly trusted_roots: readonly string[]
  readonly network: {
    readonly static_addresses: readonly {
      readonly mac: string
      readonly address: string
      readonly gateway: string | null
    }[]
    readonly name_servers: readonly string[]
    readonly documents: string
  } | null
  readonly time_servers: readonly string[]
  readonly registry_mirrors: readonly {
    readonly registry: string
    readonly endpoints: readonly string[]
  }[]
}

/** Why the documents can't be in an image. */
export interface EarlyProblem {
  readonly message: string
  /** Line in the user's documents, from 1; null: another part. */
  readonly line: number | null
}

/** The kernel argument of the documents. */
export const earlyArgument = (packed: string): string => `talos.config.early=${packed}`

/** Documents that a site needs before its servers reach anybody, by kind. */
const allowed = new Set([
  'LinkConfig',
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'DummyLinkConfig',
  'VRFConfig',
  'VethConfig',
  'BlackholeRouteConfig',
  'DHCPv4Config',
  'DHCPv6Config',
  'EthernetConfig',
  'LinkAliasConfig',
  'ResolverConfig',
  'StaticHostConfig',
  'TimeSyncConfig',
  'RegistryMirrorConfig',
  'RegistryTLSConfig',
  'TrustedRootsConfig',
  'RoutingRuleConfig',
  'PCIDriverRebindConfig',
  'KmsgLogConfig',
  'WatchdogTimerConfig',
])

const document = (kind: string, fields: object): object => ({
  apiVersion: 'v1alpha1',
  kind,
  ...fields,
})

/** The alias of the network card with this MAC address. Linux takes names of up to 128 characters. */
const aliasOf = (mac: string): string => `mac-${mac.replaceAll(':', '')}`

/**
 * A card is found by its permanent address, because a bond changes the current one. On machines
 * without such a card the two documents do nothing.
 */
const staticAddress = (row: NonNullable<EarlyWishes['network']>['static_addresses'][number]) => [
  document('LinkAliasConfig', {
    name: aliasOf(row.mac),
    selector: { match: `mac(link.permanent_addr) == "${row.mac}"` },
  }),
  document('LinkConfig', {
    name: aliasOf(row.mac),
    up: true,
    addresses: [{ address: row.address }],
    ...(row.gateway !== null && { routes: [{ gateway: row.gateway }] }),
  }),
]

/** The documents that Steelyard writes; those of the user come after them. */
function written(wishes: EarlyWishes, macs: readonly string[] | undefined): object[] {
  const { trusted_roots: roots, network, time_servers: times, registry_mirrors: mirrors } = wishes
  const rows = network?.static_addresses ?? []
  const names = network?.name_servers ?? []
  return [
    ...roots.map((certificates, i) =>
      document('TrustedRootsConfig', {
        name: `image-${i + 1}`,
        certificates: `${certificates.trim()}\n`,
      }),
    ),
    ...rows.filter(({ mac }) => macs === undefined || macs.includes(mac)).flatMap(staticAddress),
    ...(names.length > 0
      ? [document('ResolverConfig', { nameservers: names.map((address) => ({ address })) })]
      : []),
    ...(times.length > 0 ? [document('TimeSyncConfig', { ntp: { servers: times } })] : []),
    ...mirrors.map(({ registry, endpoints }) =>
      document('RegistryMirrorConfig', {
        name: registry,
        endpoints: endpoints.map((url) => ({ url })),
      }),
    ),
  ]
}

/**
 * The text of the documents.
 * @param macs of one machine: without the addresses of other machines. Undefined: those of all
 */
export function earlyText(wishes: EarlyWishes, macs?: readonly string[]): string {
  const own = (wishes.network?.documents ?? '').trim().replace(/^---\s*\n/, '')
  const ours = patchText(written(wishes, macs))
  return own === '' ? ours : ours === '' ? `${own}\n` : `${ours}---\n${own}\n`
}

/** Why a document can't be in an image, or undefined. */
function kindProblem({ shape }: ConfigDocument): string | undefined {
  const { kind } = shape
  if (kind === '')
    return 'The main document (machine, cluster) can’t be in an image: Steelyard sends it when the server joins a cluster'
  if (kind === 'HostnameConfig')
    return 'HostnameConfig can’t be in an image: Steelyard gives each server its name'
  return allowed.has(kind)
    ? undefined
    : `${kind} can’t be in an image: it takes documents of the network, trusted authorities, time servers and registries`
}

function problemsIn(yaml: string, talosVersion: string): ConfigProblem[] {
  const { documents, problems } = decodeDocuments(readDocuments(yaml, 'documents'), {
    talosVersion,
  })
  const kinds = documents.flatMap((one) => {
    const message = kindProblem(one)
    return message === undefined ? [] : [{ message, line: one.root.line }]
  })
  if (problems.length > 0 || kinds.length > 0) return [...kinds, ...problems]
  const invalid = [
    ...duplicates(documents),
    ...documents.flatMap((one) => validateDocument(one, talosVersion).errors),
  ]
  if (invalid.length > 0) return invalid
  const secret = new Set(
    hiddenIn(yaml, 'may_read_secrets').map(({ from }) => {
      const line = yaml.slice(0, from).split('\n').length
      return documents.findLast((one) => (one.root.line ?? 1) <= line)!
    }),
  )
  return [...secret].map((one) => ({
    message: `${documentId(one)} has a secret, which can’t be in an image: the factory keeps the image’s documents`,
    line: one.root.line,
  }))
}

export interface Early {
  /** The documents of all machines. */
  readonly text: string
  readonly problems: readonly EarlyProblem[]
  /** The text as the value of the kernel argument: zstd in base64. Empty with problems. */
  readonly packed: string
}

/**
 * Writes and checks the documents of an image, by the rules of its Talos version. Never throws. For
 * the reading thread: a user has written a part of the text.
 */
export function earlyDocuments(wishes: EarlyWishes, talosVersion: string): Early {
  const text = earlyText(wishes)
  const ours = patchText(written(wishes, undefined))
  /** Lines before the user's text. */
  const before = ours === '' ? 0 : ours.split('\n').length
  let found: ConfigProblem[]
  try {
    found = problemsIn(text, talosVersion)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    found = [...error.problems]
  }
  const problems = found.slice(0, 20).map(({ message, line }) => ({
    message,
    line: line !== undefined && line > before ? line - before : null,
  }))
  const packed =
    problems.length > 0
      ? ''
      : zstdCompressSync(text, {
          params: { [constants.ZSTD_c_compressionLevel]: 19 },
        }).toString('base64')
  return { text, problems, packed }
}
