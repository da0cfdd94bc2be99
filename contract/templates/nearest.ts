/** The version to take instead of one that is gone. */

const minorOf = (version: string): number => Number(version.split('.')[1] ?? 0)

/**
 * The version with the nearest minor; undefined only without versions.
 * @param versions the newest first, with or without a leading `v`: of two that are equally near the
 * newer one is taken, and of a minor the newest
 */
export function nearestVersion(versions: readonly string[], to: string): string | undefined {
  const distance = (version: string) => Math.abs(minorOf(version) - minorOf(to))
  return versions.toSorted((a, b) => distance(a) - distance(b))[0]
}
