/**
 * Offers: what is sold, one per cluster. Software in the cluster acts for the offer with the
 * cluster's own key: it proves that it holds the key of the offer's access address, and only then
 * is the offer in use.
 */
import * as z from 'zod/mini'
import { codeText } from '../bounds/fields.ts'
import { capacityOf, computeUnits, type Hardware } from '../capacity.ts'
import { addressPattern, offerIdPattern } from '../clusters/clusters.ts'
import { list, listOperation } from '../list.ts'
import { operation, type Words } from '../operation.ts'
import { changed, time } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { counted } from '../words.ts'
import { hourlyTotal, Price, priceShown } from './money.ts'
import { OfferId } from './offer-id.ts'

export { OfferId, offerIdSentence } from './offer-id.ts'

export const offerStatuses = ['draft', 'listed', 'withdrawn'] as const
export type OfferStatus = (typeof offerStatuses)[number]

/** The backend also checks the checksum in the letters' case (EIP-55). */
export const AccessAddress = z
  .string()
  .check(z.regex(addressPattern, 'An address is 0x and 40 hexadecimal digits'))

/** Capacity of an offer. If the hardware of a server is unknown, the sums are unknown. */
export const OfferResources = z.object({
  servers: z.int(),
  /** Servers with unknown hardware. */
  unknown_servers: z.int(),
  compute_units: z.nullable(z.int()),
  vcpu: z.nullable(z.int()),
  memory_bytes: z.nullable(z.number().check(z.gte(0))),
  disk_bytes: z.nullable(z.number().check(z.gte(0))),
})
export type OfferResources = z.infer<typeof OfferResources>
type ResourceKey = keyof OfferResources

export const Offer = z.object({
  id: OfferId,
  /** Null after the cluster was removed. */
  cluster: z.nullable(z.object({ id: z.uuid(), name: codeText })),
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  status: z.enum(offerStatuses),
  /** As of `computed_at`, not live: what is sold changes only by a decision of the provider. */
  resources: OfferResources,
  computed_at: time,
  price: z.nullable(Price),
  access_address: z.nullable(codeText),
  /**
   * When software last proved that it holds the key of the access address. Null again after the
   * address was changed or the offer was withdrawn.
   */
  proven_at: z.nullable(time),
  /**
   * True if the possession of the access address's key was proved, and nothing has ended that
   * proof.
   */
  in_use: z.boolean(),
  ...changed,
})
export type Offer = z.infer<typeof Offer>

const noCapacity = { cores: null, memory_bytes: null, disk_bytes: null }
/** Sums the hardware of an offer's servers; null for a server whose hardware is unknown. */
export function resourcesOf(servers: readonly (Hardware | null)[]): OfferResources {
  const each = servers.map((hardware) => {
    const { cores, memory_bytes, disk_bytes } =
      hardware === null ? noCapacity : capacityOf(hardware)
    // One core is sold as two vCPUs.
    return {
      compute_units: hardware && computeUnits(hardware),
      vcpu: cores === null ? null : 2 * cores,
      memory_bytes,
      disk_bytes,
    }
  })
  const sum = (key: keyof (typeof each)[number]): number | null => {
    const values = each.map((one) => one[key])
    return values.includes(null) ? null : values.reduce<number>((total, value) => total + value!, 0)
  }
  return {
    servers: servers.length,
    unknown_servers: each.filter((one) => one.compute_units === null).length,
    compute_units: sum('compute_units'),
    vcpu: sum('vcpu'),
    memory_bytes: sum('memory_bytes'),
    disk_bytes: sum('disk_bytes'),
  }
}

/**
 * The amounts of `OfferResources` with their labels and formats, in the order in which they are
 * shown.
 */
export const resourceLabels: Readonly<
  Record<ResourceKey, readonly [label: string, kind: 'number' | 'memory' | 'disk']>
