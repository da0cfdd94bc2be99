/**
 * The model of Talos's documents: which keys exist, how values merge, how a document is written,
 * which values are secret, and what the editor completes. Keys are in the order in which Talos
 * writes them.
 */

import type { Minor } from '../../versions.ts'

interface Common {
  /** Description for users, in one sentence. */
  about?: string
  /** The field is written even if it has no value (Go fields without `omitempty`). */
  always?: boolean
  /** Masked for every reader. */
  secret?: boolean
  /**
   * May contain a secret, so it is masked for readers without access to secrets: all values in it
   * (`values`), the part after `=` of each text (`variables`), or the whole text if it is a
   * manifest of a Kubernetes Secret (`manifest`).
   */
  sensitive?: 'values' | 'variables' | 'manifest'
  /** The first Talos minor with this field or document. */
  since?: Minor
}

export interface TextShape extends Common {
  is: 'text'
  /** Allowed values. */
  values?: readonly string[]
  /** The first minor of those of `values` that older minors refuse. */
  valuesSince?: Readonly<Record<string, Minor>>
  /** The value that means "not set" to Talos: it can't replace another value. */
  zero?: string
  /** An empty text is a value that can replace another. */
  optional?: boolean
  /** Bytes in Talos: replaced as a whole, written in base64. */
  bytes?: boolean
  /** Empty lines at the beginning are dropped. */
  trimmed?: boolean
}

export interface IntegerShape extends Common {
  is: 'integer'
  /** Zero is a value that can replace another. */
  optional?: boolean
  min?: number
  max?: number
  /** Written as an octal number, for a file's mode. */
  octal?: boolean
}

export interface FlagShape extends Common {
  is: 'flag'
}

/** Any YAML, for the settings of another program. */
export interface FreeShape extends Common {
  is: 'free'
  replace?: boolean
  /** Keys, at any depth, whose values are masked for every reader. */
  secretKeys?: readonly string[]
}

export interface ListShape extends Common {
  is: 'list'
  of: Shape
  /** How lists merge: appended (default), replaced, or element by element by the values of keys. */
  merge?: 'replace' | { by: readonly string[]; whole?: boolean }
  /** A patch replaces the list since this minor; older minors append. */
  replacedSince?: Minor
  /** Written even when empty, but not when absent; a minor: since this one. */
  keepEmpty?: boolean | Minor
}

export interface MapShape extends Common {
  is: 'map'
  of: Shape
  /** A patch's value replaces the whole value of its key. */
  replaceValues?: boolean
}

export interface ObjectShape extends Common {
  is: 'object'
  fields: Readonly<Record<string, Shape>>
  /**
   * A struct in Go, not a pointer. An empty one is written as `{}` if `always` is set, and left out
   * otherwise.
   */
  inPlace?: boolean
}

/** A text or a list of texts, for an argument of a program. */
export interface ArgumentShape extends Common {
  is: 'argument'
}

/** A port number, or a range of ports such as `30000-32767`. */
export interface PortShape extends Common {
  is: 'port'
}

export type Shape =
  | TextShape
  | IntegerShape
  | FlagShape
  | FreeShape
  | ListShape
  | MapShape
  | ObjectShape
  | ArgumentShape
  | PortShape

type About = string | undefined

const told = (about: About): { about?: string } => (about === undefined ? {} : { about })

export const text = (about?: About): TextShape => ({ is: 'text', ...told(about) })
export const secret = (about?: About): TextShape => ({ is: 'text', secret: true, ...told(about) })
/** Base64 of a PEM text. */
export const certificate = (about?: About): TextShape => ({
  is: 'text',
  bytes: true,
  ...told(about),
})
export const key = (about?: About): TextShape => ({
  is: 'text',
  bytes: true,
  secret: true,
  ...told(about),
})
/**
 * One of a few words. The field is a pointer in Talos, so each word can replace each other word.
 */
export const choice = (values: readonly string[], about?: About): TextShape => ({
  is: 'text',
  values,
  optional: true,
  ...told(about),
})
/** One of a few words. `zero`, if given, is the word that means "not set". */
export const plainChoice = (
  values: readonly string[],
  about?: About,
  zero?: string,
): TextShape => ({
  is: 'text',
  values,
  ...(zero === undefined ? {} : { zero }),
  ...told(about),
})
export const integer = (about?: About): IntegerShape => ({ is: 'integer', min: 0, ...told(about) })
export const optionalInteger = (about?: About): IntegerShape => ({
  is: 'integer',
  min: 0,
  optional: true,
  ...told(about),
})
/** `10s`, `1h30m`: Go's form of a time span. */
export const duration = (about?: About): TextShape => ({ is: 'text', zero: '0s', ...told(about) })
export const flag = (about?: About): FlagShape => ({ is: 'flag', ...told(about) })
export const free = (about?: About): FreeShape => ({ is: 'free', ...told(about) })
export const list = (of: Shape, about?: About): ListShape => ({ is: 'list', of, ...told(about) })
export const texts = (about?: About): ListShape => list(text(), about)
/** A list that a patch replaces. */
export const replaced = (of: Shape, sentence?: About): ListShape => ({
  ...list(of, sentence),
  merge: 'replace',
})
export const map = (of: Shape, about?: About): MapShape => ({ is: 'map', of, ...told(about) })
export const argumentsOf = (about?: About): MapShape => ({
  is: 'map',
  of: { is: 'argument' },
  replaceValues: true,
  ...told(about),
})
export const object = (fields: ObjectShape['fields'], about?: About): ObjectShape => ({
  is: 'object',
  fields,
  ...told(about),
})

/** Several fields of the same shape, from a text with their names. */
export const each = (shape: Shape, names: string): Record<string, Shape> =>
  Object.fromEntries(names.split(' ').map((name) => [name, shape]))

export const always = <S extends Shape>(shape: S): S => ({ ...shape, always: true })
/** Marks a value that may contain a secret, such as settings, files and headers of programs. */
export const sensitive = <S extends Shape>(
  shape: S,
  how: 'values' | 'variables' | 'manifest' = 'values',
): S => ({ ...shape, sensitive: how })
export const addedIn = <S extends Shape>(since: Minor, shape: S): S => ({ ...shape, since })
export const inPlace = (shape: ObjectShape): ObjectShape => ({ ...shape, inPlace: true })
export const about = <S extends Shape>(shape: S, sentence: string): S => ({
  ...shape,
  about: sentence,
})
