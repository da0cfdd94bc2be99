/** The form of a new API token. */
import { longestTokenDays, NewApiToken } from '#contract/people/api-tokens.ts'
import type { Scope } from '#contract/permissions.ts'
import { type Read, readBy } from '../../../lib/fields.ts'

export interface Typed {
  name: string
  scopes: readonly Scope[]
  lifetime: '7' | '30' | '90' | '365' | 'other'
  lifetime_days: string
}
export const blank: Typed = { name: '', scopes: [], lifetime: '90', lifetime_days: '' }

export const lifetimes = [
  { value: '7', text: '7 days' },
  { value: '30', text: '30 days' },
  { value: '90', text: '90 days' },
  { value: '365', text: `${longestTokenDays} days` },
  { value: 'other', text: 'Other' },
] as const

export function readForm({
  name,
  scopes,
  lifetime,
  lifetime_days: typed,
}: Typed): Read<NewApiToken> {
  const days =
    lifetime === 'other' ? (/^\d{1,4}$/.test(typed) ? Number(typed) : NaN) : Number(lifetime)
  return readBy(NewApiToken, { name, scopes, lifetime_days: days })
}
