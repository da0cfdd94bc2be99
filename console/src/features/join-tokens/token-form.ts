/** What is typed into the form of a new join token, and what is sent of it. */
import type * as z from 'zod/mini'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { fieldErrors } from '../../lib/fields.ts'

export interface Typed {
  name: string
  /** Hours as text, `never`, or `other`: then `hours` says how many. */
  lifetime: string
  hours: string
  /** "" is any number. */
  uses: string
  /** An id, or "" for none. */
  datacenter: string
}

export const blank: Typed = { name: '', lifetime: '168', hours: '', uses: '', datacenter: '' }

export const lifetimes = [
  { value: '24', text: '24 hours' },
  { value: '168', text: '7 days' },
  { value: '720', text: '30 days' },
  { value: '8760', text: '1 year' },
  { value: 'never', text: 'Does not expire' },
  { value: 'other', text: 'Other' },
] as const

/** What is no whole number stays text, so that the schema refuses it with its own sentence. */
const whole = (text: string): unknown => (/^\d{1,9}$/.test(text) ? Number(text) : text)

export type Body = z.input<typeof joinTokenCreate.body>
export type Read = { ok: true; body: Body } | { ok: false; fields: Partial<Record<keyof Typed, string>> }

/** The call's names of what the form calls otherwise. */
const fieldOf: Readonly<Record<string, keyof Typed>> = { name: 'name', lifetime_hours: 'hours', max_uses: 'uses', datacenter_id: 'datacenter' }

/** Sentences of the API, put at the fields of the form. */
export const atFields = (errors: Readonly<Record<string, string>>): Partial<Record<keyof Typed, string>> =>
  Object.fromEntries(Object.entries(errors).map(([field, sentence]) => [fieldOf[field] ?? field, sentence]))

/** Reads the form by the contract's own schema. */
export function readForm(typed: Typed): Read {
  const body = {
    name: typed.name,
    datacenter_id: typed.datacenter === '' ? null : typed.datacenter,
    lifetime_hours: typed.lifetime === 'never' ? null : whole(typed.lifetime === 'other' ? typed.hours : typed.lifetime),
    max_uses: typed.uses === '' ? null : whole(typed.uses),
  }
  const errors = fieldErrors(joinTokenCreate.body, body)
  return Object.keys(errors).length === 0 ? { ok: true, body: body as Body } : { ok: false, fields: atFields(errors) }
}
