/** Values of the form of a commitment, and the request bodies. */
import {
  type CapacityCommitment,
  type CcChange,
  ccCommitProblems,
  ccTermProblems,
  NewCc,
} from '#contract/marketplace/ccs.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import { cliOf } from '../../lib/shell.ts'

/**
 * Empty values, under the API's field names and in the order of the form. `price` is the amount; ""
 * means unknown.
 */
export const blank = {
  node_id: '',
  price: '',
  currency: '',
  basis: 'server',
  starts_at: '',
  expires_at: '',
  offer_id: '',
  commit: false,
}
export type Typed = typeof blank

const two = (n: number) => String(n).padStart(2, '0')
/** The value of a `datetime-local` field in the reader's time zone: "2027-02-14T08:30". */
export function localOf(iso: string | null): string {
  if (iso === null) return ''
  const d = new Date(iso)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`
}
/**
 * Null for an empty field; `known` if the field still shows it, which has no seconds. A text that
 * is no time stays as it is, so that the schema refuses it.
 */
function isoOf(local: string, known: string | null): string | null {
  if (local === '') return null
  if (local === localOf(known)) return known
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? local : at.toISOString()
}

export const typedOf = (cc: CapacityCommitment): Typed => ({
  node_id: cc.server.id,
  price: cc.price?.amount ?? '',
  currency: cc.price?.currency ?? '',
  basis: cc.price?.basis ?? 'server',
  starts_at: localOf(cc.starts_at),
  expires_at: localOf(cc.expires_at),
  offer_id: cc.offer?.id ?? '',
  commit: false,
})

/** The field of the form for a path of the API. */
export const fieldOf = (path: string): string =>
  ({ 'price.amount': 'price', 'price.currency': 'currency', 'price.basis': 'basis' })[path] ?? path

/**
 * Validates the form with the contract's schema and rules. Returns the request body, or the first
 * error sentence of each field. `edit`: the draft that the form changes; `now` in ms since 1970.
 */
export function readForm(
  typed: Typed,
  now: number,
  edit: CapacityCommitment | null = null,
): Read<NewCc> {
  const isPriced = typed.price !== '' || typed.currency !== ''
  const read = readBy(NewCc, {
    node_id: typed.node_id,
    offer_id: typed.offer_id === '' ? null : typed.offer_id.toLowerCase(),
    price: isPriced
      ? { amount: typed.price, currency: typed.currency.toUpperCase(), basis: typed.basis }
      : null,
    starts_at: isoOf(typed.starts_at, edit?.starts_at ?? null),
    expires_at: isoOf(typed.expires_at, edit?.expires_at ?? null),
    status: typed.commit ? 'waiting_delegation' : 'not_committed',
  })
  if (!read.ok) {
    const fields: Record<string, string> = {}
    for (const [path, sentence] of Object.entries(read.fields)) fields[fieldOf(path)] ??= sentence
    return { ok: false, fields }
  }
  const fields = typed.commit ? ccCommitProblems(read.body, now) : ccTermProblems(read.body, now)
  return Object.keys(fields).length === 0 ? read : { ok: false, fields }
}

/** The request body that changes a draft. */
export const changeOf = ({ node_id: _fixed, status, ...terms }: NewCc): CcChange => ({
  ...terms,
  ...(status !== 'not_committed' && { status }),
})

/** The CLI command of the form. `server`: name of the server. */
export const commandOf = (body: NewCc, server: string, isNew: boolean): string => {
  const { price, starts_at, expires_at, offer_id, status } = body
  const isCommitted = status !== 'not_committed'
  return cliOf(['cc', isNew ? 'create' : 'update', server], {
    price: price?.amount,
    currency: price?.currency,
    basis: price?.basis,
    start: starts_at,
    end: expires_at,
    'offer-id': offer_id,
    ...(isNew ? { commit: isCommitted } : { status: isCommitted ? status : undefined }),
  })
}
