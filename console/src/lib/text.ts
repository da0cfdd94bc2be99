/**
 * Replaces the middle of a long string by an ellipsis. Specified default: 16 characters in front,
 * 10 at the end.
 */
export function truncate(text: string, front = 16, back = 10): string {
  return text.length <= front + back + 1
    ? text
    : `${text.slice(0, front)}…${text.slice(text.length - back)}`
}

/** Entries of a multi-line input, separated by line breaks or commas. Empty ones are dropped. */
export const listOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** The text with a capital letter at its start. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Sentence case of a code word: `control_plane` is "Control plane". */
export const sentence = (code: string): string => capital(code.replaceAll('_', ' '))

/** Two initials for an avatar, from a name or an email address. */
export function initials(nameOrEmail: string): string {
  const [first = '', second = ''] = nameOrEmail
    .replace(/@.*/, '')
    .split(/[\s._-]+/)
    .filter(Boolean)
  return (first.charAt(0) + (second.charAt(0) || first.charAt(1))).toUpperCase()
}

/** Versions are shown with a v, as in tags and release notes: "1.36.3" is "v1.36.3". */
export const versionShown = (version: string): string =>
  version === '' || version.startsWith('v') ? version : `v${version}`
