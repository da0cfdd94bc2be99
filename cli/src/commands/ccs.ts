import {
  type CapacityCommitment,
  ccCreate,
  ccEvents,
  ccGet,
  ccList,
  type CcPrice,
  ccPriceBases,
  ccStatuses,
  type CcStatus,
  ccTrouble,
  ccUpdate,
} from '#contract/marketplace/ccs.ts'
import { amountShown, priceShown } from '#contract/marketplace/money.ts'
import {
  command,
  type Command,
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
import { ago, disk, localTime, memory, oneLine, words } from '../text.ts'

const colours: Readonly<Record<CcStatus, Colour | null>> = {
  not_committed: null,
  waiting_delegation: 'yellow',
  waiting_start: 'yellow',
  active: 'green',
  completed: null,
  failed: 'red',
  removed: null,
}

const unknown = 'unknown'
const known = (value: number | null, write: (value: number) => string = String): string =>
  value === null ? unknown : write(value)

/** "1.25 EUR", the price of the whole server per hour. */
function hourly({ price, price_per_hour: total }: CapacityCommitment): string {
  if (price === null) return ''
  return total === null ? unknown : `${amountShown(total)} ${price.currency}`
}

function troubleText(cc: CapacityCommitment, now: number): string | null {
  const trouble = ccTrouble(cc)
  if (trouble === null) return null
  if (trouble.kind === 'unreachable')
    return `the server does not answer since ${localTime(trouble.since)} (${ago(trouble.since, now)})`
  return trouble.kind === 'server_removed'
    ? 'the server was removed'
    : 'the server is in no cluster'
}

const statusText = (cc: CapacityCommitment, now: number): string => {
  const why = troubleText(cc, now) ?? cc.reason
  return why === null ? words(cc.status) : `${words(cc.status)}: ${why}`
}

const by = (at: string | null, who: string | null): string | null =>
  at && `${localTime(at)} by ${who ?? unknown}`

const ccText = (terminal: Terminal, c: CapacityCommitment): string =>
  facts(terminal, [
    ['Server', `${c.server.name}${c.server.status === 'deleted' ? ' (removed)' : ''}`],
    ['Id', c.id],
    ['Status', words(c.status)],
    ['Reason', c.reason],
    ['Trouble', troubleText(c, terminal.now())],
    ['Datacenter', c.datacenter?.code ?? 'none'],
    ['Cluster', c.cluster?.name ?? 'none'],
    ['Compute units', known(c.capacity.compute_units)],
    ['vCPU', known(c.capacity.vcpu)],
    ['RAM', known(c.capacity.memory_bytes, memory)],
    ['Disk', known(c.capacity.disk_bytes, disk)],
    ['Offer', c.offer === null ? 'none' : `${c.offer.id} (${words(c.offer.status)})`],
    [
      'Access address',
      c.offer &&
        (c.offer.access_address === null
          ? 'none'
          : `${c.offer.access_address}${c.offer.in_use ? ' (in use)' : ''}`),
    ],
    ['Price', c.price === null ? 'none yet' : priceShown(c.price)],
    ['Price per hour', c.price === null ? null : hourly(c)],
    ['Start', c.starts_at === null ? 'when the delegation is confirmed' : localTime(c.starts_at)],
    ['End', c.expires_at === null ? 'none yet' : localTime(c.expires_at)],
    ['Committed', by(c.committed_at, c.committed_by)],
    ['Delegated', by(c.delegated_at, c.delegated_by)],
    ['Started', c.started_at && localTime(c.started_at)],
    ['Ended', c.ended_at && localTime(c.ended_at)],
  ])

const timeHelp = 'as 2027-02-14 (00:00 UTC), or with a time in ISO 8601'
export const termOptions = {
  price: { kind: 'text', value: 'AMOUNT', help: 'Price per hour, a decimal number such as 1.25' },
  currency: { kind: 'text', value: 'CODE', help: 'Currency of the price, such as EUR' },
  basis: {
    kind: 'text',
    value: 'BASIS',
    help: 'What the price pays for: the whole server (default), or each compute unit',
    choices: ccPriceBases,
  },
  start: {
    kind: 'text',
    value: 'TIME',
    help: `Start, ${timeHelp}. Default: when the delegation is confirmed`,
  },
  end: { kind: 'text', value: 'TIME', help: `End, ${timeHelp}` },
  'offer-id': {
    kind: 'text',
    value: 'ID',
    help: 'Offer that the capacity is sold with: 0x and 64 hexadecimal digits',
  },
} as const
type TermOptions = Given<Operands, typeof termOptions>['options']

/** A time as the API takes it. The API refuses days that don't exist. */
function timeOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text)) return text
  const at = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text) ? new Date(text) : new Date(Number.NaN)
  if (Number.isNaN(at.getTime())) throw new CliError('usage', `--${option} is a time ${timeHelp}`)
  return at.toISOString()
}

/** The price that the options give. What they leave out is taken from the present price. */
function priceOf(
  { price: amount, currency, basis }: TermOptions,
  now: CcPrice | null,
): CcPrice | undefined {
  if (amount === undefined && currency === undefined && basis === undefined) return undefined
  const whole = { ...now, ...given({ amount, currency, basis }) }
  if (whole.amount === undefined || whole.currency === undefined)
    throw new CliError('usage', 'Give --price and --currency together')
  return { amount: whole.amount, currency: whole.currency, basis: whole.basis ?? 'server' }
}

