/**
 * Browsers by what their user agent contains; the order matters, because each also names others.
 */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

const named = (known: readonly (readonly [part: string, name: string])[], text: string) =>
  known.find(([part]) => text.includes(part))?.[1]

/** "Firefox on Linux"; for other programs the start of the user agent: "curl/8.17.0". */
export function programOf(userAgent: string): string {
  const browser = userAgent.startsWith('Mozilla/') ? named(browsers, userAgent) : undefined
  const system = named(systems, userAgent)
  if (browser === undefined) return userAgent.split(' ', 1)[0]!.slice(0, 40) || 'Unknown'
  return system === undefined ? browser : `${browser} on ${system}`
}
