/**
 * The type of an expression, as cel-go's checker finds it (cel-go `checker/checker.go`). The
 * library that parses and evaluates isn't used for this: it knows functions that Talos's
 * environments lack, compares numbers of two types, and takes null for every type.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import type { Signature, Signatures } from './signatures.ts'
import { typeNames } from './signatures.ts'
import {
  type CelType,
  CelTypeError,
  isSame,
  listOf,
  type Messages,
  mostGeneral,
  nameOf,
  optionalOf,
  Substitutions,
  typeOf,
} from './types.ts'

/** What an expression may use. */
export interface Declarations {
  readonly variables: ReadonlyMap<string, CelType>
  readonly functions: Signatures
  readonly messages: Messages
  /** Whether `.?`, `optMap` and `optFlatMap` are known. */
  readonly optionals: boolean
}

const fail = (message: string): never => {
  throw new CelTypeError(message)
}
const [bool, dyn, int] = ['bool', 'dyn', 'int'].map(typeOf) as [CelType, CelType, CelType]
const quantifiers = new Set(['all', 'exists', 'exists_one'])
const maximum = 2n ** 63n - 1n

/** The type of an expression. @throws CelTypeError if cel-go wouldn't compile it */
export function typeOfExpression(root: ASTNode, declarations: Declarations): CelType {
  const checker = new Checker(declarations)
  return checker.typeOf(root)
}

class Checker {
  readonly #declarations: Declarations
  readonly #types = new Substitutions()
  /** Variables of macros, the innermost last. */
  readonly #locals: { readonly name: string; readonly type: CelType }[] = []

  constructor(declarations: Declarations) {
    this.#declarations = declarations
  }

  typeOf(node: ASTNode): CelType {
    return this.#types.resolve(this.#check(node))
  }

  #check(node: ASTNode): CelType {
    refuseNotation(node)
    switch (node.op) {
      case 'value':
        return literalType(node.args)
      case 'id':
        return this.#variable(node.args)
      case '.':
      case '.?':
        return this.#select(node)
      case 'list':
        return listOf(this.#join(node.args))
      case 'map':
        return {
          kind: 'map',
          of: [
            this.#join(node.args.map(([key]) => key)),
            this.#join(node.args.map(([, value]) => value)),
          ],
        }
      case 'call':
        return this.#call(...node.args)
      case 'rcall':
        return this.#memberCall(...node.args)
      case '&&':
      case '||':
        for (const side of node.args) this.#expectBool(side)
        return bool
      case '-_':
        // The smallest integer has no positive counterpart.
        if (node.args.op === 'value' && node.args.args === maximum + 1n) return int
        return this.#overload(node.op, [this.typeOf(node.args)])
      case '!_':
        return this.#overload(node.op, [this.typeOf(node.args)])
      default:
        return this.#overload(
          node.op,
          node.args.map((side) => this.typeOf(side)),
        )
    }
  }

  #variable(name: string): CelType {
    return (
      this.#locals.findLast((local) => local.name === name)?.type ??
      this.#declarations.variables.get(name) ??
      typeNames[name] ??
      fail(`there is no ${name} here`)
    )
  }

  #select(node: ASTNode & { readonly op: '.' | '.?' }): CelType {
    const [operand, field] = node.args
    const qualified = typeNames[`${qualifiedName(operand) ?? ''}.${field}`]
    if (qualified !== undefined) return qualified
    const type = this.typeOf(operand)
    const isOptional = type.kind === 'optional'
    const found = this.#field(isOptional ? type.of[0]! : type, field)
    return isOptional || node.op === '.?' ? optionalOf(found) : found
  }

  #field(type: CelType, field: string): CelType {
    if (type.kind === 'map') return type.of[1]!
    if (type.kind === 'dyn') return dyn
    if (type.kind === 'param') {
      this.#types.assign([dyn], [type])
      return dyn
    }
    const message = this.#declarations.messages[type.kind]
    if (message === undefined) return fail(`${nameOf(type)} has no fields, so no ${field}`)
    const found = Object.hasOwn(message, field) ? message[field] : undefined
    return found === undefined ? fail(`${nameOf(type)} has no field ${field}`) : typeOf(found)
  }

  /** The common type of the elements of a list or map; `dyn` if they have none. */
  #join(nodes: readonly ASTNode[]): CelType {
    let joined: CelType | undefined
    for (const node of nodes) {
      const type = this.typeOf(node)
      if (joined === undefined) joined = type
      else joined = this.#types.assign([joined], [type]) ? mostGeneral(joined, type) : dyn
    }
    return joined ?? this.#types.fresh()
  }

  #call(name: string, args: readonly ASTNode[]): CelType {
    if (name === 'has' && args.length === 1) {
      const [of] = args as [ASTNode]
      if (of.op !== '.') return fail('has() needs a field, such as has(a.b)')
      this.typeOf(of)
      return bool
    }
    return this.#overload(
      name,
      args.map((arg) => this.typeOf(arg)),
    )
  }

  #memberCall(name: string, target: ASTNode, args: readonly ASTNode[]): CelType {
    const macro = this.#macro(name, target, args)
    if (macro !== undefined) return macro
    const types = args.map((arg) => this.typeOf(arg))
    const qualified = `${qualifiedName(target) ?? ''}.${name}`
    if (this.#declarations.functions.has(qualified)) return this.#overload(qualified, types)
    return this.#overload(name, [this.typeOf(target), ...types], true)
  }

  #macro(name: string, target: ASTNode, args: readonly ASTNode[]): CelType | undefined {
    const [variable, body, transformed] = args
    if (variable === undefined || body === undefined || args.length > 3) return undefined
    const isMapping = name === 'map' && (args.length === 2 || args.length === 3)
    const isOver = args.length === 2 && (quantifiers.has(name) || name === 'filter')
    const isOptional =
      args.length === 2 && this.#declarations.optionals && /^opt(Flat)?Map$/.test(name)
    if (!isMapping && !isOver && !isOptional) return undefined
    if (variable.op !== 'id') return fail(`the first argument of ${name}() must be a name`)
    if (isOptional) {
      const [value] = [this.#overload('value', [this.typeOf(target)], true)]
      const result = this.#with(variable.args, value, () => this.typeOf(body))
      if (name === 'optMap') return optionalOf(result)
      const flat = optionalOf(this.#types.fresh())
      return this.#types.assign([result], [flat])
        ? this.#types.resolve(flat)
        : fail(`optFlatMap() needs an optional value, not ${nameOf(result)}`)
    }
    const element = this.#elementOf(this.typeOf(target))
    return this.#with(variable.args, element, () => {
      if (isMapping) {
        if (transformed !== undefined) this.#expectBool(body)
        return listOf(this.typeOf(transformed ?? body))
      }
      this.#expectBool(body)
      return name === 'filter' ? listOf(element) : bool
    })
  }

  #elementOf(type: CelType): CelType {
    if (type.kind === 'list' || type.kind === 'map') return type.of[0]!
    if (type.kind === 'param') this.#types.assign([dyn], [type])
    else if (type.kind !== 'dyn') fail(`${nameOf(type)} has no elements`)
    return dyn
  }

  #with(name: string, type: CelType, check: () => CelType): CelType {
    this.#locals.push({ name, type })
    const found = check()
    this.#locals.pop()
    return found
  }

  #expectBool(node: ASTNode): void {
    const type = this.typeOf(node)
    if (!this.#types.assign([type], [bool])) fail(`a bool is needed, not ${nameOf(type)}`)
  }

  /** The result of a call: that of the overloads that match, or `dyn` if theirs differ. */
  #overload(name: string, args: readonly CelType[], isMember = false): CelType {
    const signatures = this.#declarations.functions.get(name)
    if (signatures === undefined) return fail(`there is no function ${name}`)
    let result: CelType | undefined
    for (const signature of signatures) {
      const found = this.#match(signature, args, isMember)
      if (found === undefined) continue
      if (result === undefined) result = found
      else if (!isSame(result, found)) result = dyn
    }
    return (
      result ??
      fail(
        described(
          name,
          args.map((arg) => this.#types.resolve(arg)),
          isMember,
        ),
      )
    )
  }

  #match(signature: Signature, args: readonly CelType[], isMember: boolean): CelType | undefined {
    if (signature.isMember !== isMember || signature.types.length !== args.length) return undefined
    const [result, ...types] = this.#types.instantiate([signature.result, ...signature.types])
    return this.#types.assign(args, types) ? this.#types.resolve(result!) : undefined
  }
}

