/**
 * What a booting server announces, and the documents in the response. Nothing in an announcement is
 * trusted until the machine's own API has confirmed it. With any valid document that isn't a
 * complete configuration, Talos boots into maintenance; an empty response or any status but 200
 * would delay that for hours (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal`,
 * `pkg/download`).
 */
import { randomBytes } from 'node:crypto'
import { formatAddress, parseAddress } from '#contract/network/addresses.ts'
import { joinTokenPattern } from '#contract/join-tokens.ts'
import { text } from '#talos/client/text.ts'

export interface Announcement {
  /** Lower case. */
  readonly uuid: string
  /**
   * One line, at most 256 characters. Firmware placeholders such as "Not Specified" stay as they
   * are. Empty if missing.
   */
  readonly serial: string
  /** `aa:bb:cc:dd:ee:ff`, or null. */
  readonly mac: string | null
}
export type Reading =
  | { readonly ok: true; readonly announcement: Announcement }
  | { readonly ok: false; readonly reason: string }

/**
 * A query written by Talos has at most some 400 characters, if it has a serial number of 64
 * characters (SMBIOS's usual limit), all of them percent-encoded.
 */
const longestQuery = 2048
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const macPattern = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2})?$/
/**
 * "Not present" and "not present, but may be set" (SMBIOS 3.7, 7.2.1): all boards without a UUID
 * have these values, so they identify no machine.
 */
const noUuid = /^(?:[0-]+|[f-]+)$/

/**
 * A variable that Talos has not replaced: if the serial number is empty or "To Be Filled By
 * O.E.M.", Talos waits for another one for half of an attempt (90 s), and then sends the variable
 * itself (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url`, `siderolabs/go-smbios`).
 */
const unfilled = /^\$\{\w+\}$/
/**
 * Finds a join token in an announced value. Announced values are stored and shown, but tokens must
 * never be.
 */
const tokenInside = new RegExp(joinTokenPattern.source.slice(1, -1))

const no = (reason: string): Reading => ({ ok: false, reason })

/** @param url path and query of the request */
export function readAnnouncement(url: string): Reading {
  const at = url.indexOf('?')
  const query = at === -1 ? '' : url.slice(at + 1)
  if (query.length > longestQuery) return no('The announcement is too long')
  const given = new URLSearchParams(query)
  const said = (name: string): string => {
    const value = (given.get(name) ?? '').trim()
    return unfilled.test(value) ? '' : value
  }
  for (const name of ['uuid', 'serial', 'mac'])
    if (given.getAll(name).length > 1) return no(`The announcement has more than one ${name}`)
  const uuid = said('uuid').toLowerCase()
  if (!uuidPattern.test(uuid)) return no('The announcement has no UUID')
  if (noUuid.test(uuid))
    return no(
      `The firmware of the machine gives no unique UUID (${uuid}), so the machine can't be distinguished from others. Add the machine by its address`,
    )
  const mac = said('mac').toLowerCase()
  if (mac !== '' && !macPattern.test(mac)) return no('The announced MAC address cannot be read')
  const serial = text(said('serial'))
  if (tokenInside.test(serial)) return no('The announced serial number is a join token')
  return { ok: true, announcement: { uuid, serial, mac: mac === '' ? null : mac } }
}

/**
 * Canonical source address of a request; undefined if invalid (a proxy may forward anything). An
 * IPv4-mapped address becomes IPv4.
 */
export function readSource(ip: string): string | undefined {
  const address = parseAddress(ip.replace(/^::ffff:(?=\d+\.)/i, ''))
  return address ? formatAddress(address) : undefined
}

/**
 * Talos has HostnameConfig since 1.12, with exactly one of `auto` and `hostname`
 * (`pkg/machinery/config/types/network/hostname.go`).
 */
const head = 'apiVersion: v1alpha1\nkind: HostnameConfig\n'

/**
 * For machines that won't be registered: Talos derives the host name from the machine's identity,
 * as it does without any document.
 */
export const harmless = `${head}auto: stable\n`

/** Gives the machine a host name. Only a machine whose API then reports this name is registered. */
export const named = (hostName: string): string => `${head}hostname: ${hostName}\n`

/** A DNS label with 80 random bits, which can't be guessed in the minutes of its validity. */
export const oneTimeHostName = (): string => `sy-${randomBytes(10).toString('hex')}`
