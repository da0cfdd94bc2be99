/**
 * A unified diff as in Talos's dry run (Talos: pkg/machinery/textdiff): a header, then hunks that
 * begin with `@@ -line,count +line,count @@` and have three lines of context. Empty if nothing has
 * changed.
 */
export const lineDiff = (before: string, after: string): string => {
  if (before === after) return ''
  const edits = editsOf(linesOf(before), linesOf(after))
  return `--- a\n+++ b\n${hunksOf(edits).join('')}`
}

const CONTEXT = 3

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

type Edit = `${' ' | '-' | '+'}${string}`

const editsOf = (a: readonly string[], b: readonly string[]): Edit[] => {
  const rows = longestCommon(a, b)
  const edits: Edit[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push(` ${a[i]!}`)
      i++
      j++
    } else if (
      i < a.length &&
      (j >= b.length || (rows[i + 1]?.[j] ?? 0) >= (rows[i]?.[j + 1] ?? 0))
    )
      edits.push(`-${a[i++]!}`)
    else edits.push(`+${b[j++]!}`)
  }
  return edits
}

const hunksOf = (edits: readonly Edit[]): string[] => {
  const hunks: { from: number; to: number }[] = []
  for (const [index, edit] of edits.entries()) {
    if (edit.startsWith(' ')) continue
    const last = hunks.at(-1)
    const to = Math.min(edits.length, index + CONTEXT + 1)
    if (last && index - CONTEXT < last.to) last.to = to
    else hunks.push({ from: Math.max(0, index - CONTEXT), to })
  }
  return hunks.map(({ from, to }) => {
    const inside = edits.slice(from, to)
    const range = (other: '+' | '-'): string => {
      const count = inside.filter((edit) => !edit.startsWith(other)).length
      const first = edits.slice(0, from).filter((edit) => !edit.startsWith(other)).length + 1
      return `${count === 0 ? first - 1 : first},${count}`
    }
    return `@@ -${range('+')} +${range('-')} @@\n${inside.map((edit) => `${edit}\n`).join('')}`
  })
}

const longestCommon = (a: readonly string[], b: readonly string[]): Uint32Array[] => {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    const row = rows[i]!
    const below = rows[i + 1]!
    for (let j = b.length - 1; j >= 0; j--)
      row[j] = a[i] === b[j] ? below[j + 1]! + 1 : Math.max(below[j]!, row[j + 1]!)
  }
  return rows
}