function described(name: string, args: readonly CelType[], isMember: boolean): string {
  const types = args.map(nameOf)
  if (name === '?:')
    return `the two values of ?: are of different types, ${types.slice(1).join(' and ')}`
  if (name === '[]' || name === '[?]') return `${types[0]} has no element of ${types[1]}`
  if (name.endsWith('_')) return `${name.slice(0, -1)} is not for ${types[0]}`
  if (!/^[a-z]/i.test(name) || name === 'in') return `${name} is not for ${types.join(' and ')}`
  return isMember
    ? `${types[0]} has no ${name}(${types.slice(1).join(', ')})`
    : `there is no ${name}(${types.join(', ')})`
}

const relations = new Set(['<', '<=', '>', '>=', 'in'])
/** Refuses what the library reads and cel-go doesn't, or reads otherwise (cel-go `parser/gen/CEL.g4`). */
function refuseNotation(node: ASTNode): void {
  const text = node.input.slice(node.start, node.end)
  if ((node.op === 'call' || node.op === 'rcall') && /,\s*\)$/.test(text))
    fail('a comma before ) is one too many')
  if (node.op === 'value' && text.startsWith('0X')) fail(`${text} must begin with 0x`)
  if (node.op !== '==' && node.op !== '!=') return
  const [left, right] = node.args
  // To cel-go all comparisons have the same precedence.
  if (relations.has(right.op) && !node.input.slice(left.end, right.start).includes('('))
    fail(`${node.op} and ${right.op} in one comparison need parentheses`)
}

/** `a.b` of such an expression; undefined for every other one. */
function qualifiedName(node: ASTNode): string | undefined {
  if (node.op === 'id') return node.args
  if (node.op !== '.') return undefined
  const before = qualifiedName(node.args[0])
  return before === undefined ? undefined : `${before}.${node.args[1]}`
}

function literalType(value: unknown): CelType {
  if (value === null) return typeOf('null')
  if (typeof value === 'string' || typeof value === 'boolean')
    return typeOf(typeof value === 'string' ? 'string' : 'bool')
  if (typeof value === 'number') return typeOf('double')
  if (typeof value === 'bigint')
    return value > maximum ? fail(`${value} is too large for an int`) : int
  return typeOf(value instanceof Uint8Array ? 'bytes' : 'uint')
}
