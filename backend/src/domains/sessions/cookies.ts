/**
 * The cookies of sign-ins. Over HTTPS their names begin with `__Secure-`: browsers then accept them
 * over HTTPS only, so that nobody who changes traffic without encryption can plant one (RFC
 * 6265bis, section 4.1.3.1).
 */
import { secureName } from '#contract/sessions.ts'
import type { CallContext } from '../../http/serve.ts'

/** Enough for the names and the longest value; a longer header isn't parsed. */
const longestHeader = 8_192

/** The value of the first of these cookies in a `Cookie` header. */
function valueOf(header: string | undefined, names: readonly string[]): string | undefined {
  if (header === undefined || header.length > longestHeader) return undefined
  const given = header.split(';').map((cookie) => cookie.trim())
  const found = names.flatMap(
    (name) => given.find((cookie) => cookie.startsWith(`${name}=`)) ?? [],
  )[0]
  return found?.slice(found.indexOf('=') + 1)
}

/**
 * @param publicUrl of this installation: behind a proxy that Steelyard doesn't know, only this says
 * that browsers use HTTPS
 */
export function cookie(name: string, seconds: number, publicUrl: string) {
  const isSecure = ({ isEncrypted }: Pick<CallContext, 'isEncrypted'>): boolean =>
    isEncrypted || publicUrl.startsWith('https:')
  const nameFor = (from: Pick<CallContext, 'isEncrypted'>): string =>
    isSecure(from) ? secureName(name) : name
  return {
    /**
     * `orPlain`: a cookie from before this name was used, or from a time without HTTPS, counts too.
     * Its value must be signed.
     */
    read: (
      from: Pick<CallContext, 'cookies' | 'isEncrypted'>,
      { orPlain = false } = {},
    ): string | undefined =>
      valueOf(from.cookies, orPlain ? [nameFor(from), name] : [nameFor(from)]),
    /** The header `Set-Cookie`. */
    write: (value: string, from: Pick<CallContext, 'isEncrypted'>): string =>
      `${nameFor(from)}=${value}; Path=/v1/authorize; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure(from) ? '; Secure' : ''}`,
  }
}
