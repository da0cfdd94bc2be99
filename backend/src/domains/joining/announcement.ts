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
import { needsMac, noUuid } from '#contract/servers/identity.ts'
import { text } from '#talos/client/text.ts'
import { hostNameOnly } from '#talos/facts/patch.ts'

export interface Announcement {
  /**
   * Lower case; zeros if the machine has none, as boards without SMBIOS. Empty only in a refused
   * announcement.
   */
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
  /** `announcement`: what could be read, for the list of arrivals. */
  | { readonly ok: false; readonly reason: string; readonly announcement: Announcement }

/**
 * A query written by Talos has at most some 400 characters, if it has a serial number of 64
 * characters (SMBIOS's usual limit), all of them percent-encoded.
 */
const longestQuery = 2048
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const digestPattern = /^[0-9a-f]{16}$/
const macPattern = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2})?$/
/**
 * A variable that Talos has not replaced: without system information, or if the serial number is
 * empty or "To Be Filled By O.E.M.", Talos waits for another one for half of an attempt (90 s), and then sends the variable
 * itself (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url`, `siderolabs/go-smbios`).
 */
const unfilled = /^\$\{\w+\}$/
/**
 * Finds a join token in an announced value. Announced values are stored and shown, but tokens must
 * never be.
 */
const tokenInside = new RegExp(joinTokenPattern.source.slice(1, -1))

/** Announced by a machine whose announcement can't be read. */
const nothing: Announcement = { uuid: '', serial: '', mac: null }

/** @param url path and query of the request */
export function readAnnouncement(url: string): Reading {
  const at = url.indexOf('?')
  const query = at === -1 ? '' : url.slice(at + 1)
  if (query.length > longestQuery)
    return { ok: false, reason: 'The announcement is too long', announcement: nothing }
  const given = new URLSearchParams(query)
  const said = (name: string): string => {
    const value = (given.get(name) ?? '').trim()
    return unfilled.test(value) ? '' : value
  }
  const uuid = said('uuid').toLowerCase() || noUuid
  const mac = said('mac').toLowerCase()
  const serial = text(said('serial'))
  const announcement: Announcement = {
    uuid: uuidPattern.test(uuid) ? uuid : '',
    serial: tokenInside.test(serial) ? '' : serial,
    mac: macPattern.test(mac) ? mac : null,
  }
  const no = (reason: string): Reading => ({ ok: false, reason, announcement })
  for (const name of ['uuid', 'serial', 'mac', 'early'])
    if (given.getAll(name).length > 1) return no(`The announcement has more than one ${name}`)
  if (announcement.uuid === '') return no('The announced UUID cannot be read')
  if (mac !== '' && announcement.mac === null) return no('The announced MAC address cannot be read')
  if (tokenInside.test(serial)) return no('The announced serial number is a join token')
  if (announcement.mac === null && needsMac(announcement))
    return no(
      `The firmware of the machine gives neither a UUID nor a serial number of its own (UUID ${uuid}, serial ${serial || 'none'}), and the announcement has no MAC address, so the machine can't be distinguished from others. Add it by its address`,
    )
  return { ok: true, announcement }
}

/** The digest of the documents of the machine's image; null if it has none. */
export function digestIn(url: string): string | null {
  const at = url.indexOf('?')
  const digest = new URLSearchParams(at === -1 ? '' : url.slice(at + 1)).get('early')
  return digest !== null && digestPattern.test(digest) ? digest : null
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
 * For machines that won't be registered: Talos derives the host name from the machine's identity,
 * as it does without any document.
 */
export const harmless = hostNameOnly.derived

/** Gives the machine a host name. Only a machine whose API then reports this name is registered. */
export const named = hostNameOnly.named

/** A DNS label with 80 random bits, which can't be guessed in the minutes of its validity. */
export const oneTimeHostName = (): string => `sy-${randomBytes(10).toString('hex')}`
