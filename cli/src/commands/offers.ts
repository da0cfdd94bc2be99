import { type Price, priceBases, priceShown } from '#contract/marketplace/money.ts'
import {
  accessOf,
  changedResources,
  hourlyTotalOf,
  type Offer,
  offerAccessAddressSet,
  offerCreate,
  offerDifference,
  offerGet,
  offerList,
  offerRecompute,
  type OfferResources,
  offerUpdate,
  resourceKeys,
  resourceLabels,
} from '#contract/marketplace/offers.ts'
import {
  command,
  type Command,
  type Context,
  given,
  type Given,
  listCommand,
  objectCommand,
  type Operands,
} from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts, table } from '../table.ts'
import type { Colour, Terminal } from '../terminal.ts'
import { disk, localTime, memory, oneLine } from '../text.ts'

const colours: Partial<Record<Offer['status'], Colour>> = { listed: 'green', withdrawn: 'yellow' }

const writers = { number: String, memory, disk } as const
const amountOf = (key: keyof OfferResources, resources: OfferResources): string => {
  const value = resources[key]
  return value === null ? 'unknown' : writers[resourceLabels[key][1]](value)
}

const accessTexts: Readonly<Record<ReturnType<typeof accessOf>, (o: Offer) => string>> = {
  unset: () => 'no access address',
  unproven: () => 'not in use: nobody has proved to hold the key of the access address',
  in_use: (o) => `in use, last proved ${localTime(o.proven_at)}`,
}

function offerText(terminal: Terminal, o: Offer): string {
  const total = hourlyTotalOf(o)
  return facts(terminal, [
    ['Id', o.id],
    ['Cluster', o.cluster?.name ?? 'removed'],
    ['Datacenter', o.datacenter?.code],
    ['Status', o.status],
    ['Price', o.price ? priceShown(o.price) : 'none'],
    [
      'Total',
      o.price &&
        (total === null
          ? 'unknown'
          : priceShown({ amount: total, currency: o.price.currency, basis: 'cluster' })),
    ],
    ...resourceKeys
      .filter((key) => key !== 'unknown_servers' || o.resources.unknown_servers > 0)
      .map((key) => [resourceLabels[key][0], amountOf(key, o.resources)] as const),
    ['Computed', localTime(o.computed_at)],
    ['Access address', o.access_address],
    ['Access', accessTexts[accessOf(o)](o)],
    ['Created', localTime(o.created_at)],
  ])
}

const priceOptions = {
  price: { kind: 'text', value: 'AMOUNT', help: 'Price per hour, a decimal number such as 0.05' },
  currency: { kind: 'text', value: 'CODE', help: 'Currency, such as EUR' },
  basis: {
    kind: 'text',
    value: 'BASIS',
    help: 'What an hour at this price pays for',
    choices: priceBases,
  },
} as const

/**
 * The price that the options give; what they leave out is taken from the current price. Undefined
 * without any of the options. Throws CliError `usage`.
 */
function priceOf(
  { price, currency, basis }: Given<Operands, typeof priceOptions>['options'],
  current: Price | null,
): Price | undefined {
  if (price === undefined && currency === undefined && basis === undefined) return undefined
  const [amount, code, per] = [
    price ?? current?.amount,
    currency?.toUpperCase() ?? current?.currency,
    basis ?? current?.basis,
  ]
  if (amount === undefined || code === undefined || per === undefined)
    throw new CliError('usage', 'A price needs --price, --currency and --basis')
  return { amount, currency: code, basis: per }
}

interface Counted {
  readonly before: OfferResources
  readonly after: OfferResources
  readonly offer?: Offer
}
/** An updated offer with its resources before and after, or why it could not be updated. */
type Updated = Pick<Offer, 'id'> & { readonly cluster: string | null } & (
    | Counted
    | { readonly error: CliError }
  )

const changesOf = (before: OfferResources, after: OfferResources): string =>
  changedResources(before, after)
    .map((key) => `${resourceLabels[key][0]} ${amountOf(key, before)} → ${amountOf(key, after)}`)
    .join(', ') || 'no change'