> = {
  servers: ['Servers', 'number'],
  unknown_servers: ['Servers with unknown hardware', 'number'],
  compute_units: ['Compute units', 'number'],
  vcpu: ['vCPU', 'number'],
  memory_bytes: ['Memory', 'memory'],
  disk_bytes: ['Disk', 'disk'],
}
export const resourceKeys = Object.keys(resourceLabels) as ResourceKey[]

/** The amounts that differ. */
export const changedResources = (before: OfferResources, after: OfferResources): ResourceKey[] =>
  resourceKeys.filter((key) => before[key] !== after[key])

export const accessStates = ['unset', 'unproven', 'in_use'] as const
/**
 * unset: there is no access address. unproven: nobody has proved yet that they hold the address's
 * key.
 */
export const accessOf = (
  o: Pick<Offer, 'access_address' | 'in_use'>,
): (typeof accessStates)[number] =>
  o.access_address === null ? 'unset' : o.in_use ? 'in_use' : 'unproven'

const moves: Readonly<Record<OfferStatus, readonly OfferStatus[]>> = {
  draft: ['listed', 'withdrawn'],
  listed: ['withdrawn'],
  withdrawn: ['listed'],
}

/**
 * Whether an offer may change its status. A listed offer says what is sold, where, and for how
 * much.
 */
export function canBecomeOffer(
  o: Pick<Offer, 'status' | 'cluster' | 'price' | 'resources'>,
  to: OfferStatus,
): Verdict {
  if (o.status === to)
    return no(to === 'draft' ? 'The offer is a draft already' : `The offer is ${to} already`)
  if (!moves[o.status].includes(to))
    return no(`The offer is ${o.status}: it cannot become a draft again`)
  if (to !== 'listed') return yes
  if (o.cluster === null)
    return no('The cluster of this offer was removed, so there is nothing to sell')
  if (o.price === null) return no('Set a price first')
  if (o.resources.unknown_servers > 0)
    return no(
      `The hardware of ${counted(o.resources.unknown_servers, 'server')} is unknown. Update the resources once Steelyard has read it`,
    )
  return yes
}

/** Whether the resources of an offer can be computed again. */
export const canRecompute = (o: Pick<Offer, 'cluster'>): Verdict =>
  o.cluster === null
    ? no('The cluster of this offer was removed, so there are no servers to count')
    : yes

/**
 * Whether the computed resources can replace those of an offer. A listed offer never has unknown
 * resources.
 */
export const canHaveResources = (
  o: Pick<Offer, 'status'>,
  { unknown_servers: unknown }: OfferResources,
): Verdict =>
  o.status === 'listed' && unknown > 0
    ? no(
        `The hardware of ${counted(unknown, 'server')} is unknown, and the offer is listed: it keeps its resources until Steelyard has read it`,
      )
    : yes

/** Whether software may prove that it holds the key of the offer's access address. */
export function canProve(o: Pick<Offer, 'status' | 'cluster' | 'access_address'>): Verdict {
  if (o.cluster === null) return no('The cluster of this offer was removed')
  if (o.status === 'withdrawn') return no('The offer is withdrawn')
  return o.access_address === null ? no('The offer has no access address yet') : yes
}

/**
 * The total price of an hour, such as "4.80 EUR"; null without a price or with unknown resources.
 */
export const hourlyTotalOf = ({
  price,
  resources,
}: Pick<Offer, 'price' | 'resources'>): string | null => price && hourlyTotal(price, resources)

