/** Names in a CEL expression that nothing declares. */
import type { ASTNode } from '@marcbachmann/cel-js'
import { typeNames } from './signatures.ts'

/** Macros whose first arguments are names of their own (cel-go `parser/macro.go`, `ext`). */
const macros =
  /^(?:all|exists|exists_?[Oo]ne|map|filter|optMap|optFlatMap|sortBy|transform(?:List|Map|MapEntry)|bind)$/
/** Names in front of functions of Kubernetes's and cel-go's libraries. */
const spaces = new Set(
  'base64 cel cidr google ip json k8s lists math net optional quantity regex semver sets strings url'.split(
    ' ',
  ),
)

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value
const nodesIn = (value: unknown): ASTNode[] =>
  isNode(value) ? [value] : Array.isArray(value) ? value.flatMap(nodesIn) : []

/** @param known names of variables */
export function* undeclaredIn(node: ASTNode, known: ReadonlySet<string>): Generator<string> {
  if (node.op === 'id') {
    if (!known.has(node.args) && typeNames[node.args] === undefined && !spaces.has(node.args))
      yield node.args
    return
  }
  if (node.op === 'rcall' && macros.test(node.args[0])) {
    const [, target, args] = node.args
    yield* undeclaredIn(target, known)
    const own = args.slice(0, -1).flatMap((one) => (one.op === 'id' ? [one.args] : []))
    const inner = new Set([...known, ...own])
    for (const one of args) yield* undeclaredIn(one, inner)
    return
  }
  if (node.op === 'value') return
  for (const one of nodesIn(node.args)) yield* undeclaredIn(one, known)
}
