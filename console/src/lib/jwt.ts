const texts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((v) => typeof v === 'string')

/**
 * Reads the claims of an access token (RFC 7519) that the console needs: when to refresh the token,
 * and which actions to disable. Only the server verifies the token. Times are seconds since the
 * epoch; `iat` is null if the token has no time of issue.
 * @throws Error "Invalid token" if the token can't be read
 */
export function readClaims(token: unknown) {
  if (typeof token !== 'string') throw new TypeError('Invalid token: not a string')
  const payload = token.split('.')[1]
  if (payload === undefined) throw new Error('Invalid token: no payload')
  let claims: Partial<Record<'sub' | 'sid' | 'email' | 'scopes' | 'exp' | 'iat', unknown>>
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) =>
      c.charCodeAt(0),
    )
    claims = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as typeof claims
  } catch {
    throw new Error('Invalid token: the payload cannot be read')
  }
  const { sub, sid, email, scopes, exp, iat } = claims
  if (
    typeof sub !== 'string' ||
    typeof sid !== 'string' ||
    typeof exp !== 'number' ||
    !Number.isFinite(exp)
  )
    throw new Error('Invalid token: the payload lacks a field')
  return {
    sub,
    sid,
    exp,
    iat: typeof iat === 'number' && Number.isFinite(iat) ? iat : null,
    email: typeof email === 'string' ? email : '',
    scopes: texts(scopes) ? scopes : [],
  }
}
export type Claims = ReturnType<typeof readClaims>
