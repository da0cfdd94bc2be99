/**
 * Text for a terminal. Names, reasons and hardware strings come from machines and other people.
 * They must not move the cursor, change colours or reorder text (Unicode TR 36 §3, bidirectional
 * overrides).
 */

/** C0 and C1 controls, DEL, line separators, bidirectional and invisible format characters. */
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/**
 * One line that is safe to print: white space becomes a space, any other unsafe character becomes
 * U+FFFD.
 */
export const oneLine = (text: string): string =>
  text.replace(/[\t\n\r]+/g, ' ').replace(unsafe, '\ufffd')

/** Several lines that are safe to print. */
export const manyLines = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.replaceAll('\t', '  ').replace(unsafe, '\ufffd'))
    .join('\n')

/** Unsafe characters that JSON.stringify and YAML leave as they are. */
const unescaped = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
/** Whether a text in double quotes needs `escaped` to be safe on a terminal. */
export const needsEscapes = (text: string): boolean => text.search(unescaped) >= 0
/** JSON, or YAML with all unsafe texts in double quotes, made safe for a terminal. */
export const escaped = (text: string): string =>
  text.replace(unescaped, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** JSON that is safe on a terminal. */
export const safeJson = (value: unknown, indent?: number): string =>
  escaped(JSON.stringify(value, null, indent))

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Wide characters: approximately the East Asian Wide and Fullwidth blocks (UAX 11), and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u
const zero = /^[\p{Mn}\p{Me}]+$/u

const widthOfOne = (grapheme: string) => (zero.test(grapheme) ? 0 : wide.test(grapheme) ? 2 : 1)

/** Width of the text on a terminal, in columns. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfOne(segment)
  return width
}

/** Truncates the text to `width` columns, between characters, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const more = widthOfOne(segment)
    if (used + more > width - 1) break
    kept += segment
    used += more
  }
  return `${kept}…`
}

export const pad = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

function scaled(bytes: number | null | undefined, base: number, units: readonly string[]): string {
  if (bytes === null || bytes === undefined) return '?'
  let at = 0
  let value = bytes
  while (value >= base && at < units.length - 1) {
    value /= base
    at++
  }
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[at]}`
}

/** 549755813888 → "512 GiB"; unknown → "?". */
export const memory = (bytes: number | null | undefined): string =>
  scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'])
/** 3840755982336 → "3.8 TB". Disks are sold in decimal units, and the console shows the same. */
export const disk = (bytes: number | null | undefined): string =>
  scaled(bytes, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])

/** "12 s ago", "3 h ago". A future time is "now", because clocks differ. */
export function ago(iso: string | null, now: number): string {
  if (iso === null) return 'never'
  const seconds = Math.max(0, Math.floor((now - Date.parse(iso)) / 1000))
  if (seconds < 1) return 'now'
  if (seconds < 120) return `${seconds} s ago`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`
  return seconds < 172_800
    ? `${Math.floor(seconds / 3600)} h ago`
    : `${Math.floor(seconds / 86_400)} days ago`
}

/**
 * Local date and time to the second, as Sweden writes them: 2026-11-20 08:00:00. Scripts get ISO
 * 8601 in UTC with --json.
 */
export const localTime = (iso: string | null): string =>
  iso === null ? '-' : new Date(iso).toLocaleString('sv')

/** `control_plane` → `control plane`. */
export const words = (value: string): string => value.replaceAll('_', ' ')
