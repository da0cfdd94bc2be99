/**
 * The first mistake in a text of TOML 1.0, as far as line by line can tell: what isn't a table, a
 * key with a value or a comment, and tables or keys that are there twice. Values aren't read.
 */
const table = /^\[\s*([^[\]]+?)\s*\]\s*(#.*)?$/
const arrayOfTables = /^\[\[[^[\]]+\]\]\s*(#.*)?$/
const bareOrQuoted = `(?:[A-Za-z0-9_-]+|"(?:[^"\\\\]|\\\\.)*"|'[^']*')`
const keyed = new RegExp(`^(${bareOrQuoted}(?:\\s*\\.\\s*${bareOrQuoted})*)\\s*=\\s*(.*)$`)
const dotted = new RegExp(`^${bareOrQuoted}(?:\\s*\\.\\s*${bareOrQuoted})*$`)

/** How many brackets the text leaves open, texts and comments left out. */
function open(text: string): number {
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '').replace(/#.*$/, '')
  return bare.replaceAll(/[^[{]/g, '').length - bare.replaceAll(/[^\]}]/g, '').length
}

/** Null if nothing is wrong. */
export function tomlProblem(text: string): string | null {
  const tables = new Set<string>()
  let keys = new Set<string>()
  let depth = 0
  for (const [i, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim()
    const told = (what: string): string => `line ${i + 1} ${what}`
    if (depth > 0) {
      depth = Math.max(0, depth + open(line))
      continue
    }
    // A text of several lines isn't followed.
    if (/"""|'''/.test(line)) return null
    if (line === '' || line.startsWith('#')) continue
    if (arrayOfTables.test(line)) {
      keys = new Set()
      // Tables below it may be there once for each of its items.
      tables.clear()
      continue
    }
    const name = table.exec(line)?.[1]
    if (name !== undefined) {
      const plain = name.replaceAll(/\s*\.\s*/g, '.').replaceAll("'", '"')
      if (!dotted.test(name)) return told(`has no name of a table in its brackets`)
      if (tables.has(plain)) return told(`begins the table [${name}] a second time`)
      tables.add(plain)
      keys = new Set()
      continue
    }
    if (line.startsWith('[')) return told('begins a table without closing its bracket')
    const [, key, value = ''] = keyed.exec(line) ?? []
    if (key === undefined) return told('is neither a table nor a key with its value')
    if (value === '' || value.startsWith('#')) return told(`has no value for ${key}`)
    if (/^[A-Za-z]/.test(value) && !/^(true|false|inf|nan)\b/.test(value))
      return told(`has a text without quotes for ${key}`)
    if (keys.has(key)) return told(`has the key ${key} a second time`)
    keys.add(key)
    depth = Math.max(0, open(value))
  }
  return depth > 0 ? 'a bracket is not closed' : null
}
