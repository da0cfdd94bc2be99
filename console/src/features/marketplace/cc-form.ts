/** Values of the form of a commitment, and the request bodies. */
import {
  type CapacityCommitment,
  type CcChange,
  ccCommitProblems,
  ccTermProblems,
  NewCc,
} from '#contract/marketplace/ccs.ts'
import { blankTerms, byField, termsOf } from '../../layout/commitment/terms.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import { cliOf } from '../../lib/shell.ts'
import { localOf } from '../../lib/time/local-time.ts'

/** Empty values, in the order of the form. */
export const blank = { node_id: '', ...blankTerms, commit: false }
export type Typed = typeof blank

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

/**
 * Validates the form with the contract's schema and rules. Returns the request body, or the first
 * error sentence of each field. `edit`: the draft that the form changes; `now` in ms since 1970.
 */
export function readForm(
  typed: Typed,
  now: number,
  edit: CapacityCommitment | null = null,
): Read<NewCc> {
  const read = readBy(NewCc, {
    node_id: typed.node_id,
    ...termsOf(typed, edit ?? undefined),
    status: typed.commit ? 'waiting_delegation' : 'not_committed',
  })
  if (!read.ok) return { ok: false, fields: byField(read.fields) }
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
    ...(isNew
      ? { commit: isCommitted }
      : {
          // A term that isn't named stays as it was.
          'no-price': price === null,
          'no-start': starts_at === null,
          'no-end': expires_at === null,
          'no-offer': offer_id === null,
          status: isCommitted ? status : undefined,
        }),
  })
}
