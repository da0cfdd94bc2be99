/** The name that a mistyped one probably means. */

/** Changes of one character that make one text of another (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
      )
    row = next
  }
  return row[b.length]!
}

const longestName = 100
const mostChangesOf = (name: string): number => (name.length < 5 ? 1 : 2)

/**
 * The known name that differs by two characters at most, in short names by one, whatever its case;
 * null if none does.
 */
export function nearestOf(name: string, known: Iterable<string>): string | null {
  if (name.length > longestName) return null
  const plain = name.toLowerCase()
  const mostChanges = mostChangesOf(name)
  let best: { readonly name: string; readonly changes: number } | null = null
  for (const one of known) {
    if (Math.abs(one.length - name.length) > mostChanges) continue
    const changes = distance(plain, one.toLowerCase())
    if (changes <= mostChanges && changes < (best?.changes ?? Infinity))
      best = { name: one, changes }
  }
  return best?.name ?? null
}
