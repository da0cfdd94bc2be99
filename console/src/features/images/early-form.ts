/** The part of "Prepare image" about what servers know before they reach Steelyard. */
import * as z from 'zod/mini'
import { addressTable, type EarlyDocuments, isEmptyEarly } from '#contract/images/early.ts'

export const reaches = ['dhcp', 'static', 'documents'] as const
export type Reach = (typeof reaches)[number]
export const reachNames: Readonly<Record<Reach, string>> = {
  dhcp: 'DHCP',
  static: 'Static addresses',
  documents: 'Bond or VLAN',
}

/** All as typed. */
export const EarlyDraft = z.object({
  reach: z.enum(reaches),
  addresses: z.string(),
  nameServers: z.string(),
  documents: z.string(),
  trustedRoots: z.string(),
  timeServers: z.string(),
  mirrors: z.string(),
})
export type EarlyDraft = z.infer<typeof EarlyDraft>

export const blankEarly: EarlyDraft = {
  reach: 'dhcp',
  addresses: '',
  nameServers: '',
  documents: '',
  trustedRoots: '',
  timeServers: '',
  mirrors: '',
}

/** A bond of two links with a VLAN and DHCP on it, for the user to adapt. */
export const bondWithVlan = `apiVersion: v1alpha1
kind: BondConfig
name: bond0
links: [eno1, eno2]
bondMode: 802.3ad
miimon: 100
updelay: 200
downdelay: 200
---
apiVersion: v1alpha1
kind: VLANConfig
name: bond0.40
vlanID: 40
parent: bond0
up: true
---
apiVersion: v1alpha1
kind: DHCPv4Config
name: bond0.40
`

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')
const certificates = (text: string): string[] =>
  text
    .split(/(?<=-----END CERTIFICATE-----)\s+/)
    .map((pem) => pem.trim())
    .filter((pem) => pem !== '')

/** The body's part, or null if the servers need nothing of it. */
export function earlyOf(draft: EarlyDraft): EarlyDocuments | null {
  const names = draft.reach === 'dhcp' ? [] : words(draft.nameServers)
  const early: EarlyDocuments = {
    trusted_roots: certificates(draft.trustedRoots),
    network:
      draft.reach === 'dhcp'
        ? null
        : {
            static_addresses: draft.reach === 'static' ? addressTable(draft.addresses) : [],
            name_servers: names,
            documents: draft.reach === 'documents' ? draft.documents : '',
          },
    time_servers: words(draft.timeServers),
    registry_mirrors: draft.mirrors
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => {
        const at = line.indexOf('=')
        return {
          registry: line.slice(0, at === -1 ? line.length : at),
          endpoints: words(line.slice(at === -1 ? line.length : at + 1)),
        }
      }),
  }
  return isEmptyEarly(early) ? null : early
}

/** Fills the form from an earlier image. */
export const earlyDraftOf = (early: EarlyDocuments | undefined): EarlyDraft => {
  if (early === undefined) return blankEarly
  const { network } = early
  return {
    reach: network === null ? 'dhcp' : network.documents.trim() === '' ? 'static' : 'documents',
    addresses: (network?.static_addresses ?? [])
      .map(({ mac, address, gateway }) => [mac, address, gateway ?? ''].join(' ').trim())
      .join('\n'),
    nameServers: (network?.name_servers ?? []).join(' '),
    documents: network?.documents ?? '',
    trustedRoots: early.trusted_roots.join('\n'),
    timeServers: early.time_servers.join(' '),
    mirrors: early.registry_mirrors
      .map(({ registry, endpoints }) => `${registry}=${endpoints.join(',')}`)
      .join('\n'),
  }
}

const fieldOf: readonly (readonly [prefix: string, keyof EarlyDraft])[] = [
  ['early.trusted_roots', 'trustedRoots'],
  ['early.network.static_addresses', 'addresses'],
  ['early.network.name_servers', 'nameServers'],
  ['early.network', 'documents'],
  ['early.time_servers', 'timeServers'],
  ['early.registry_mirrors', 'mirrors'],
]

/** The field and the sentence of an error of the API, such as at `early.network.documents`. */
export function earlyError(path: string, sentence: string): [keyof EarlyDraft, string] | null {
  if (path !== 'early' && !path.startsWith('early.')) return null
  const [prefix, field] = fieldOf.find(([prefix]) => path.startsWith(prefix)) ?? [
    path,
    'trustedRoots' as const,
  ]
  const index = /^\.(\d+)/.exec(path.slice(prefix.length))?.[1]
  return [field, index === undefined ? sentence : `Row ${Number(index) + 1}: ${sentence}`]
}

/** Options of `steelyard image create`. What takes several lines is in files with these names. */
export const earlyOptions = (draft: EarlyDraft) => ({
  'trusted-root': draft.trustedRoots.trim() === '' ? undefined : 'authority.pem',
  network: draft.reach === 'documents' ? 'network.yaml' : undefined,
  addresses: draft.reach === 'static' ? 'addresses.txt' : undefined,
  'name-server': draft.reach === 'dhcp' ? [] : words(draft.nameServers),
  'time-server': words(draft.timeServers),
  'registry-mirror': draft.mirrors
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== ''),
})
