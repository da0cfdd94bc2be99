/** A line diff as a dry run shows it: unchanged lines with a space, removed with a minus, added with a plus, three lines of context. Empty when nothing changed. */
export const lineDiff = (before: string, after: string): string => {
  const a = before.split('\n')
  const b = after.split('\n')
  const rows = longestCommon(a, b)
  const marked: string[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      marked.push(` ${a[i]}`)
      i++
      j++
    } else if (i < a.length && (j >= b.length || (rows[i + 1]?.[j] ?? 0) >= (rows[i]?.[j + 1] ?? 0))) marked.push(`-${a[i++]}`)
    else marked.push(`+${b[j++]}`)
  }
  const near = new Set<number>()
  for (const [index, line] of marked.entries()) if (!line.startsWith(' ')) for (let step = -3; step <= 3; step++) near.add(index + step)
  return marked.filter((_, index) => near.has(index)).join('\n')
}

const longestCommon = (a: readonly string[], b: readonly string[]): Uint32Array[] => {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    const row = rows[i]!
    const below = rows[i + 1]!
    for (let j = b.length - 1; j >= 0; j--) row[j] = a[i] === b[j] ? below[j + 1]! + 1 : Math.max(below[j]!, row[j + 1]!)
  }
  return rows
}
