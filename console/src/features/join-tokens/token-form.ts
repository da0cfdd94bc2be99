/** Values of the form of a new join token, and the request body. */
import { NewJoinToken } from '#contract/join-tokens.ts'
import { labelProblem } from '../../layout/labels/edits.ts'
import { readBy } from '../../lib/fields.ts'

/**
 * Empty values, by the API's field names. `lifetime` is hours as text, `never`, or `other` with
 * `lifetime_hours`. `max_uses` "" is unlimited.
 */
export const blank = {
  name: '',
  lifetime: '168',
  lifetime_hours: '',
  max_uses: '',
  datacenter_id: '',
  labels: {} as Record<string, string>,
}
export type Typed = typeof blank

export const lifetimes = [
  { value: '24', text: '24 hours' },
  { value: '168', text: '7 days' },
  { value: '720', text: '30 days' },
  { value: '8760', text: '1 year' },
  { value: 'never', text: 'Does not expire' },
  { value: 'other', text: 'Other' },
] as const

/** Text that is not a whole number stays a string, so that the schema refuses it. */
const whole = (text: string): unknown => (/^\d{1,9}$/.test(text) ? Number(text) : text)

export function readForm({
  name,
  lifetime,
  lifetime_hours,
  max_uses,
  datacenter_id,
  labels,
}: Typed) {
  const read = readBy(NewJoinToken, {
    name,
    datacenter_id: datacenter_id === '' ? null : datacenter_id,
    lifetime_hours:
      lifetime === 'never' ? null : whole(lifetime === 'other' ? lifetime_hours : lifetime),
    max_uses: max_uses === '' ? null : whole(max_uses),
    labels,
  })
  if (read.ok) return read
  const problem = labelProblem(read.fields)
  return problem === null ? read : { ...read, fields: { ...read.fields, labels: problem } }
}
