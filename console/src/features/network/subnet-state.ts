/** Texts of a subnet's state and utilisation. */
import type { Subnet, SubnetStatus } from '#contract/network/subnets.ts'
import { count } from '../../lib/units.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'

const said: Readonly<Record<SubnetStatus, { tone: Tone; word: string }>> = {
  unassigned: { tone: 'off', word: 'Unassigned' },
  applying: { tone: 'busy', word: 'Applying' },
  active: { tone: 'ok', word: 'Active' },
  draining: { tone: 'busy', word: 'Draining' },
  error: { tone: 'danger', word: 'Error' },
}
export const subnetSaid = (s: Pick<Subnet, 'status'>): { tone: Tone; word: string } =>
  said[s.status]

/** "37 of 253"; for IPv6 only the used number; null if unknown. */
export function usedText(s: Pick<Subnet, 'used' | 'total' | 'type'>): string | null {
  if (s.used === null) return null
  return s.type === 'IPv6' || s.total === null
    ? `${count(s.used)} in use`
    : `${count(s.used)} of ${count(s.total)}`
}

/** Whether the used share of the subnet is known and can be shown. */
export const hasShare = (
  s: Pick<Subnet, 'used' | 'total' | 'type'>,
): s is { used: number; total: number; type: 'IPv4' } =>
  s.used !== null && s.total !== null && s.type === 'IPv4'

/** Country of a datacenter code: "PL" in PL-POZ-1. */
export const countryOf = (code: string): string => code.slice(0, 2)
