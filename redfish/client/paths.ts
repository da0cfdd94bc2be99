/**
 * Paths of documents. They come from the BMC, so only paths on this BMC below `/redfish/` are
 * followed: a link to another host would be a way into the management network.
 */
import { RedfishError } from '../errors.ts'

export const rootPath = '/redfish/v1/'

const plain = /^\/redfish\/[\x21-\x7e]*$/

/** The path without its fragment; null if it is no path of this BMC. */
export function pathOf(link: unknown): string | null {
  if (typeof link !== 'string' || link.length > 500) return null
  const path = link.split('#', 1)[0]!
  const isInside = plain.test(path) && !/\/\.{0,2}(?:\/|\?|$)/.test(path.replace(/\/(?=$|\?)/, ''))
  return isInside && !path.includes('\\') ? path : null
}

/**
 * The path of a `Location` header. The standard allows a whole URL there (DSP0266, "Location"); its
 * host must be the one that was asked. @throws RedfishError
 */
export function locationPath(
  location: string,
  { address, port }: { readonly address: string; readonly port: number },
): string {
  const host = address.includes(':') ? `[${address}]` : address
  const own = [`https://${host}:${port}`, ...(port === 443 ? [`https://${host}`] : [])]
  const origin = own.find((one) => location.toLowerCase().startsWith(`${one}/`))
  const path = pathOf(origin === undefined ? location : location.slice(origin.length))
  if (path === null)
    throw new RedfishError(
      'unreadable',
      `The BMC refers to ${printable(location, 80)}, which is not one of its own paths`,
    )
  return path
}

/** Text that a stranger wrote, for a sentence: printable, on one line, of at most `most` characters. */
export const printable = (text: string, most: number): string => {
  const line = text.replaceAll(/[^\x20-\x7e\u00a1-\u024f]+/g, ' ').trim()
  return line.length > most ? `${line.slice(0, most)}…` : line
}