async function everyOffer({ api }: Context): Promise<Offer[]> {
  const offers: Offer[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await api.call(offerList, {
      query: { page, per_page: 1000, sort: 'created_at' },
    })
    offers.push(...items)
    if (items.length === 0 || offers.length >= total) return offers
  }
}

/**
 * The updated offer, or the error that only this offer has: it doesn't prevent the others. Rethrows
 * an error that the next offer would have too: without Steelyard or a session.
 */
async function attempted(
  of: { readonly id: string; readonly cluster: string | null },
  update: () => Promise<Counted>,
): Promise<Updated> {
  try {
    return { ...of, ...(await update()) }
  } catch (error) {
    if (
      !(error instanceof CliError) ||
      error.exit === 'unreachable' ||
      error.exit === 'not_signed_in' ||
      error.exit === 'forbidden'
    )
      throw error
    return { ...of, error }
  }
}

/** Updates the resources of every offer that has a cluster. */
async function updateAll(context: Context, dryRun: boolean): Promise<Updated[]> {
  const { api } = context
  const updated: Updated[] = []
  for (const { id, cluster } of await everyOffer(context))
    if (cluster !== null)
      updated.push(
        await attempted({ id, cluster: cluster.name }, () =>
          api.call(dryRun ? offerDifference : offerRecompute, { params: { id } }),
        ),
      )
  return updated
}

interface Wish {
  readonly dryRun: boolean
  readonly price: Given<Operands, typeof priceOptions>['options']
  readonly status: 'listed' | 'withdrawn' | undefined
}

/** Updates these offers. An error of the only one is thrown. */
async function updateNamed(
  { api }: Context,
  ids: readonly string[],
  { dryRun, price, status }: Wish,
): Promise<Updated[]> {
  const update = async (read: Offer): Promise<Counted> => {
    const params = { id: read.id }
    // Throws before anything is changed if the price is incomplete.
    priceOf(price, read.price)
    if (dryRun) return api.call(offerDifference, { params })
    // An offer that is withdrawn may have no cluster any more.
    const { offer: now, ...counted } =
      status === 'withdrawn'
        ? { offer: read, before: read.resources, after: read.resources }
        : await api.call(offerRecompute, { params })
    const body = given({ price: priceOf(price, now.price), status })
    if (Object.keys(body).length === 0) return { ...counted, offer: now }
    // The price may be completed from that of `now`, so it must not replace a newer one.
    const version = body.price && now.version
    return { ...counted, offer: await api.call(offerUpdate, { params, body }, { version }) }
  }
  const updated: Updated[] = []
  for (const id of ids) {
    const read = await api.call(offerGet, { params: { id } })
    const of = { id, cluster: read.cluster?.name ?? null }
    updated.push(
      ids.length === 1
        ? { ...of, ...(await update(read)) }
        : await attempted(of, () => update(read)),
    )
  }
  return updated
}

const updatedText = (terminal: Terminal, updated: readonly Updated[]): string =>
  table(
    terminal,
    updated,
    [
      { title: 'CLUSTER', text: (u) => u.cluster ?? '' },
      {
        title: 'RESOURCES',
        text: (u) => ('error' in u ? u.error.message : changesOf(u.before, u.after)),
        colour: (u) => ('error' in u ? 'red' : null),
      },
      { title: 'OFFER', text: (u) => u.id },
    ],
    'No offers of clusters',
  )

