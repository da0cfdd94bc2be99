/** What is typed into the form of a new join token, and what is sent of it. */
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { readBy } from '../../lib/fields.ts'

/** By the API's names. `lifetime` is hours as text, `never`, or `other`: then `lifetime_hours` says how many. `max_uses` "" is any number. */
export const blank = { name: '', lifetime: '168', lifetime_hours: '', max_uses: '', datacenter_id: '' }
export type Typed = typeof blank

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

export const readForm = ({ name, lifetime, lifetime_hours, max_uses, datacenter_id }: Typed) =>
  readBy(joinTokenCreate.body, {
    name,
    datacenter_id: datacenter_id === '' ? null : datacenter_id,
    lifetime_hours: lifetime === 'never' ? null : whole(lifetime === 'other' ? lifetime_hours : lifetime),
    max_uses: max_uses === '' ? null : whole(max_uses),
  })
