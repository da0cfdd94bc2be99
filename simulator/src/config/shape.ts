/**
 * The allowed fields of a Talos configuration as a tree. Talos refuses unknown keys, so the
 * simulated server must know all keys. Written as one string per document: `name` text, `name!`
 * boolean, `name#` whole number, `name*` anything, `name[]` list of text, `name{…}` object,
 * `name[]{…}` list of objects, `name%{…}` map of objects.
 */
export type Shape =
  | { kind: 'text' | 'boolean' | 'number' | 'any' | 'texts' }
  | { kind: 'object' | 'objects' | 'map'; fields: Fields }
export type Fields = ReadonlyMap<string, Shape>

const TOKEN = /\s*(?:([A-Za-z0-9_]+)([!#*%]|\[\])?(\{)?|(\}))/y

export const fields = (text: string): Fields => {
  TOKEN.lastIndex = 0
  const read = (): Fields => {
    const found = new Map<string, Shape>()
    for (;;) {
      const match = TOKEN.exec(text)
      if (!match || match[4] === '}') return found
      const [, name = '', mark, opens] = match
      found.set(
        name,
        opens
          ? { kind: mark === '[]' ? 'objects' : mark === '%' ? 'map' : 'object', fields: read() }
          : plain(mark),
      )
    }
  }
  return read()
}

const plain = (mark: string | undefined): Shape =>
  mark === '!'
    ? { kind: 'boolean' }
    : mark === '#'
      ? { kind: 'number' }
      : mark === '*'
        ? { kind: 'any' }
        : mark === '[]'
          ? { kind: 'texts' }
          : { kind: 'text' }

type Path = readonly (string | number)[]

/** Booleans of Talos's YAML library (go.yaml.in/yaml, including those of YAML 1.1). */
const FLAG =
  /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|true|True|TRUE|false|False|FALSE)$/

/** Paths of unknown keys and of values with wrong types. */
export const mismatches = (
  value: unknown,
  known: Fields,
): { unknown: Path[]; wrong: { path: Path; reason: string }[] } => {
  const unknown: Path[] = []
  const wrong: { path: Path; reason: string }[] = []
  const refuse = (path: Path, part: unknown, type: string): void =>
    void wrong.push({ path, reason: `cannot construct ${described(part)} into ${type}` })
  const object = (at: Path, part: unknown, inside: Fields): void => {
    if (part === null || part === undefined) return
    if (!isObject(part)) return refuse(at, part, 'an object')
    for (const [key, child] of Object.entries(part)) {
      const shape = inside.get(key)
      if (shape) one([...at, key], child, shape)
      else unknown.push([...at, key])
    }
  }
  const list = (at: Path, part: unknown, each: (at: Path, item: unknown) => void): void => {
    if (part === null || part === undefined) return
    if (!Array.isArray(part)) return refuse(at, part, 'a list')
    for (const [index, item] of part.entries()) each([...at, index], item)
  }
  const text = (at: Path, part: unknown): void => {
    if (typeof part === 'object' && part !== null) refuse(at, part, 'string')
  }
  const one = (at: Path, part: unknown, shape: Shape): void => {
    if (shape.kind === 'object') return object(at, part, shape.fields)
    if (shape.kind === 'objects')
      return list(at, part, (where, item) => object(where, item, shape.fields))
    if (shape.kind === 'texts') return list(at, part, text)
    if (shape.kind === 'text') return text(at, part)
    if (shape.kind === 'map') {
      if (part === null) return
      if (!isObject(part)) return refuse(at, part, 'a map')
      for (const [key, child] of Object.entries(part)) object([...at, key], child, shape.fields)
      return
    }
    if (part === null || part === undefined || shape.kind === 'any') return
    if (
      shape.kind === 'boolean' &&
      typeof part !== 'boolean' &&
      !(typeof part === 'string' && FLAG.test(part))
    )
      refuse(at, part, 'bool')
    if (shape.kind === 'number' && !Number.isInteger(part)) refuse(at, part, 'int')
  }
  object([], value, known)
  return { unknown, wrong }
}

/** An object of YAML or JSON. */
export type Body = Record<string, unknown>

export const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value if it is an object, else an empty one. */
export const object = (value: unknown): Body => (isObject(value) ? value : {})
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : ''

/**
 * Describes a value as the error messages of Talos's YAML library do: by its tag and, for a scalar,
 * its value.
 */
const described = (value: unknown): string => {
  if (Array.isArray(value)) return '!!seq'
  if (typeof value === 'object') return value === null ? '!!null' : '!!map'
  return `${typeof value === 'string' ? '!!str' : typeof value === 'boolean' ? '!!bool' : '!!int'} \`${text(value)}\``
}
