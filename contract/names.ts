/**
 * Names of servers, clusters, patches, subnets, join tokens, stores, channels, rules, templates and
 * credentials: one rule with one set of sentences.
 */
import * as z from 'zod/mini'

export const nameLength = { min: 1, max: 25 } as const

/** The kinds of objects whose names follow the rules of this file. */
type Named =
  | 'Server'
  | 'Cluster'
  | 'Patch'
  | 'Subnet'
  | 'Join token'
  | 'Store'
  | 'Channel'
  | 'Rule'
  | 'Template'
  | 'Credential'

/**
 * The sentences for a kind of object. The sentences for servers are prescribed by the
 * specification.
 */
export const nameSentences = (what: Named) => ({
  short: `${what} name must be at least ${nameLength.min} character`,
  long: `${what} name must be no more than ${nameLength.max} characters`,
  characters: `${what} name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen`,
  taken: `${what} name already exists. Please choose a different name.`,
})

/**
 * Groups of lowercase letters and digits with single hyphens between: a valid DNS label, as
 * Kubernetes requires of node names (RFC 1123).
 */
const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** Schema of a name. The entered value is trimmed first, like every text input. */
export const nameOf = (what: Named) => {
  const say = nameSentences(what)
  return z
    .string()
    .check(
      z.trim(),
      z.minLength(nameLength.min, say.short),
      z.maxLength(nameLength.max, say.long),
      z.regex(namePattern, say.characters),
    )
}

/**
 * Control characters except line ends and tabs, line separators, bidirectional controls, and
 * zero-width characters: they can make a name look like another name. Joiners are allowed, because
 * Persian and Hindi need them.
 */
const unseen =
  /(?![\t\n\r])[\p{Cc}\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u

/** Check for text that one user enters and other users read. */
export const seen = () =>
  z.refine<string>((text) => !unseen.test(text), {
    error: 'The text contains an invisible character',
  })
