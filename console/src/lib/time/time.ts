/**
 * The API sends times as ISO 8601 in UTC. Pages show them in the reader's time zone, with the exact
 * time in the tooltip.
 */

import { two } from './clock.ts'
import { serverNow } from './server-time.ts'

/**
 * Caches formatters: creating one takes far longer than using it, and a list may format a thousand
 * timestamps.
 */
const once = <Key extends string | void>(make: (key: Key) => Intl.DateTimeFormat) => {
  const made = new Map<Key, Intl.DateTimeFormat>()
  return (key: Key): Intl.DateTimeFormat => {
    const formatter = made.get(key) ?? make(key)
    made.set(key, formatter)
    return formatter
  }
}
const inShort = once(
  (part: 'month' | 'weekday') => new Intl.DateTimeFormat('en', { [part]: 'short' }),
)
const inFull = once(
  () =>
    new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'short',
    }),
)

/** "14:07" today, "Thu 14:07" within a week, "3 Nov" this year, "3 Nov 2025" before. */
export function moment(iso: string, now = serverNow()): string {
  const d = new Date(iso)
  const today = new Date(now)
  const hm = `${two(d.getHours())}:${two(d.getMinutes())}`
  if (d.toDateString() === today.toDateString()) return hm
  const month = inShort('month').format(d)
  if (Math.abs(now - d.getTime()) < 6.5 * 86_400_000) return `${inShort('weekday').format(d)} ${hm}`
  return d.getFullYear() === today.getFullYear()
    ? `${d.getDate()} ${month}`
    : `${d.getDate()} ${month} ${d.getFullYear()}`
}

/** "20 November 2026, 14:07:32 CET", for tooltips. */
export const exact = (iso: string): string => inFull().format(new Date(iso))

/** "18 s", "9 min 16 s", "2 h 5 min", "3 d 4 h". Never negative. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  const min = Math.floor(s / 60)
  if (min < 60) return s % 60 === 0 ? `${min} min` : `${min} min ${s % 60} s`
  const h = Math.floor(min / 60)
  if (h < 24) return min % 60 === 0 ? `${h} h` : `${h} h ${min % 60} min`
  return h % 24 === 0 ? `${Math.floor(h / 24)} d` : `${Math.floor(h / 24)} d ${h % 24} h`
}

/** "just now", "18 s ago", "4 min ago", "3 h ago", "2 d ago": one unit, for lists. */
export function ago(iso: string, now = serverNow()): string {
  const s = Math.round((now - Date.parse(iso)) / 1000)
  if (s < 2) return 'just now'
  if (s < 60) return `${s} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  return `${Math.floor(s / 86_400)} d ago`
}

/**
 * "in 7 d", "in 4 h", "in 12 min", "in a moment": time left until a moment in the future; `ago` for
 * one in the past. Rounded to the nearest unit, so a token created a second ago for 7 days ends in
 * 7 d, not in 6 d.
 */
export function until(iso: string, now = serverNow()): string {
  const s = Math.round((Date.parse(iso) - now) / 1000)
  if (s <= 0) return ago(iso, now)
  if (s < 60) return 'in a moment'
  const [min, h] = [Math.round(s / 60), Math.round(s / 3600)]
  if (min < 60) return `in ${min} min`
  if (h < 48) return `in ${h} h`
  return `in ${Math.round(s / 86_400)} d`
}

/** The reader's zone, by its IANA name. */
export const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
