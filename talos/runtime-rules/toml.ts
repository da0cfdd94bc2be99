/**
 * The first mistake in a text of TOML 1.0, as far as line by line can tell: what isn't a table, a
 * key with a value or a comment, and tables or keys that are there twice. Values aren't read.
 */
const quoted = /"[^"]*"|'[^']*'/g
const name = /^[A-Za-z0-9_-]+$/

/** Whether a text is a name such as `a."b.c".d`. */
const isName = (text: string): boolean =>
  text
    .replaceAll(quoted, 'q')
    .split('.')
    .every((part) => name.test(part.trim()))
const withoutSpaces = (text: string): string => text.split(/\s/).join('')
const isEnd = (text: string): boolean => text.trim() === '' || text.trimStart().startsWith('#')

/** How many brackets the text leaves open, texts and comments left out. */
function open(text: string): number {
  const [bare = ''] = text.replaceAll(quoted, '').split('#', 1)
  return bare.replaceAll(/[^[{]/g, '').length - bare.replaceAll(/[^\]}]/g, '').length
}

/** Null if nothing is wrong. */
export function tomlProblem(text: string): string | null {
  const tables = new Set<string>()
  let keys = new Set<string>()
  let depth = 0
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    const told = (what: string): string => `line ${i + 1} ${what}`
    if (depth > 0) {
      depth = Math.max(0, depth + open(line))
      continue
    }
    // A text of several lines isn't followed.
    if (/"""|'''/.test(line)) return null
    if (isEnd(line)) continue
    if (line.startsWith('[')) {
      const isList = line.startsWith('[[')
      const mark = isList ? ']]' : ']'
      const end = line.replaceAll(quoted, (text) => 'q'.repeat(text.length)).indexOf(mark)
      const inner = line.slice(mark.length, end).trim()
      if (end === -1) return told('begins a table without closing its bracket')
      if (!isName(inner) || !isEnd(line.slice(end + mark.length)))
        return told('has no name of a table in its brackets')
      keys = new Set()
      // Tables below a list of tables may be there once for each of its items.
      if (isList) tables.clear()
      else if (tables.has(withoutSpaces(inner)))
        return told(`begins the table [${inner}] a second time`)
      else tables.add(withoutSpaces(inner))
      continue
    }
    const at = line.indexOf('=')
    const key = line.slice(0, Math.max(0, at)).trim()
    const value = line.slice(at + 1).trim()
    if (at === -1 || !isName(key)) return told('is neither a table nor a key with its value')
    if (isEnd(value)) return told(`has no value for ${key}`)
    if (/^[A-Za-z]/.test(value) && !/^(true|false|inf|nan)\b/.test(value))
      return told(`has a text without quotes for ${key}`)
    if (keys.has(key)) return told(`has the key ${key} a second time`)
    keys.add(key)
    depth = Math.max(0, open(value))
  }
  return depth > 0 ? 'a bracket is not closed' : null
}
