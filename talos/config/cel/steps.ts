/**
 * Evaluates CEL expressions with a limit of steps. Talos sets no limit: it calls `env.Program(ast)`
 * without `cel.CostLimit` (`pkg/machinery/cel/cel.go`), so an expression that it would compute for
 * hours is valid. The library limits the size of an expression but not how often its parts run:
 * nested comprehensions, joined lists and patterns make a short one expensive.
 */
import type { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'

/**
 * Maximum steps of one evaluation, some 10 ms. A step is one part of an expression that is
 * evaluated once, or one element or 100 characters that an operator or a function reads.
 */
export const stepsOfOne = 100_000
/**
 * Maximum steps of one piece of work, which evaluates many expressions on many disks. Compiling
 * takes a step for each character.
 */
export const stepsOfWork = 1_000_000
/** Characters of compiled expressions that are kept for the next disk. The last one is always. */
const keptCharacters = 64 * 1024

/** An expression took more steps than it may. */
export class TooManySteps extends Error {}

type Evaluate = (evaluator: unknown, node: Node, context: unknown) => unknown

/** A node of the library's syntax tree, as far as it is used here (`lib/parser.js`). */
interface Node {
  readonly op: string
  readonly args: unknown
  readonly meta: {
    readonly evaluate: Evaluate
    /** What stands in place of a macro such as `all`. */
    readonly alternate?: Node
    readonly macro?: Readonly<Record<string, unknown>>
  }
  /** Acts on values: of both sides of an operator, or of a list of all arguments of a function. */
  handle?: (...values: readonly unknown[]) => unknown
  setMeta(key: 'evaluate', value: Evaluate): void
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'op' in value && 'meta' in value
const nodesIn = (value: unknown): readonly Node[] =>
  isNode(value) ? [value] : Array.isArray(value) ? value.flatMap(nodesIn) : []
const fieldsOf = (value: unknown, ...names: readonly string[]): readonly Node[] =>
  names.flatMap((name) => nodesIn((value as Readonly<Record<string, unknown>>)[name]))

/** The nodes that are evaluated as parts of a node. */
function partsOf({ op, args, meta }: Node): readonly Node[] {
  if (meta.alternate) return [meta.alternate]
  // `has(a.b)` has the parts of its argument, `cel.bind(name, val, exp)` two expressions.
  if (meta.macro) return fieldsOf(meta.macro, 'macroHasProps', 'val', 'exp')
  return op === 'comprehension' ? fieldsOf(args, 'iterable', 'init', 'step') : nodesIn(args)
}

const spent = { one: 0, work: 0 }

/** @throws TooManySteps */
function spend(steps: number): void {
  // A piece of work is synchronous, so it ends before the next microtask.
  if (spent.work === 0) queueMicrotask(() => void (spent.work = 0))
  spent.one += steps
  spent.work += steps
  demandSteps()
}

function demandSteps(): void {
  if (spent.one > stepsOfOne || spent.work > stepsOfWork)
    throw new TooManySteps('The expression takes too many steps.')
}

/** Elements and hundreds of characters of values. Stops at `most`: a list may hold a list often. */
function sizeOf(values: readonly unknown[], most: number): number {
  let size = 0
  for (const value of values) {
    if (size > most) return size
    if (typeof value === 'string' || value instanceof Uint8Array) size += value.length / 100
    else if (Array.isArray(value)) size += value.length + sizeOf(value, most - size)
    else if (typeof value === 'object' && value !== null)
      size += 1 + sizeOf(Object.values(value), most - size)
  }
  return size
}

/** Steps of a function that compares each character of one text with each of another. */
const pairsOf = (values: readonly unknown[]): number =>
  values.reduce<number>(
    (product, value) => (typeof value === 'string' ? product * (value.length + 1) : product),
    0.001,
  )

/**
 * Whether a text matches a pattern of RE2, which cel-go takes, in a time that is linear in the
 * text. With `RegExp` the time may be exponential, and nothing can stop it.
 * @throws if the pattern has a mistake
 */
function matches(text: string, pattern: string): boolean {
  spend(pattern.length)
  const compiled = RE2JS.compile(pattern)
  spend((compiled.programSize() * (text.length + 10)) / 10)
  return compiled.matcher(text).find()
}

/** Operators whose work grows with the values on both sides. */
const readers = new Set(['+', 'in', '==', '!=', '<', '<=', '>', '>='])

/** Makes a checked node and its parts count their steps. */
function count(node: Node, counted: Set<Node>): void {
  if (counted.has(node)) return
  counted.add(node)
  const { op, args, handle } = node
  const { evaluate } = node.meta
  node.setMeta('evaluate', (evaluator, self, context) => {
    spend(1)
    return evaluate(evaluator, self, context)
  })
  if (handle && (op === 'call' || op === 'rcall'))
    node.handle = (...all) => {
      const given = all[0] as readonly unknown[]
      spend(pairsOf(given) + sizeOf(given, stepsOfOne))
      const [text, pattern] = given
      return op === 'rcall' &&
        (args as readonly unknown[])[0] === 'matches' &&
        typeof text === 'string' &&
        typeof pattern === 'string'
        ? matches(text, pattern)
        : handle(...all)
    }
  else if (handle && readers.has(op))
    node.handle = (...all) => {
      spend(sizeOf(all.slice(0, 2), stepsOfOne))
      return handle(...all)
    }
  for (const part of partsOf(node)) count(part, counted)
}

type Compiled = (values: Readonly<Record<string, unknown>>) => unknown

const kept = new WeakMap<Environment, Map<string, Compiled>>()

/** @throws what the library finds wrong in the expression */
function compile(environment: Environment, expression: string): Compiled {
  const known = kept.get(environment) ?? new Map<string, Compiled>()
  kept.set(environment, known)
  const before = known.get(expression)
  if (before) return before
  spend(expression.length)
  const parsed = environment.parse(expression)
  const { valid, error } = parsed.check()
  if (!valid) throw error ?? new Error('The expression cannot be read.')
  count(parsed.ast as unknown as Node, new Set())
  const compiled: Compiled = (values) => parsed(values)
  let characters = expression.length
  for (const old of known.keys()) characters += old.length
  for (const old of known.keys()) {
    if (characters <= keptCharacters) break
    known.delete(old)
    characters -= old.length
  }
  known.set(expression, compiled)
  return compiled
}

/**
 * The value of an expression for known values of its variables.
 * @throws TooManySteps past `stepsOfOne` or `stepsOfWork`; what the library throws
 */
export function evaluateCounted(
  environment: Environment,
  expression: string,
  values: Readonly<Record<string, unknown>>,
): unknown {
  spent.one = 0
  const answer = compile(environment, expression)(values)
  // `all`, `&&` and others keep an error of one side, and may answer without it.
  demandSteps()
  return answer
}
