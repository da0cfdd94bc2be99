/** Cleans text from a server, so that it is safe to show and to paste. */
// Control characters, invisible characters, and characters that change the direction of text could
// deceive a person who reads or pastes the text.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const hiddenButBreaks = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
// Tabs and line breaks are harmless, and Talos's own messages use them for their layout.
const breaks = /\r\n?|[\t\n\v\f]/g

/**
 * Text in which nothing has to be replaced, as in most texts: one test instead of two searches for
 * hidden characters.
 */
const harmless = /^[ -~]*$/

/**
 * A value as one line of at most `max` characters: line breaks and tabs become spaces, invisible
 * characters become �.
 */
export function text(value: string, max = 256): string {
  const short = cut(value, max)
  return harmless.test(short) ? short : short.replace(breaks, ' ').replace(hidden, '\u{fffd}')
}

/**
 * A message of several lines, such as the refusal of a configuration. Lists of errors as Go writes
 * them (hashicorp/go-multierror: `2 errors occurred:\n\t* …`) become lines that begin with `- `,
 * indented by two spaces for each level of nesting; a list with a single error becomes that error.
 */
export function messageText(value: string, max = 4000): string {
  return errorLists(cut(value, max).replace(/\r\n?|[\v\f]/g, '\n'))
    .replaceAll('\t', '  ')
    .replace(hiddenButBreaks, '\u{fffd}')
}

/** Truncates to at most `max` code units without splitting a surrogate pair. */
function cut(value: string, max: number): string {
  if (value.length <= max) return value
  const end = (value.charCodeAt(max - 1) & 0xfc00) === 0xd800 ? max - 1 : max
  return value.slice(0, end)
}

/**
 * 4 or 16 bytes as an address, IPv6 in the form of RFC 5952; undefined for any other length. URLs
 * use the same form.
 */
export function addressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return undefined
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((bytes[i * 2]! << 8) | bytes[i * 2 + 1]!).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/** `aa:bb:cc:dd:ee:ff`; empty for anything but 6 or 8 bytes (Ethernet, EUI-64). */
export function hardwareAddressText(bytes: Uint8Array): string {
  return bytes.length === 6 || bytes.length === 8
    ? Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(':')
    : ''
}

/** An error and its nested errors. */
interface Told {
  text: string
  of: Told[]
}

const heading = /^(.*?)(\d{1,4}) errors? occurred:$/

/**
 * Converts Go's error lists (hashicorp/go-multierror, `ListFormatFunc`: `2 errors occurred:\n\t*
 * …\n\t* …\n\n`) to lines with a leading `- `; a list of one error becomes that error. Nested lists
 * have the same indent in Go's text, and only the counts show their ends; here they are indented by
 * two spaces.
 */
function errorLists(message: string): string {
  if (!/\d errors? occurred:\n\t\* /.test(message)) return message
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  const shown: string[] = []
  for (let at = 0; at < lines.length;) {
    const [told, next] = read(lines, at, lines[at]!)
    show(told, 0, '', shown)
    at = next
  }
  return shown.join('\n')
}

/** Removes trailing spaces and the colon before them. */
function withoutEnd(text: string): string {
  const end = text.trimEnd()
  return end !== text && end.endsWith(':') ? end.slice(0, -1) : end
}

/** Reads a line and its nested lists. Returns them and the index of the next line. */
function read(lines: readonly string[], at: number, line: string): [Told, number] {
  const [, before, count] = heading.exec(line) ?? []
  const told: Told = { text: withoutEnd(before ?? line), of: [] }
  let next = at + 1
  if (before === undefined) return [told, next]
  while (told.of.length < Number(count) && lines[next]?.startsWith('\t* ')) {
    const [item, after] = read(lines, next, lines[next]!.slice(3))
    told.of.push(item)
    next = after
    // A further line of the same error.
    while (
      item.of.length === 0 &&
      lines[next] !== undefined &&
      !lines[next]!.startsWith('\t* ') &&
      told.of.length < Number(count)
    ) {
      item.text += ` ${lines[next]!.trim()}`
      next++
    }
  }
  return [told, next]
}

function show({ text, of }: Told, depth: number, before: string, shown: string[]): void {
  const said = [before, text].filter((part) => part !== '').join(': ')
  if (of.length === 1) return show(of[0]!, depth, said, shown)
  const bullet = depth === 0 ? '' : `${'  '.repeat(depth - 1)}- `
  if (said !== '') shown.push(`${bullet}${said}${of.length > 0 ? ':' : ''}`)
  for (const item of of) show(item, depth + 1, '', shown)
}
