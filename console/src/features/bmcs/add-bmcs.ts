/** Reads the form that adds BMCs. */
import { bmcsAtOnce } from '#contract/bmcs/bmcs.ts'
import { parseAddress, readCidr, sizeOf } from '#contract/network/addresses.ts'
import { count } from '#contract/words.ts'
import type { Read } from '../../lib/fields.ts'
import { listOf } from '../../lib/text.ts'

export const blankBmcs = {
  what: '',
  port: '443' as '443' | '8443',
  signIn: 'credential' as 'credential' | 'own' | 'later',
  credential_id: '',
  username: '',
  password: '',
}
export type TypedBmcs = typeof blankBmcs

type Place = { addresses: string[] } | { cidr: string } | { csv: string }
export type BmcsToAdd = Place & {
  port: 443 | 8443
  credential_id?: string
  username?: string
  password?: string
}

const wrong = (what: string): Read<Place> => ({ ok: false, fields: { what } })

/** Addresses, one CIDR, or a CSV text whose first line names the columns. */
export function readPlaces(text: string): Read<Place> {
  const [head = ''] = text.trim().split('\n')
  if (/^\s*"?address"?\s*,/i.test(head) || /^\s*address\s*$/i.test(head))
    return { ok: true, body: { csv: text } }
  const entries = [...new Set(listOf(text))]
  const [first] = entries
  if (first === undefined) return wrong('Enter at least one address')
  if (entries.some((entry) => entry.includes('/'))) {
    if (entries.length > 1) return wrong('Give either addresses or a single CIDR')
    const read = readCidr(first)
    if (!read.ok)
      return wrong(
        read.corrected === null
          ? `"${first.slice(0, 64)}" is not a CIDR`
          : `Host bits are set: did you mean ${read.corrected}?`,
      )
    if (sizeOf(read.cidr) > BigInt(bmcsAtOnce))
      return wrong(`A CIDR may hold at most ${count(bmcsAtOnce)} addresses (an IPv4 /22)`)
    return { ok: true, body: { cidr: first } }
  }
  const bad = entries.find((entry) => parseAddress(entry) === null)
  if (bad !== undefined) return wrong(`"${bad.slice(0, 64)}" is not an IP address`)
  if (entries.length > bmcsAtOnce)
    return wrong(`${count(entries.length)} addresses are too many: at most ${count(bmcsAtOnce)}`)
  return { ok: true, body: { addresses: entries } }
}

export function readBmcs(typed: TypedBmcs): Read<BmcsToAdd> {
  const places = readPlaces(typed.what)
  const fields: Record<string, string> = places.ok ? {} : { ...places.fields }
  if (typed.signIn === 'credential' && typed.credential_id === '')
    fields['credential_id'] = 'Choose a credential'
  if (typed.signIn === 'own') {
    if (typed.username.trim() === '')
      fields['username'] = 'Enter the user name of the account on the BMC'
    if (typed.password === '') fields['password'] = 'Enter the password of the account on the BMC'
  }
  if (!places.ok || Object.keys(fields).length > 0) return { ok: false, fields }
  return {
    ok: true,
    body: {
      ...places.body,
      port: typed.port === '443' ? 443 : 8443,
      ...(typed.signIn === 'credential' && { credential_id: typed.credential_id }),
      ...(typed.signIn === 'own' && {
        username: typed.username.trim(),
        password: typed.password,
      }),
    },
  }
}