export const offerCommands: Command[] = [
  listCommand({
    name: 'offer list',
    summary: 'The offers, newest first.',
    examples: ['offer list', 'offer list --status listed --json'],
    operation: offerList,
    shown: ['cluster', 'datacenter', 'status', 'access', 'compute_units', 'price', 'id'],
    cells: { status: { colour: (o) => colours[o.status] ?? null } },
  }),
  objectCommand({
    name: 'offer show',
    of: noun.offer,
    operation: offerGet,
    say: (o, _name, { terminal }) => offerText(terminal, o),
  }),
  command({
    name: 'offer create',
    summary:
      'Make an offer of a cluster, as a draft, with the resources that its servers have now.',
    operands: { cluster: noun.cluster },
    options: priceOptions,
    examples: [
      'offer create web',
      'offer create web --price 0.05 --currency EUR --basis compute_unit',
    ],
    async run({ api, show }, { operands, options }) {
      const price = priceOf(options, null) ?? null
      const cluster_id = await noun.idOf(api, noun.cluster, operands.cluster)
      show(
        await api.call(offerCreate, { body: { cluster_id, price } }),
        (o) => `The offer of ${oneLine(o.cluster!.name)} is ${o.id}, a draft\n`,
      )
    },
  }),
  command({
    name: 'offer update',
    summary:
      'Compute the resources of offers again from the servers of their clusters, and print what has changed. Can also change price and status.',
    operands: { offers: { value: 'OFFER', help: noun.offer.help, optional: true, many: true } },
    options: {
      all: { kind: 'flag', help: 'Update the resources of every offer that has a cluster' },
      'dry-run': { kind: 'flag', help: 'Only show what would change' },
      ...priceOptions,
      status: {
        kind: 'text',
        value: 'STATUS',
        help: 'New status',
        choices: ['listed', 'withdrawn'],
      },
    },
    examples: [
      'offer update --all',
      'offer update web --dry-run',
      'offer update web --price 0.06 --status listed',
    ],
    async run(
      context,
      { operands: { offers }, options: { all, 'dry-run': dryRun, status, ...price } },
    ) {
      const { api, terminal, show } = context
      if (all === offers.length > 0) throw new CliError('usage', 'Name offers, or give --all')
      const hasMore =
        status !== undefined || Object.values(price).some((value) => value !== undefined)
      if (hasMore && (all || dryRun))
        throw new CliError(
          'usage',
          `${all ? '--all' : '--dry-run'} is only for resources, not for price and status`,
        )
      const ids: string[] = []
      for (const text of offers) ids.push(await noun.idOf(api, noun.offer, text))
      const updated = all
        ? await updateAll(context, dryRun)
        : await updateNamed(context, ids, { dryRun, price, status })
      const failed = updated.filter((u) => 'error' in u)
      show(
        {
          items: updated.map((u) =>
            'error' in u
              ? { id: u.id, cluster: u.cluster, error: u.error.body ?? { error: u.error.message } }
              : u,
          ),
        },
        () => updatedText(terminal, updated),
      )
      return failed.length > 0 ? 1 : undefined
    },
  }),
  objectCommand({
    name: 'offer withdraw',
    of: noun.offer,
    operation: offerUpdate,
    summary:
      'Withdraw an offer: it is not sold any more, and software can not act for it. It can be listed again.',
    ask: async () => ({ body: { status: 'withdrawn' as const } }),
    say: (o, name) =>
      `The offer ${o.cluster ? `of ${oneLine(o.cluster.name)}` : oneLine(name)} is withdrawn\n`,
  }),
  command({
    name: 'offer set-access-address',
    summary:
      'Set the address whose key lets software act for an offer. The console prints this command with the address of a cluster.',
    options: {
      'offer-id': {
        kind: 'text',
        value: 'ID',
        help: 'Id of the offer: 0x and 64 hexadecimal digits. Required',
      },
      address: {
        kind: 'text',
        value: 'ADDRESS',
        help: 'Address with its checksum: 0x and 40 hexadecimal digits. Required',
      },
    },
    examples: [
      'offer set-access-address --offer-id 0x9f2c4e61a07bd3385c1e9046f7d28ab34105be6d9c72f0184ea35db62790c41e --address 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    ],
    async run({ api, show }, { options: { 'offer-id': offerId, address } }) {
      if (offerId === undefined || address === undefined)
        throw new CliError('usage', 'Give --offer-id and --address')
      const params = { id: noun.offerIdOf(offerId) }
      show(
        await api.call(offerAccessAddressSet, { params, body: { address } }),
        (o) =>
          `The access address of the offer${o.cluster ? ` of ${oneLine(o.cluster.name)}` : ''} is ${o.access_address!} now\n` +
          (o.in_use
            ? 'The offer is in use\n'
            : 'The offer is in use once software in the cluster has proved that it holds the key\n'),
      )
    },
  }),
]
