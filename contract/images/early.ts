/**
 * What servers of an image know before they reach Steelyard: authorities, addresses, time servers
 * and registries of their site. It is written as small Talos documents into the image.
 */
import * as z from 'zod/mini'
import { type Cidr, contains, parseAddress, parseCidr, readCidr } from '../network/addresses.ts'

export const earlyLimits = {
  trustedRoots: 16,
  rootBytes: 16 * 1024,
  staticAddresses: 256,
  nameServers: 8,
  timeServers: 8,
  mirrors: 32,
  endpoints: 8,
  documentsBytes: 32 * 1024,
  /** Of all documents together, as they stand in an image. */
  bytes: 64 * 1024,
} as const

const pemPattern =
  /^\s*(?:-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/
const root = z.string().check(
  z.maxLength(earlyLimits.rootBytes, 'A certificate has at most 16 KiB'),
  z.refine((text) => !text.includes('PRIVATE KEY'), {
    error: 'This is a private key. An image takes certificates only, because the factory keeps it',
    abort: true,
  }),
  z.regex(pemPattern, 'Enter certificates as PEM: -----BEGIN CERTIFICATE----- …'),
)

const host = z
  .string()
  .check(
    z.trim(),
    z.maxLength(253),
    z.regex(/^[A-Za-z0-9.:_-]+$/, 'Enter a host name or an IP address'),
  )
const ip = z.string().check(
  z.trim(),
  z.maxLength(45),
  z.refine((text) => parseAddress(text) !== null, { error: 'Enter an IP address' }),
)

/** An address with the length of its network, such as `10.0.0.5/24`. */
function isInterfaceAddress(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const parsed = parseAddress(address)
  return (
    parsed !== null &&
    more.length === 0 &&
    /^\d{1,3}$/.test(prefix ?? '') &&
    Number(prefix) >= 1 &&
    Number(prefix) <= (parsed.family === 4 ? 32 : 128)
  )
}

/** The network of an interface's address, such as 10.0.0.0/24 of 10.0.0.5/24. */
function networkOf(address: string): Cidr | null {
  const read = readCidr(address)
  return read.ok ? read.cidr : read.corrected === null ? null : parseCidr(read.corrected)
}

/** No packet reaches a gateway outside the network of the address. */
function gatewayProblem({ address, gateway }: { address: string; gateway: string | null }) {
  const [network, parsed] = [networkOf(address), gateway === null ? null : parseAddress(gateway)]
  return network === null || parsed === null || contains(network, parsed)
    ? null
    : `The gateway ${gateway} is not in the network of ${address}`
}

const StaticAddress = z
  .strictObject({
    /** Of the network card that gets the address, as `aa:bb:cc:dd:ee:ff`. */
    mac: z
      .string()
      .check(
        z.trim(),
        z.toLowerCase(),
        z.regex(/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/, 'Enter a MAC address as aa:bb:cc:dd:ee:ff'),
      ),
    /** With the length of its network, such as `10.0.0.5/24`. */
    address: z.string().check(
      z.trim(),
      z.maxLength(49),
      z.refine(isInterfaceAddress, {
        error: 'Enter an address with the length of its network, such as 10.0.0.5/24',
      }),
    ),
    gateway: z._default(z.nullable(ip), null),
  })
  .check(
    z.refine((row) => gatewayProblem(row) === null, {
      path: ['gateway'],
      error: ({ input }) => gatewayProblem(input as { address: string; gateway: string | null })!,
    }),
  )

/** What stands more than once in a column of a table, or undefined. */
const twice = (values: readonly string[]): string | undefined =>
  values.find((value, i) => values.indexOf(value) < i)

const StaticAddresses = z.array(StaticAddress).check(
  z.maxLength(earlyLimits.staticAddresses),
  z.refine((rows) => twice(rows.map((r) => r.mac)) === undefined, {
    error: ({ input }) =>
      `The MAC address ${twice((input as { mac: string }[]).map((r) => r.mac))} stands twice`,
  }),
  z.refine((rows) => twice(rows.map((r) => r.address.split('/')[0]!)) === undefined, {
    error: ({ input }) =>
      `The address ${twice((input as { address: string }[]).map((r) => r.address.split('/')[0]!))} stands twice`,
  }),
)

const endpoint = z.string().check(
  z.trim(),
  z.maxLength(500),
  z.regex(/^https?:\/\/[^\s]+$/, 'Enter an address such as https://registry.example.com'),
  z.refine((text) => !/^https?:\/\/[^/]*@/.test(text), {
    error: 'An address with a password is not possible, because the factory keeps it',
  }),
)

export const EarlyDocuments = z.strictObject({
  /** Authorities that the servers trust, each as PEM. */
  trusted_roots: z._default(z.array(root).check(z.maxLength(earlyLimits.trustedRoots)), []),
  /** Null: DHCP on every link, as Talos does without documents. */
  network: z._default(
    z.nullable(
      z.strictObject({
        static_addresses: z._default(StaticAddresses, []),
        name_servers: z._default(z.array(ip).check(z.maxLength(earlyLimits.nameServers)), []),
        /** Talos documents in YAML, such as BondConfig and VLANConfig. */
        documents: z._default(
          z.string().check(z.maxLength(earlyLimits.documentsBytes, 'At most 32 KiB')),
          '',
        ),
      }),
    ),
    null,
  ),
  time_servers: z._default(z.array(host).check(z.maxLength(earlyLimits.timeServers)), []),
  registry_mirrors: z._default(
    z
      .array(
        z.strictObject({
          /** Host of the registry, such as `ghcr.io`; `*`: all others. */
          registry: z
            .string()
            .check(
              z.trim(),
              z.regex(/^(?:\*|[A-Za-z0-9.:_-]{1,253})$/, 'Enter a host such as ghcr.io'),
            ),
          endpoints: z
            .array(endpoint)
            .check(z.minLength(1, 'Enter an address'), z.maxLength(earlyLimits.endpoints)),
        }),
      )
      .check(
        z.maxLength(earlyLimits.mirrors),
        z.refine((rows) => twice(rows.map((r) => r.registry)) === undefined, {
          error: 'A registry stands twice',
        }),
      ),
    [],
  ),
})
export type EarlyDocuments = z.infer<typeof EarlyDocuments>

/** How the documents get into the image: as a file in it, or as an argument of the kernel. */
export const earlyWays = ['embedded', 'kernel_line'] as const

export const isEmptyEarly = (early: EarlyDocuments): boolean =>
  early.trusted_roots.length === 0 &&
  early.time_servers.length === 0 &&
  early.registry_mirrors.length === 0 &&
  (early.network === null ||
    (early.network.static_addresses.length === 0 &&
      early.network.name_servers.length === 0 &&
      early.network.documents.trim() === ''))

type StaticAddressRow = NonNullable<EarlyDocuments['network']>['static_addresses'][number]

/**
 * Reads a table of static addresses: a line for each network card with its MAC address, its address
 * and, if it has one, its gateway, separated by commas, semicolons, tabs or spaces. A head and empty
 * lines are skipped; the schema checks the values.
 */
export const addressTable = (text: string): StaticAddressRow[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && !/^mac\b/i.test(line))
    .map((line) => {
      const [mac = '', address = '', gateway] = line.split(/[\s,;]+/)
      return { mac: mac.toLowerCase().replaceAll('-', ':'), address, gateway: gateway || null }
    })
