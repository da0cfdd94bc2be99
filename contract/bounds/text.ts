/**
 * Bounds of texts in responses. A text is measured as JSON writes it in UTF-8, because that is what
 * a response takes in memory and on the line: a line break takes two bytes, another control
 * character six.
 */
/** Bytes of a code point within a JSON string (RFC 8259, section 7; `JSON.stringify`). */
function jsonBytesOf(code: number): number {
  // \b, \t, \n, \f and \r have a short form.
  if (code < 0x20) return code >= 8 && code <= 13 && code !== 11 ? 2 : 6
  if (code === 0x22 || code === 0x5c) return 2
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  // A surrogate without its pair is escaped.
  if (code >= 0xd800 && code <= 0xdfff) return 6
  return code > 0xffff ? 4 : 3
}

/**
 * The longest start of a text that takes at most so many bytes as JSON, without the quotes around
 * it. No character is split.
 */
export function startOf(text: string, mostBytes: number): string {
  // No UTF-16 unit takes more than six bytes.
  if (text.length * 6 <= mostBytes) return text
  let bytes = 0
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!
    bytes += jsonBytesOf(code)
    if (bytes > mostBytes) return text.slice(0, at)
    at += code > 0xffff ? 2 : 1
  }
  return text
}

/** How a schema keeps its value within a bound. `jsonBytes`: its largest size as JSON. */
export interface Bounding<T> {
  (value: T): T
  readonly jsonBytes: number
}
export const bounding = <T>(jsonBytes: number, bound: (value: T) => T): Bounding<T> =>
  Object.assign(bound, { jsonBytes })

/** How a schema keeps an array within a number of items. */
export interface Holding<T> {
  (value: T): T
  readonly mostItems: number
}
export const holding = <T>(mostItems: number, bound: (value: T) => T): Holding<T> =>
  Object.assign(bound, { mostItems })
