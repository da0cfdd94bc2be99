/**
 * CEL expressions in documents: whether Talos would compile them (Talos
 * `pkg/machinery/cel/celenv`), and which disks or links of a known machine they select. The library
 * parses and evaluates; `cel/check.ts` finds the types.
 */
import { Environment, evaluate } from '@marcbachmann/cel-js'
import { typeOfExpression } from './cel/check.ts'
import { undeclaredIn } from './cel/names.ts'
import { evaluateCounted } from './cel/steps.ts'
import { type CelScope, declarationsOf, hasOptionals, newestMessages } from './cel/environments.ts'
import { CelTypeError, nameOf } from './cel/types.ts'

export type { CelScope } from './cel/environments.ts'

/**
 * Whether a text matches a pattern with `*`, as Talos compares it (github.com/ryanuber/go-glob):
 * upper and lower case differ.
 */
export function globMatches(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (parts.length === 1) return pattern === text
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

const macText = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')

const environment = (enableOptionalTypes: boolean) =>
  new Environment({
    enableOptionalTypes,
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 10_000, maxDepth: 100 },
  })
    .registerFunction('glob(string, string): bool', globMatches)
    .registerFunction('mac(bytes): string', macText)
    .registerFunction('int(uint): int', (value: { valueOf(): bigint }) => value.valueOf())
let environments: Readonly<Record<'plain' | 'optional', Environment>> | undefined

/** What parses and evaluates expressions. Types are checked before, so that here they are open. */
function environmentOf(scope: CelScope): Environment {
  environments ??= { plain: environment(false), optional: environment(true) }
  return environments[hasOptionals(scope) ? 'optional' : 'plain']
}

const uint = (value: number | bigint): unknown => evaluate('uint(x)', { x: BigInt(value) })

/** Powers of 1000 and 1024, as `GB` and `GiB`. */
const units = () =>
  Object.fromEntries(
    ['k', 'M', 'G', 'T', 'P', 'E'].flatMap((letter, i) => [
      [`${letter}B`, uint(1000n ** BigInt(i + 1))],
      [`${letter.toUpperCase()}iB`, uint(1024n ** BigInt(i + 1))],
    ]),
  )
let knownUnits: Record<string, unknown> | undefined

/** Known fields of a disk or link, with Talos's names and types. */
export type CelFacts = Readonly<
  Record<string, string | boolean | bigint | Uint8Array | readonly string[]>
>

/**
 * Whether an expression selects a disk or link. Null if that can't be told, because it needs a
 * field that isn't known, fails, or takes too many steps (`cel-steps.ts`).
 */
export function celSelects(
  expression: string,
  scope: 'disk' | 'member volume' | 'link',
  facts: CelFacts,
  more: Readonly<Record<string, boolean>> = {},
): boolean | null {
  const what = scope === 'link' ? 'link' : 'disk'
  const fields = new RegExp(String.raw`\b${what}\s*\.\s*([a-zA-Z_]+)`, 'g')
  if ([...expression.matchAll(fields)].some(([, field]) => !Object.hasOwn(facts, field!)))
    return null
  // A field with its zero value is no field to has() (proto3).
  if (/\bhas\s*\(/.test(expression) && Object.values(facts).some(isZero)) return null
  const types = newestMessages[what === 'link' ? 'LinkStatusSpec' : 'DiskSpec']!
  const values = Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [
      key,
      typeof value === 'bigint' && types[key] === 'uint' ? uint(value) : value,
    ]),
  )
  try {
    const answer: unknown = evaluateCounted(environmentOf(scope), expression, {
      ...(what === 'disk' ? (knownUnits ??= units()) : {}),
      ...more,
      [what]: values,
    })
    return typeof answer === 'boolean' ? answer : null
  } catch {
    return null
  }
}

const isZero = (value: CelFacts[string]): boolean =>
  typeof value === 'object' ? value.length === 0 : !value

const wanted = (scope: CelScope): string => (scope === 'oom ranking' ? 'double' : 'bool')

/**
 * Why a Talos version would not compile an expression, as part of a sentence, or undefined. The
 * size and depth of the expression are limited.
 */
export function celProblem(
  expression: string,
  scope: CelScope,
  talosVersion: string,
): string | undefined {
  try {
    const { ast } = environmentOf(scope).parse(expression)
    const type = nameOf(typeOfExpression(ast, declarationsOf(scope, talosVersion)))
    return type === wanted(scope) ? undefined : `it gives ${type}, not ${wanted(scope)}`
  } catch (error) {
    if (error instanceof CelTypeError) return error.message
    if (error instanceof RangeError) return 'it is too deep'
    return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!
  }
}

/** What cel-go reads and the library doesn't. */
const rareNotations = /`|(?:^|[^\w)\]])\.\d|\b(?:b|r|br|rb)["']|"""|'''/i

/**
 * Why Kubernetes would not compile an expression, as part of a sentence, or undefined: its syntax,
 * and names that are no variables. Its types aren't checked, because Kubernetes's libraries have
 * more functions than Talos's.
 * @param variables names that the expression may use
 * @param givesBool whether it must give true or false
 */
export function celTextProblem(
  expression: string,
  variables: readonly string[],
  givesBool = false,
): string | undefined {
  try {
    const { ast } = environmentOf('oom trigger').parse(expression)
    const [unknown] = undeclaredIn(ast, new Set(variables))
    if (unknown !== undefined) return `there is no ${unknown} here (${variables.join(', ')})`
    const isOther =
      ast.op === 'value' ? typeof ast.args !== 'boolean' : /^(?:list|map)$/.test(ast.op)
    return isOther && givesBool ? 'it does not give true or false' : undefined
  } catch (error) {
    if (rareNotations.test(expression)) return undefined
    if (error instanceof RangeError) return 'it is too deep'
    return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!
  }
}
