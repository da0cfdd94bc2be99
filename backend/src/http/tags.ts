/**
 * Entity tags (RFC 9110 §8.8.3, §13.1): which versions a caller has read, and whether the caller's
 * copy is current. The gzip of a text that is cached in memory is computed once, and kept as long
 * as the text.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Problem } from '#contract/errors.ts'

/**
 * The versions in `If-Match`, one of which must be the object's current version; undefined if any
 * version is accepted.
 */
export type Versions = readonly number[] | undefined

const oneTag = /[ \t]*(?:(?:W\/)?"([!#-~\u0080-\u00ff]*)"[ \t]*)?(?:,|$)/y

/** The tags in a list, weak and strong; undefined if the list is invalid. */
function tagsOf(header: string): string[] | undefined {
  const tags: string[] = []
  for (let at = 0; at < header.length; at = oneTag.lastIndex) {
    oneTag.lastIndex = at
    const match = oneTag.exec(header)
    if (!match) return undefined
    // Empty list elements are ignored (RFC 9110 §5.6.1).
    if (match[1] !== undefined) tags.push(match[1])
  }
  return tags
}

/**
 * Parses `If-Match`. Unknown tags match no version. A weak tag counts like a strong one, because
 * compressing proxies make tags weak.
 * @throws Problem stale if the list is invalid, because the caller's precondition is unknown
 */
export function versionsOf(ifMatch: string | undefined): Versions {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const tags = tagsOf(ifMatch)
  if (!tags || tags.length === 0)
    throw new Problem('stale', 'If-Match must be an ETag that Steelyard returned')
  return tags.filter((tag) => /^\d{1,15}$/.test(tag)).map(Number)
}

/**
 * Whether the caller has read the object's current version. Always true without `If-Match`: the
 * last write wins.
 */
export const isVersion = (ifMatch: Versions, version: number): boolean =>
  ifMatch === undefined || ifMatch.includes(version)

/** @throws Problem stale if the caller has read another version than the current one */
export function checkVersion(ifMatch: Versions, version: number): void {
  if (!isVersion(ifMatch, version))
    // Steelyard itself may have changed it, such as the status of a cluster.
    throw new Problem('stale', 'This object has changed since you opened it. Load it again.')
}

/**
 * Returns the row of a call's object. @throws Problem not_found if it doesn't exist; stale like
 * `checkVersion`
 */
export function existing<Row extends { readonly version: number }>(
  row: Row | undefined,
  noun: string,
  ifMatch?: Versions,
): Row {
  if (!row) throw new Problem('not_found', `There is no such ${noun}`)
  checkVersion(ifMatch, row.version)
  return row
}

/**
 * Whether `If-None-Match` names `etag`, so that 304 is enough; compared weakly (RFC 9110 §13.1.2).
 */
export function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  return tagsOf(ifNoneMatch)?.includes(etag.slice(etag.indexOf('"') + 1, -1)) ?? false
}

/** Minimum size for compression, in bytes. A shorter text fits into a few packets anyway. */
export const worthPacking = 16_384

const pack = promisify(gzip)
const packs = new WeakMap<Uint8Array, Promise<Buffer>>()

/**
 * A list of 1,000 servers takes 19 ms on another thread and 430 kB; at the fastest level 12 ms and
 * 530 kB.
 */
const packLevel = 4

/**
 * Compresses by gzip on another thread, at a fast level, because a list of servers changes every
 * few seconds.
 */
export function packed(text: Uint8Array): Promise<Buffer> {
  const known = packs.get(text)
  if (known) return known
  const made = pack(text, { level: packLevel })
  packs.set(text, made)
  return made
}