const offers = list<Offer>()({
  nouns: ['offer', 'offers'],
  columns: {
    id: { label: 'Offer', kind: 'mono', value: (o: Offer) => o.id },
    cluster: { label: 'Cluster', sort: true, value: (o: Offer) => o.cluster?.name ?? null },
    datacenter: {
      label: 'Datacenter',
      sort: true,
      value: (o: Offer) => o.datacenter?.code ?? null,
    },
    compute_units: {
      label: 'CU',
      kind: 'number',
      sort: true,
      value: (o: Offer) => o.resources.compute_units,
    },
    price: { label: 'Price', value: (o: Offer) => o.price && priceShown(o.price) },
    access: { label: 'Access', kind: 'word', value: accessOf },
    status: { label: 'Status', kind: 'word', sort: true, value: (o: Offer) => o.status },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (o: Offer) => o.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only offers with this status', choices: offerStatuses },
    datacenter: {
      label: 'Datacenter',
      help: 'Only offers in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    cluster: { label: 'Cluster', help: 'Only the offer of this cluster, by name or id' },
  },
  order: '-created_at',
})

const byOffer = z.strictObject({ id: OfferId })

export const offerList = listOperation(offers, Offer, {
  name: 'offerList',
  summary: 'The offers, newest first.',
  path: '/v1/offers',
  scope: 'marketplace:read',
})
export const offerGet = operation('offerGet', 'GET /v1/offers/{id}', 'marketplace:read', {
  summary: 'One offer.',
  params: byOffer,
  answer: Offer,
})
export const NewOffer = z.strictObject({
  cluster_id: z.uuid(),
  price: z._default(z.nullable(Price), null),
})
export const offerCreate = operation('offerCreate', 'POST /v1/offers', 'marketplace:write', {
  summary:
    'Make an offer of a cluster, as a draft. Its resources are those that the servers of the cluster have now.',
  body: NewOffer,
  answer: Offer,
  status: 201,
  errors: ['not_found', 'offer_exists', 'conflict'],
})
export const OfferChange = z.strictObject({
  price: z.optional(Price),
  status: z.optional(z.enum(offerStatuses)),
})
export const offerUpdate = operation('offerUpdate', 'PATCH /v1/offers/{id}', 'marketplace:write', {
  summary: 'Change the price of an offer, list it or withdraw it.',
  params: byOffer,
  body: OfferChange,
  answer: Offer,
  errors: ['stale', 'transition_refused'],
})

/** The stored resources of an offer, and those that its cluster has now. */
const Difference = { before: OfferResources, after: OfferResources }
export const offerDifference = operation(
  'offerDifference',
  'GET /v1/offers/{id}/difference',
  'marketplace:read',
  {
    summary:
      'What updating the resources of an offer would change: its resources, and what the servers of its cluster have now.',
    params: byOffer,
    answer: z.object(Difference),
    errors: ['transition_refused'],
  },
)
export const offerRecompute = operation(
  'offerRecompute',
  'POST /v1/offers/{id}/recompute',
  'marketplace:write',
  {
    summary:
      'Update the resources of an offer to what the servers of its cluster have now. The response contains them before and after.',
    params: byOffer,
    answer: z.object({ offer: Offer, ...Difference }),
    errors: ['stale', 'transition_refused'],
  },
)
export const NewAccessAddress = z.strictObject({ address: AccessAddress })
export const offerAccessAddressSet = operation(
  'offerAccessAddressSet',
  'PUT /v1/offers/{id}/access-address',
  'marketplace:write',
  {
    summary:
      'Set the address whose key lets software act for the offer. The offer is in use only after the possession of that key was proved.',
    params: byOffer,
    body: NewAccessAddress,
    answer: Offer,
    errors: ['stale', 'conflict'],
  },
)

/** A challenge can be answered for this long, in ms. */
export const challengeLifetimeMs = 5 * 60_000

/** The text that software signs. `docs/prove-offer.mjs` writes the same text. */
export const proofMessage = ({
  offerId,
  address,
  nonce,
}: {
  offerId: string
  address: string
  nonce: string
}): string =>
  `Steelyard proof of possession\nOffer: ${offerId}\nAddress: ${address}\nNonce: ${nonce}`

export const offerChallenge = operation('offerChallenge', 'POST /v1/offers/{id}/challenge', null, {
  summary:
    'Request a message to sign with the key of the access address. It is valid for five minutes and for one proof. Needs no session.',
  params: byOffer,
  answer: z.object({
    address: z.string(),
    nonce: z.string(),
    message: z.string(),
    expires_at: time,
  }),
  errors: ['transition_refused'],
})
export const offerProve = operation('offerProve', 'POST /v1/offers/{id}/prove', null, {
  summary:
    'Prove the possession of the key of the access address by the signed message of a challenge. Needs no session.',
  params: byOffer,
  body: z.strictObject({
    nonce: z.string().check(z.maxLength(100)),
    signature: z
      .string()
      .check(
        z.regex(
          /^0x[0-9a-fA-F]{128}(?:[0-9a-fA-F]{2})?$/,
          'A signature is 0x and 128 or 130 hexadecimal digits',
        ),
      ),
  }),
  answer: z.object({ offer_id: OfferId, address: z.string(), proven_at: time }),
  errors: ['transition_refused', 'challenge_over', 'wrong_key'],
})

/**
 * The command-line tool that the dialog with the clusters' keys names, for providers of other
 * markets too. `{tool}` and `{version}` are already filled in.
 */
export const OfferTool = z.object({
  name: z.string(),
  version: z.string(),
  update_command: z.string(),
  address_command: z.string(),
})
export type OfferTool = z.infer<typeof OfferTool>
export const offerToolGet = operation('offerToolGet', 'GET /v1/offers/tool', 'signed_in', {
  summary: 'The command-line tool with which offers are updated, and its commands.',
  answer: OfferTool,
})

/**
 * The command that sets an offer's access address. Null if a part is missing or malformed: nobody
 * may copy such a command into a terminal.
 */
export function addressCommand(
  { address_command }: Pick<OfferTool, 'address_command'>,
  { offerId, chainAddress }: ClusterKey,
): string | null {
  if (
    offerId === null ||
    chainAddress === null ||
    !offerIdPattern.test(offerId) ||
    !addressPattern.test(chainAddress)
  )
    return null
  return address_command.replaceAll('{offerId}', offerId).replaceAll('{chainAddress}', chainAddress)
}
/** The parts of a cluster's key that are shown and copied. */
export interface ClusterKey {
  readonly offerId: string | null
  readonly chainAddress: string | null
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Offer: [
      Offer,
      'What is sold of one cluster: its resources, its price, and the address whose key lets software act for it.',
    ],
    OfferResources: [
      OfferResources,
      'Capacity of an offer. Null: unknown, because the hardware of a server is unknown.',
    ],
    OfferTool: [
      OfferTool,
      'The command-line tool for offers. `{offerId}` and `{chainAddress}` in its commands stand for the values of a cluster.',
    ],
  },
  fields: {
    'offerAccessAddressSet.address':
      'Address with the checksum of EIP-55, such as the `chainAddress` of a cluster.',
    amount: 'Decimal number as text, at most 12 digits before and 8 after the point.',
    basis:
      'What an hour at this price pays for: one compute unit, one server, or the whole cluster.',
    cluster_id: 'Id of the cluster that the offer sells. A cluster has at most one offer.',
    currency: 'Code of ISO 4217, or the symbol of a token: 3 to 5 capital letters.',
    nonce: 'The `nonce` of the challenge.',
    price: 'Price per hour; null: none yet.',
    signature:
      'Signature of the `message` of the challenge, in hexadecimal: 65 bytes as Ethereum wallets sign a text (EIP-191), or 64 bytes of ES256K (RFC 8812).',
    'offerUpdate.status': '`listed`: the offer is sold. `withdrawn`: it is not sold any more.',
  },
  bodies: {
    offerAccessAddressSet: { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' },
    offerCreate: {
      cluster_id: '00000000-0000-4000-8000-000000000007',
      price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' },
    },
    offerProve: {
      nonce: 'the nonce of the challenge',
      signature:
        '0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',
    },
    offerUpdate: { status: 'listed' },
  },
}
