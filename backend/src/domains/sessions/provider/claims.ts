/**
 * Reads email, name and role from the claims of the identity provider. The claims are external
 * data. Pure functions.
 */
import * as z from 'zod/mini'
import { type Role, roles as allRoles } from '#contract/permissions.ts'
import { displayName, email as emailSchema } from '#contract/sessions.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Null: the claim is missing, or is no email. */
export function emailOf({ email }: Claims): string | null {
  const read = z.safeParse(emailSchema, email)
  return read.success ? read.data : null
}

/**
 * Whether the provider has verified the email; null if it doesn't say. Some providers send a text.
 * Anything else, such as a list, counts as not verified.
 */
export function verifiedOf({ email_verified: claim }: Claims): boolean | null {
  if (claim === undefined || claim === null) return null
  return claim === true || claim === 'true'
}

/**
 * The claims of the ID token, completed by those of the response of the UserInfo endpoint. Email
 * and its verification come from the same document: what one says about an email that it doesn't
 * name is not about the email of the other.
 */
export function mergedClaims(token: Claims, userInfo: Claims): Claims {
  const { email, email_verified } = emailOf(token) === null ? userInfo : token
  return { ...userInfo, ...token, email, email_verified }
}

/**
 * A subject that tells users apart (at most 255 characters: OpenID Connect Core 1.0, section 2).
 * The database refuses NUL, and stores texts that aren't well-formed as other texts.
 */
export const isSubject = (subject: string): boolean =>
  /^\P{Cc}{1,255}$/u.test(subject) && subject.isWellFormed()

/** The displayed name: the claim `name`, else the part of the email before the @. */
export function nameOf({ name }: Claims, email: string): string {
  const read = z.safeParse(displayName, name)
  return read.success ? read.data : email.split('@', 1)[0]!.slice(0, 80)
}

/** A claim by its name, else by the path that its dots describe, such as `realm_access.roles`. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Claims)[key]
  }
  return value
}

/** Whether the claim with the user's groups is present. */
export const hasGroups = (claims: Claims, path: string): boolean =>
  claimAt(claims, path) !== undefined

/**
 * The highest role of the user's groups. Undefined: no group has a role. @param map group → role;
 * `*` is anybody
 */
export function roleOf(
  claims: Claims,
  path: string,
  map: ReadonlyMap<string, Role>,
): Role | undefined {
  const value = claimAt(claims, path)
  const groups = [value].flat().filter((group) => typeof group === 'string')
  const granted = new Set([...groups, '*'].flatMap((group) => map.get(group) ?? []))
  return allRoles.toReversed().find((role) => granted.has(role))
}
