/** Checks that several documents share. */
import { celProblem, type CelScope } from '../cel.ts'
import {
  durationMs,
  isAddress,
  isCidr,
  isMac,
  isRoutingTable,
  isUnspecified,
  sizeBytes,
} from '../formats.ts'
import { checkKeySlots, type Report } from '../report.ts'

/** @param talosVersion of the machine */
export type Check = (report: Report, talosVersion: string) => void

/** Checks the form of a value, if present. */
export function form(
  report: Report,
  path: string[],
  is: (text: string) => boolean,
  what: string,
): void {
  const text = report.text(...path)
  if (text !== '' && !is(text)) report.error(path, `${text} is not ${what}`)
}

export const cidr = 'an address with prefix length, such as 10.0.0.7/24'
export const network = 'a network in CIDR notation'
export const address = 'an address'
export const routingTable = 'a routing table: a number from 1 to 252, default, main or local'

/** Checks a CEL expression, if present, by the rules of a Talos version. */
export function expression(
  report: Report,
  path: string[],
  scope: CelScope,
  talosVersion: string,
): void {
  const text = report.text(...path)
  const problem = text === '' ? undefined : celProblem(text, scope, talosVersion)
  if (problem !== undefined) report.error(path, `The expression can’t be compiled: ${problem}`)
}

/**
 * Addresses and routes of a link.
 * @param at where the link lies in its document
 */
export const link = (report: Report, at: readonly string[] = []): void => {
  form(report, [...at, 'hardwareAddr'], isMac, 'a MAC address')
  for (const { path } of report.items(...at, 'addresses')) {
    const text = report.text(...path, 'address')
    if (!isCidr(text) || isUnspecified(text))
      report.error(path, text === '' ? 'The address is missing' : `${text} is not ${cidr}`)
  }
  for (const { path } of report.items(...at, 'routes')) {
    form(
      report,
      [...path, 'destination'],
      (t) => isCidr(t) && !isUnspecified(t),
      `${network}; leave it out for the default route`,
    )
    form(report, [...path, 'gateway'], (t) => isAddress(t) && !isUnspecified(t), address)
    form(report, [...path, 'source'], (t) => isAddress(t) && !isUnspecified(t), address)
    form(report, [...path, 'table'], isRoutingTable, routingTable)
  }
}

export const provisioning = (
  report: Report,
  talosVersion: string,
  { required, sized }: { readonly required: boolean; readonly sized: boolean },
) => {
  if (required && !report.has('provisioning', 'diskSelector', 'match'))
    report.error(['provisioning'], 'Say which disk: provisioning.diskSelector.match')
  expression(report, ['provisioning', 'diskSelector', 'match'], 'disk', talosVersion)
  const min = report.text('provisioning', 'minSize')
  const max = report.text('provisioning', 'maxSize')
  if (!sized) {
    if (min !== '' || max !== '' || report.flag('provisioning', 'grow'))
      report.error(['provisioning'], 'A whole disk has no size')
    return
  }
  form(
    report,
    ['provisioning', 'minSize'],
    (t) => sizeBytes(t) !== undefined,
    'a size such as 10GiB',
  )
  form(
    report,
    ['provisioning', 'maxSize'],
    (t) => sizeBytes(t.replace(/^-/, '')) !== undefined || isPercentage(t),
    'a size such as 100GiB, or a percentage',
  )
  if ((sizeBytes(min) ?? 0) > (sizeBytes(max) ?? Infinity))
    report.error(['provisioning', 'minSize'], 'minSize is more than maxSize')
  if (required && min === '' && max === '')
    report.error(['provisioning'], 'Say how big: provisioning.minSize or provisioning.maxSize')
}

export const encryption = (report: Report): void => {
  if (!report.has('encryption')) return
  if (report.text('encryption', 'provider') !== 'luks2')
    report.error(['encryption'], 'The encryption provider must be luks2')
  const keys = report.items('encryption', 'keys')
  if (keys.length === 0) report.error(['encryption'], 'Encryption needs keys')
  checkKeySlots(report, keys)
  for (const { path } of keys)
    for (const pcr of report.texts(...path, 'tpm', 'options', 'pcrs'))
      if (Number(pcr.text) > 23) report.error(pcr.path, 'A PCR is a number from 0 to 23')
}

export const volumeName = (report: Report) => {
  const name = report.text('name')
  if (name.length > 34) report.error(['name'], 'The name can have 34 characters at most')
  if (name !== '' && !/^[a-zA-Z0-9-]+$/.test(name))
    report.error(['name'], 'The name can only have letters, digits and hyphens')
}

export const addressName = (report: Report) =>
  form(report, ['name'], isAddress, 'an address, which the name must be')

export const required = (report: Report, ...fields: string[]) => {
  for (const field of fields) if (!report.has(field)) report.error([field], `${field} is missing`)
}

export function isPercentage(text: string): boolean {
  return /^\d{1,3}(\.\d+)?%$/.test(text) && Number(text.slice(0, -1)) <= 100
}

export function isPem(text: string): boolean {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
  const at = text.indexOf(begin)
  return at !== -1 && text.includes(end, at + begin.length + 1)
}

/** Trimming and scrubbing of a volume's file system (Talos `block/trim.go`, `block/scrub.go`). */
export const upkeep = (report: Report): void => {
  notNegative(report, 'trim', 'interval')
  scrubInterval(report, 'scrub', 'interval')
}

/** Options of xfs. */
export const xfs = (report: Report): void =>
  form(
    report,
    ['filesystem', 'xfs', 'minAllocationGroupSize'],
    (t) => sizeBytes(t) !== undefined,
    'a size such as 64GiB',
  )

export const notNegative = (report: Report, ...path: string[]): void => {
  if ((durationMs(report.text(...path)) ?? 0) < 0)
    report.error(path, `${path.join('.')} can’t be negative`)
}

export const scrubInterval = (report: Report, ...path: string[]): void => {
  const interval = durationMs(report.text(...path)) ?? 0
  if (interval !== 0 && interval < 10_000)
    report.error(path, `${path.join('.')} must be 10s at least`)
}
