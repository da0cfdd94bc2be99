/**
 * The fingerprint of a server's maintenance certificate as the server's console prints it: a
 * SHA-256 in base64.
 */

const printed = /(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])/g

/**
 * The last fingerprint in text copied from a server's console, or null. One boot prints up to
 * three, because Talos makes a new certificate when it learns more addresses
 * (`secrets/maintenance_cert.go`). The last one is in use.
 */
export const lastFingerprint = (text: string): string | null =>
  text.slice(-100_000).match(printed)?.at(-1) ?? null

/**
 * Compares the last fingerprint in a text with `shown`. `none`: one of the two is missing. `text`:
 * the result as a sentence for users.
 */
export function compareFingerprint(
  text: string,
  shown: string | null,
): { readonly verdict: 'same' | 'other' | 'none'; readonly text: string } {
  const last = lastFingerprint(text)
  if (last === null)
    return {
      verdict: 'none',
      text: 'No fingerprint found: a fingerprint has 44 characters and ends with =',
    }
  if (shown === null)
    return { verdict: 'none', text: 'The server has not presented a certificate yet' }
  if (last === shown)
    return {
      verdict: 'same',
      text: 'The fingerprints match: this console belongs to the machine that answers',
    }
  const all: readonly string[] = text.match(printed) ?? []
  const isEarlier = all.includes(shown)
  return isEarlier
    ? {
        verdict: 'other',
        text: `The console has printed a newer fingerprint, ${last}: wait for the next contact, then compare again`,
      }
    : {
        verdict: 'other',
        text: `Another fingerprint, ${last}: this console belongs to another machine, or the server has restarted since its last contact`,
      }
}
