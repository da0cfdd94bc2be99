/** The subnet form: values, validation by the contract's rules, and the request body. */
import * as z from 'zod/mini'
import { parseCidr } from '#contract/network/addresses.ts'
import { formatRange, type Range } from '#contract/network/address-ranges.ts'
import {
  piecesOf,
  subnetProblems,
  type SubnetText,
  subnetWarnings,
  totalOf,
} from '#contract/network/subnet-rules.ts'
import {
  NewSubnet,
  type Subnet,
  type SubnetChange,
  subnetPurposes,
} from '#contract/network/subnets.ts'
import { type Read, readBy } from '../../../lib/fields.ts'
import { cliOf, type OptionValue } from '../../../lib/shell.ts'

/** Values as typed; also the schema of a stored draft. */
export const Draft = z.object({
  name: z.string(),
  datacenter_id: z.string(),
  cidr: z.string(),
  gateway: z.string(),
  vlan_id: z.string(),
  /** Entries, one per line or separated by commas. */
  exclude: z.string(),
  first_and_last: z.boolean(),
  purpose: z.enum(subnetPurposes),
})
export type SubnetDraft = z.infer<typeof Draft>

export const emptyDraft: SubnetDraft = {
  name: '',
  datacenter_id: '',
  cidr: '',
  gateway: '',
  vlan_id: '',
  exclude: '',
  first_and_last: false,
  purpose: 'workload',
}

export const draftOf = (s: Subnet): SubnetDraft => ({
  name: s.name,
  datacenter_id: s.datacenter.id,
  cidr: s.cidr,
  gateway: s.gateway ?? '',
  vlan_id: s.vlan_id === null ? '' : String(s.vlan_id),
  exclude: s.exclude.join('\n'),
  first_and_last: s.first_and_last,
  purpose: s.purpose,
})

const draftFields = z.keyof(Draft).options
export const sameDraft = (a: SubnetDraft, b: SubnetDraft): boolean =>
  draftFields.every((field) => a[field] === b[field])

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())
/** A whole number, null if empty, or NaN, which the contract's rule refuses. */
const vlanOf = (text: string): number | null =>
  text.trim() === '' ? null : /^\d{1,6}$/.test(text.trim()) ? Number(text.trim()) : Number.NaN
/** Lines as entered, so that errors name the visible line. Trailing empty lines are dropped. */
const linesOf = (text: string): string[] => text.trimEnd().split('\n')

export const textOf = (d: SubnetDraft): SubnetText & { exclude: string[] } => ({
  cidr: d.cidr.trim(),
  gateway: orNull(d.gateway),
  vlan_id: vlanOf(d.vlan_id),
  exclude: d.exclude.trim() === '' ? [] : linesOf(d.exclude),
  first_and_last: d.first_and_last,
})

export const toSend = (d: SubnetDraft): NewSubnet => ({
  ...textOf(d),
  name: d.name.trim(),
  datacenter_id: d.datacenter_id,
  purpose: d.purpose,
})

const changeable = [
  'name',
  'cidr',
  'gateway',
  'vlan_id',
  'exclude',
  'first_and_last',
  'purpose',
] as const

/** Only the changed fields. */
export function changesOf(now: NewSubnet, from: Subnet): SubnetChange {
  const was = toSend(draftOf(from))
  return Object.fromEntries(
    changeable.flatMap((key) =>
      JSON.stringify(now[key]) === JSON.stringify(was[key]) ? [] : [[key, now[key]]],
    ),
  )
}

/** The request body, or an error sentence per field, by the schema and the contract's rules. */
export const readForm = (d: SubnetDraft): Read<NewSubnet> =>
  readBy(NewSubnet, toSend(d), subnetProblems(textOf(d)).fields)

/** The CIDR that was probably meant, or null. */
export const correctedOf = (d: SubnetDraft): string | null => subnetProblems(textOf(d)).corrected

