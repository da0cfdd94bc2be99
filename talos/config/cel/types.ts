/** Types of the Common Expression Language as cel-go's checker knows them. */

/** A type: its name, and its parameters if it has any. */
export interface CelType {
  /** `param` is a type that isn't known yet; a message has its own name. */
  readonly kind: string
  readonly of: readonly CelType[]
  /** Name of a `param`. */
  readonly name?: string
}

/** Fields of messages with their types as texts, by the message's name. */
export type Messages = Readonly<Record<string, Readonly<Record<string, string>>>>

const parts = new Map<string, CelType>()
/** A type from its text, such as `list<string>`. A single capital is a parameter. */
export function typeOf(text: string): CelType {
  const known = parts.get(text)
  if (known !== undefined) return known
  const at = text.indexOf('<')
  const type: CelType = /^[A-Z]$/.test(text)
    ? { kind: 'param', name: text, of: [] }
    : at < 0
      ? { kind: text, of: [] }
      : { kind: text.slice(0, at), of: split(text.slice(at + 1, -1)).map(typeOf) }
  parts.set(text, type)
  return type
}

/** Splits a list of types at the commas outside of brackets. */
export function split(text: string): string[] {
  const found: string[] = []
  let depth = 0
  let from = 0
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === '<') depth++
    else if (text[i] === '>') depth--
    else if (i === text.length || (text[i] === ',' && depth === 0)) {
      if (text.slice(from, i).trim() !== '') found.push(text.slice(from, i).trim())
      from = i + 1
    }
  }
  return found
}

export const listOf = (of: CelType): CelType => ({ kind: 'list', of: [of] })
export const optionalOf = (of: CelType): CelType => ({ kind: 'optional', of: [of] })
export const isSame = (one: CelType, other: CelType): boolean =>
  one === other ||
  (one.kind === other.kind &&
    one.name === other.name &&
    one.of.length === other.of.length &&
    one.of.every((part, i) => isSame(part, other.of[i]!)))

export const nameOf = ({ kind, of }: CelType): string =>
  kind === 'param' ? 'dyn' : of.length === 0 ? kind : `${kind}<${of.map(nameOf).join(', ')}>`

const scalars = new Set([
  'bool',
  'bytes',
  'double',
  'int',
  'string',
  'uint',
  'null',
  'type',
  'list',
  'map',
  'dyn',
  'param',
])

/** The expression can't be compiled. Its message is a part of a sentence. */
export class CelTypeError extends Error {}

/** Parts of types that are looked at for one expression, some 10 ms. */
const maximumSteps = 200_000

/**
 * What is known of the types that aren't known yet, and whether one type can stand for another
 * (cel-go `checker/types.go`). A failed comparison changes nothing.
 */
export class Substitutions {
  readonly #known = new Map<string, CelType>()
  /** What was known before of the parameters that a comparison has set, to take it back. */
  readonly #trail: { readonly name: string; readonly before: CelType | undefined }[] = []
  #count = 0
  #steps = 0

  fresh(): CelType {
    return { kind: 'param', name: `_${this.#count++}`, of: [] }
  }

  /** The same types with fresh parameters. */
  instantiate(types: readonly CelType[]): CelType[] {
    const names = new Map<string, CelType>()
    const replace = (type: CelType): CelType => {
      if (type.kind !== 'param')
        return type.of.length === 0 ? type : { ...type, of: type.of.map(replace) }
      const own = names.get(type.name!) ?? this.fresh()
      names.set(type.name!, own)
      return own
    }
    return types.map(replace)
  }

  /** A type with what is known of its parameters. */
  resolve(type: CelType): CelType {
    this.#step()
    if (type.kind === 'param') {
      const known = this.#known.get(type.name!)
      return known === undefined ? type : this.resolve(known)
    }
    return type.of.length === 0 ? type : { ...type, of: type.of.map((part) => this.resolve(part)) }
  }

  assign(from: readonly CelType[], to: readonly CelType[]): boolean {
    if (from.length !== to.length) return false
    const before = this.#trail.length
    if (from.every((type, i) => this.#isAssignable(type, to[i]!))) return true
    while (this.#trail.length > before) {
      const { name, before: known } = this.#trail.pop()!
      if (known === undefined) this.#known.delete(name)
      else this.#known.set(name, known)
    }
    return false
  }

  #learn({ name }: CelType, type: CelType): void {
    this.#trail.push({ name: name!, before: this.#known.get(name!) })
    this.#known.set(name!, type)
  }

  /** A short expression may have a type of which each part is twice the part before. */
  #step(): void {
    if (++this.#steps > maximumSteps) throw new CelTypeError('its types are too complicated')
  }

  #isAssignable(one: CelType, other: CelType): boolean {
    this.#step()
    if (other.kind === 'param') {
      const found = this.#substitute(one, other)
      if (found !== undefined) return found
    }
    if (one.kind === 'param') return this.#substitute(other, one) ?? false
    if (one.kind === 'dyn' || other.kind === 'dyn') return true
    if (one.kind === 'null') return isNullable(other)
    if (other.kind === 'null') return isNullable(one)
    if (one.kind !== other.kind) return false
    if (one.kind === 'type') return true
    return (
      one.of.length === other.of.length &&
      one.of.every((part, i) => this.#isAssignable(part, other.of[i]!))
    )
  }

  /** Whether a type can be a parameter's; undefined if the other way round may still be tried. */
  #substitute(type: CelType, param: CelType): boolean | undefined {
    if (isSame(type, param)) return true
    const known = this.#known.get(param.name!)
    if (known !== undefined) {
      if (isSame(type, known)) return true
      if (!this.#isAssignable(type, known)) return false
      const general = mostGeneral(type, known)
      if (!this.#contains(general, param)) this.#learn(param, general)
      return true
    }
    if (this.#contains(type, param)) return undefined
    this.#learn(param, type)
    return true
  }

  #contains(type: CelType, param: CelType): boolean {
    this.#step()
    if (isSame(type, param)) return true
    if (type.kind === 'param') {
      const known = this.#known.get(type.name!)
      return known !== undefined && this.#contains(known, param)
    }
    return type.of.some((part) => this.#contains(part, param))
  }
}

/** Null may stand for a message, a time, or an optional value, never for a number or text. */
function isNullable({ kind }: CelType): boolean {
  return kind === 'null' || !scalars.has(kind)
}

/** The more general of two types that can stand for each other. */
export function mostGeneral(one: CelType, other: CelType): CelType {
  return isAsGeneral(one, other) ? one : other
}

function isAsGeneral(one: CelType, other: CelType): boolean {
  if (one.kind === 'dyn' || one.kind === 'param') return true
  if (other.kind === 'dyn' || other.kind === 'param') return false
  if (one.kind !== other.kind) return false
  return one.kind === 'type' || one.of.every((part, i) => isAsGeneral(part, other.of[i]!))
}