/** The terms that the options give. What they leave out of the price is taken from the present one. */
export function termsOf(o: TermOptions, now: CcPrice | null = null) {
  const price = priceOf(o, now)
  return given({
    starts_at: timeOf('start', o.start),
    expires_at: timeOf('end', o.end),
    offer_id: o['offer-id'],
    price,
  })
}

const said = (c: CapacityCommitment): string =>
  `${oneLine(c.server.name)} is ${words(c.status)}${c.price === null ? '' : ` at ${priceShown(c.price)}`}\n`

export const ccCommands: Command[] = [
  listCommand({
    name: 'cc list',
    summary:
      'Capacity commitments: capacity of servers that is promised for a time at a price. CU: compute units.',
    examples: ['cc list --status active', 'cc list --cu 32..64 --price ..1.50 --sort=-price'],
    operation: ccList,
    shown: [
      'server',
      'datacenter',
      'cluster',
      'compute_units',
      'memory',
      'price',
      'expires_at',
      'status',
    ],
    cells: {
      compute_units: { text: (c) => known(c.capacity.compute_units), right: true },
      vcpu: { text: (c) => known(c.capacity.vcpu), right: true },
      memory: { text: (c) => known(c.capacity.memory_bytes, memory), right: true },
      disk: { text: (c) => known(c.capacity.disk_bytes, disk), right: true },
      price: { text: hourly, right: true },
      expires_at: { text: (c) => (c.expires_at === null ? '' : localTime(c.expires_at)) },
      status: {
        text: statusText,
        colour: (c, now) => (troubleText(c, now) === null ? colours[c.status] : 'red'),
      },
      id: { title: 'ID', text: (c) => c.id },
    },
  }),
  command({
    name: 'cc show',
    summary: 'One capacity commitment with its history.',
    operands: { commitment: noun.commitment },
    examples: [`cc show ${noun.commitment.example}`],
    async run({ terminal, api, show, json }, { operands }) {
      const params = { id: await noun.idOf(api, noun.commitment, operands.commitment) }
      const cc = await api.call(ccGet, { params })
      const events = json ? [] : (await api.call(ccEvents, { params })).items
      show(cc, (c) =>
        [
          ccText(terminal, c),
          '\n',
          table(
            terminal,
            events,
            [
              { title: 'TIME', text: (e) => localTime(e.at) },
              { title: 'WHAT HAPPENED', text: (e) => e.message },
              { title: 'BY', text: (e) => e.by ?? '' },
            ],
            'No events yet',
          ),
        ].join(''),
      )
    },
  }),
  command({
    name: 'cc create',
    summary:
      'Add a capacity commitment for a server, as a draft or, with --commit, committed at once.',
    operands: { server: noun.server },
    options: {
      ...termOptions,
      commit: { kind: 'flag', help: 'Commit the capacity: the terms are then fixed' },
    },
    examples: [
      'cc create brave-otter-042 --price 1.25 --currency EUR --end 2027-02-14 --commit',
      'cc create brave-otter-042',
    ],
    async run({ api, show }, { operands, options }) {
      const terms = termsOf(options)
      const body = {
        node_id: await noun.idOf(api, noun.server, operands.server),
        ...terms,
        ...(options.commit && { status: 'waiting_delegation' as const }),
      }
      show(await api.call(ccCreate, { body }), said)
    },
  }),
  objectCommand({
    name: 'cc update',
    of: noun.commitment,
    operation: ccUpdate,
    summary:
      'Change the terms of a draft, or the status of a commitment. Steelyard starts and completes commitments at their times by itself.',
    options: {
      ...termOptions,
      'no-price': { kind: 'flag', help: 'The draft has no price yet' },
      'no-start': { kind: 'flag', help: 'Start when the delegation is confirmed' },
      'no-end': { kind: 'flag', help: 'The draft has no end yet' },
      'no-offer': { kind: 'flag', help: 'The capacity is sold with no offer' },
      status: {
        kind: 'text',
        value: 'STATUS',
        help: 'New status, which must be one that may follow the present one',
        choices: ccStatuses,
      },
      reason: { kind: 'text', value: 'TEXT', help: 'Why it failed or is removed' },
    },
    examples: [
      'cc update brave-otter-042 --price 1.20 --status waiting_delegation',
      'cc update brave-otter-042 --status waiting_start',
      'cc update brave-otter-042 --status failed --reason Flooded',
    ],
    async ask({ api }, { options: o }, { id }) {
      if (
        o['no-price'] &&
        (o.price !== undefined || o.currency !== undefined || o.basis !== undefined)
      )
        throw new CliError('usage', 'Give either a price or --no-price')
      if (o['no-start'] && o.start !== undefined)
        throw new CliError('usage', 'Give either --start or --no-start')
      if (o['no-end'] && o.end !== undefined)
        throw new CliError('usage', 'Give either --end or --no-end')
      if (o['no-offer'] && o['offer-id'] !== undefined)
        throw new CliError('usage', 'Give either --offer-id or --no-offer')
      const isWhole = o.price !== undefined && o.currency !== undefined && o.basis !== undefined
      const isPriced = o.price !== undefined || o.currency !== undefined || o.basis !== undefined
      const read = isPriced && !isWhole ? await api.call(ccGet, { params: { id } }) : undefined
      const body = {
        ...termsOf(o, read?.price),
        ...(o['no-price'] && { price: null }),
        ...(o['no-start'] && { starts_at: null }),
        ...(o['no-end'] && { expires_at: null }),
        ...(o['no-offer'] && { offer_id: null }),
        ...given({ status: o.status, reason: o.reason }),
      }
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      // A price that was completed from the present one must not replace a newer one.
      return { body, version: read?.version }
    },
    say: said,
  }),
]