/** The address that must be excluded, according to the API's sentence; null for other sentences. */
export const toExclude = (sentence: string): string | null =>
  /^Contains (\S+), the address of /.exec(sentence)?.[1] ?? null
/** Adds a line to the exclusions. */
export const withExclusion = (text: string, entry: string): string =>
  text.trim() === '' ? entry : `${text.trimEnd()}\n${entry}`

/** Summary of a valid address space; null while it isn't valid. */
export function spaceOf(d: SubnetDraft) {
  const text = textOf(d)
  const cidr = parseCidr(text.cidr)
  if (!cidr || Object.keys(subnetProblems(text).fields).length > 0) return null
  return {
    type: cidr.family === 4 ? ('IPv4' as const) : ('IPv6' as const),
    total: totalOf(text),
    pieces: piecesOf(text),
    warnings: subnetWarnings(text),
  }
}
export const pieceText = (piece: Range): string => formatRange(piece).replace('-', '–')

/** The form as a CLI command. Without `from` the command adds the subnet. */
export function commandOf(d: SubnetDraft, datacenter: string, from: Subnet | null): string {
  const entries = (lines: readonly string[]) =>
    lines
      .flatMap((line) => line.split(',').map((entry) => entry.trim()))
      .filter((entry) => entry !== '')
  if (from === null) {
    const { name, cidr, gateway, vlan_id, exclude, first_and_last, purpose } = toSend(d)
    return cliOf(['subnet', 'add', name === '' ? 'NAME' : name], {
      cidr,
      datacenter,
      gateway,
      vlan: vlan_id,
      exclude: entries(exclude),
      'first-and-last': first_and_last,
      ...(purpose !== 'workload' && { purpose }),
    })
  }
  const change = changesOf(toSend(d), from)
  const options: Record<string, OptionValue> = {
    ...(change.name !== undefined && { name: change.name }),
    ...(change.cidr !== undefined && { cidr: change.cidr }),
    ...(change.gateway !== undefined &&
      (change.gateway === null ? { 'no-gateway': true } : { gateway: change.gateway })),
    ...(change.vlan_id !== undefined &&
      (change.vlan_id === null ? { 'no-vlan': true } : { vlan: change.vlan_id })),
    ...(change.exclude !== undefined &&
      (change.exclude.length === 0
        ? { 'no-exclusions': true }
        : { exclude: entries(change.exclude) })),
    ...(change.first_and_last !== undefined && {
      [change.first_and_last ? 'first-and-last' : 'no-first-and-last']: true,
    }),
    ...(change.purpose !== undefined && { purpose: change.purpose }),
  }
  return cliOf(['subnet', 'edit', from.name], options)
}

const labels: Readonly<Record<keyof SubnetDraft, string>> = {
  name: 'Name',
  datacenter_id: 'Datacenter',
  cidr: 'CIDR',
  gateway: 'Gateway',
  vlan_id: 'VLAN ID',
  exclude: 'Exclusions',
  first_and_last: 'First and last address',
  purpose: 'Purpose',
}
const shown = (value: string | boolean): string =>
  typeof value === 'boolean'
    ? value
      ? 'used'
      : 'not used'
    : value === ''
      ? 'none'
      : value.replaceAll('\n', ', ')

/** Fields that somebody else changed since the form opened, each with the value in this form. */
export const differences = (was: SubnetDraft, theirs: SubnetDraft, mine: SubnetDraft) =>
  draftFields
    .filter((field) => was[field] !== theirs[field])
    .map((field) => ({
      field,
      label: labels[field],
      was: shown(was[field]),
      theirs: shown(theirs[field]),
      mine: shown(mine[field]),
    }))

/**
 * Applies this form's changes to the version of somebody else, so that changes of different fields
 * are all kept.
 */
export function merged(was: SubnetDraft, theirs: SubnetDraft, mine: SubnetDraft): SubnetDraft {
  const changed = Object.fromEntries(
    draftFields.flatMap((field) => (mine[field] === was[field] ? [] : [[field, mine[field]]])),
  )
  return { ...theirs, ...changed }
}
