/**
 * The fields a Talos configuration may have, as a tree. Talos refuses every key it doesn't know, so the simulated server must know them all too.
 * Written as one string per document: `name` text, `name!` boolean, `name#` whole number, `name*` anything, `name[]` list of text, `name{…}` object, `name[]{…}` list of objects, `name%{…}` map of objects.
 */
export type Shape =
  | { kind: 'text' | 'boolean' | 'number' | 'any' }
  | { kind: 'texts' }
  | { kind: 'object'; fields: Fields }
  | { kind: 'objects'; fields: Fields }
  | { kind: 'map'; fields: Fields }
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
      found.set(name, opens ? { kind: mark === '[]' ? 'objects' : mark === '%' ? 'map' : 'object', fields: read() } : plain(mark))
    }
  }
  return read()
}

const plain = (mark: string | undefined): Shape =>
  mark === '!' ? { kind: 'boolean' } : mark === '#' ? { kind: 'number' } : mark === '*' ? { kind: 'any' } : mark === '[]' ? { kind: 'texts' } : { kind: 'text' }

/** Every key or type that doesn't fit, as a path and what is wrong there. */
export const mismatches = (value: unknown, known: Fields, path = ''): { unknown: string[]; wrong: string[] } => {
  const unknown: string[] = []
  const wrong: string[] = []
  const object = (at: string, part: unknown, inside: Fields): void => {
    if (part === null || part === undefined) return
    if (!isObject(part)) return void wrong.push(`${at}: cannot unmarshal ${typeName(part)} into an object`)
    for (const [key, child] of Object.entries(part)) {
      const shape = inside.get(key)
      if (shape) one(`${at}.${key}`, child, shape)
      else unknown.push(`${at}.${key}`)
    }
  }
  const list = (at: string, part: unknown, each: (at: string, item: unknown) => void): void => {
    if (part === null || part === undefined) return
    if (!Array.isArray(part)) return void wrong.push(`${at}: cannot unmarshal ${typeName(part)} into a list`)
    for (const [index, item] of part.entries()) each(`${at}[${index}]`, item)
  }
  const text = (at: string, part: unknown): void => {
    if (typeof part === 'object' && part !== null) wrong.push(`${at}: cannot unmarshal ${typeName(part)} into a string`)
  }
  const one = (at: string, part: unknown, shape: Shape): void => {
    if (shape.kind === 'object') return object(at, part, shape.fields)
    if (shape.kind === 'objects') return list(at, part, (where, item) => object(where, item, shape.fields))
    if (shape.kind === 'texts') return list(at, part, text)
    if (shape.kind === 'text') return text(at, part)
    if (shape.kind === 'map') {
      if (part === null) return
      if (!isObject(part)) return void wrong.push(`${at}: cannot unmarshal ${typeName(part)} into a map`)
      for (const [key, child] of Object.entries(part)) object(`${at}.${key}`, child, shape.fields)
      return
    }
    if (part === null || part === undefined || shape.kind === 'any') return
    if (shape.kind === 'boolean' && typeof part !== 'boolean') wrong.push(`${at}: cannot unmarshal ${typeName(part)} into bool`)
    if (shape.kind === 'number' && !Number.isInteger(part)) wrong.push(`${at}: cannot unmarshal ${typeName(part)} into int`)
  }
  object(path, value, known)
  return { unknown, wrong }
}

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value if it is of this kind, else an empty one: configurations and objects of the API are read field by field. */
export const object = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {})
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''

const typeName = (value: unknown): string =>
  Array.isArray(value)
    ? '!!seq'
    : value === null
      ? '!!null'
      : typeof value === 'object'
        ? '!!map'
        : typeof value === 'string'
          ? '!!str'
          : typeof value === 'boolean'
            ? '!!bool'
            : '!!int'
