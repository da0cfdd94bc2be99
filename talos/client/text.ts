/** What a server says, as text that is safe to show and to paste. */
import { errorLists } from './error-lists.ts'

// Controls, and marks that are invisible or turn the direction of text: they change what a person sees or pastes.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const hiddenButBreaks = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
// Tabs and line breaks hide nothing; Talos's own messages are laid out with them.
const breaks = /\r\n?|[\t\n\v\f]/g

/** A value as one line of at most `max` characters: breaks and tabs are spaces; what can't be seen is shown as �. */
export function text(value: string, max = 256): string {
  return cut(value, max).replace(breaks, ' ').replace(hidden, '\u{fffd}')
}

/**
 * A message of several lines, such as the refusal of a configuration. Lists of errors as Go writes them (hashicorp/go-multierror: `2 errors occurred:\n\t* …`)
 * are lines that begin with `- `, indented by two spaces for each list that they are in; a list of one error is that error.
 */
export function messageText(value: string, max = 4000): string {
  return errorLists(cut(value, max).replace(/\r\n?|[\v\f]/g, '\n'))
    .replaceAll('\t', '  ')
    .replace(hiddenButBreaks, '\u{fffd}')
}

/** At most `max` code units, never half of a pair. */
function cut(value: string, max: number): string {
  if (value.length <= max) return value
  const end = (value.charCodeAt(max - 1) & 0xfc00) === 0xd800 ? max - 1 : max
  return value.slice(0, end)
}

/** 4 or 16 bytes as an address, IPv6 as RFC 5952 writes it; undefined for any other length. */
export function addressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return undefined
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[i * 2]! << 8) | bytes[i * 2 + 1]!).toString(16))
  let best = { start: -1, length: 1 }
  for (let i = 0; i < 8; i++) {
    let length = 0
    while (i + length < 8 && groups[i + length] === '0') length++
    if (length > best.length) best = { start: i, length }
  }
  if (best.start < 0) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}

/** `aa:bb:cc:dd:ee:ff`; empty for anything but 6 or 8 bytes (Ethernet, EUI-64). */
export function hardwareAddressText(bytes: Uint8Array): string {
  return bytes.length === 6 || bytes.length === 8 ? Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(':') : ''
}
