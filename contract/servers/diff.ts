/** A line of a comparison. Line numbers count from 1; null if the line isn't on that side. */
export interface DiffLine {
  kind: 'same' | 'add' | 'remove'
  before: number | null
  after: number | null
  text: string
}

/**
 * If more lines than this differ, everything between the common start and end counts as replaced.
 * This keeps the comparison fast.
 */
const limit = 4_000

/** Compares by lines, with the fewest additions and removals (longest common subsequence). */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [
    before === '' ? [] : before.replace(/\n$/, '').split('\n'),
    after === '' ? [] : after.replace(/\n$/, '').split('\n'),
  ]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  const lines: DiffLine[] = []
  const same = (i: number, j: number) =>
    lines.push({ kind: 'same', before: i + 1, after: j + 1, text: a[i]! })
  const remove = (i: number) =>
    lines.push({ kind: 'remove', before: i + 1, after: null, text: a[i]! })
  const add = (j: number) => lines.push({ kind: 'add', before: null, after: j + 1, text: b[j]! })
  for (let i = 0; i < start; i++) same(i, i)
  const [m, n] = [endA - start, endB - start]
  if (m * n > limit * limit) {
    for (let i = start; i < endA; i++) remove(i)
    for (let j = start; j < endB; j++) add(j)
  } else {
    const width = n + 1
    const common = new Uint16Array((m + 1) * width)
    for (let i = m - 1; i >= 0; i--) {
      for (let j = n - 1; j >= 0; j--)
        common[i * width + j] =
          a[start + i] === b[start + j]
            ? common[(i + 1) * width + j + 1]! + 1
            : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
    let [i, j] = [0, 0]
    while (i < m || j < n) {
      if (i < m && j < n && a[start + i] === b[start + j]) same(start + i++, start + j++)
      else if (i < m && (j === n || common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
        remove(start + i++)
      else add(start + j++)
    }
  }
  for (let i = endA; i < a.length; i++) same(i, endB + i - endA)
  return lines
}

export interface Part {
  /** Index of the part's first line in the text. */
  from: number
  lines: DiffLine[]
  hidden: boolean
}

/**
 * Folds unchanged lines, keeping `context` lines around each change. Up to two unchanged lines
 * stay.
 */
export function collapse(lines: readonly DiffLine[], context = 3): Part[] {
  const near = new Uint8Array(lines.length)
  lines.forEach((line, i) => {
    if (line.kind !== 'same')
      near.fill(1, Math.max(0, i - context), Math.min(lines.length, i + context + 1))
  })
  const parts: Part[] = []
  for (let i = 0; i < lines.length;) {
    let end = i
    while (end < lines.length && near[end] === near[i]) end++
    parts.push({ from: i, lines: lines.slice(i, end), hidden: near[i] === 0 && end - i > 2 })
    i = end
  }
  return parts
}

/** The difference of two texts as a unified diff without file names; empty if they are equal. */
export const unifiedDiff = (before: string, after: string): string => {
  const signs = { same: ' ', add: '+', remove: '-' } as const
  const parts = collapse(diffLines(before, after))
  if (parts.every(({ lines }) => lines.every(({ kind }) => kind === 'same'))) return ''
  const hunks = parts.flatMap(({ hidden, lines }) => {
    if (hidden) return []
    const [old, now] = [
      lines.filter((l) => l.before !== null),
      lines.filter((l) => l.after !== null),
    ]
    const range = (some: typeof lines, side: 'before' | 'after') =>
      `${some[0]?.[side] ?? 0},${some.length}`
    return [
      `@@ -${range(old, 'before')} +${range(now, 'after')} @@`,
      ...lines.map(({ kind, text }) => `${signs[kind]}${text}`),
    ]
  })
  return `${hunks.join('\n')}\n`
}
