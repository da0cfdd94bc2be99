/** Judges a configuration of a program of Kubernetes by the types of a minor. */
import { durationMs } from '../config/formats.ts'
import { nearestOf } from '../config/nearest.ts'
import { textOf } from '../config/report.ts'
import type { MapNode, TreeNode } from '../config/tree.ts'
import { fieldOf, fieldsOf, minorsWith, newestTypes } from './types.ts'

/** A field that the type lacks, or whose value its reader refuses. */
export interface TypeProblem {
  readonly path: readonly string[]
  /** The names to the field, without the positions in lists: `logging.options.json`. */
  readonly field: string
  /** `unknown`: what may be meant, as a sentence or ''. `takes`: what the field takes. */
  readonly problem: { readonly unknown: string } | { readonly takes: string }
}

const isText = (node: TreeNode): boolean => node.is === 'scalar' && typeof node.value === 'string'
const isWhole = (node: TreeNode): boolean =>
  node.is === 'scalar' && (typeof node.value === 'bigint' || Number.isInteger(node.value))
const isNumber = (node: TreeNode): boolean =>
  isWhole(node) || (node.is === 'scalar' && typeof node.value === 'number')
const isFlag = (node: TreeNode): boolean => node.is === 'scalar' && typeof node.value === 'boolean'
const isNull = (node: TreeNode): boolean => node.is === 'scalar' && node.value === null
const isSpan = (node: TreeNode): boolean => isText(node) && durationMs(textOf(node)) !== undefined
/** `resource.Quantity`: apimachinery `pkg/api/resource/quantity.go`. */
const isAmount = (node: TreeNode): boolean =>
  isNumber(node) ||
  (isText(node) &&
    /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/.test(textOf(node)))
const isWithin = (bits: bigint, isSigned: boolean) => (node: TreeNode) => {
  if (!isWhole(node)) return false
  const value = BigInt(textOf(node))
  const [least, most] = isSigned
    ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
    : [0n, (1n << bits) - 1n]
  return least <= value && value <= most
}

/** What a type of Go takes from a text in YAML, in words and as a check. */
const scalars: Readonly<Record<string, readonly [words: string, is: (node: TreeNode) => boolean]>> =
  {
    string: ['a text', isText],
    bool: ['true or false', isFlag],
    int: ['a whole number', isWithin(64n, true)],
    int32: ['a whole number', isWithin(32n, true)],
    int64: ['a whole number', isWithin(64n, true)],
    uint: ['a whole number that is not negative', isWithin(64n, false)],
    uint16: ['a whole number up to 65535', isWithin(16n, false)],
    uint32: ['a whole number that is not negative', isWithin(32n, false)],
    float32: ['a number', isNumber],
    float64: ['a number', isNumber],
    duration: ['a time span such as 30s', isSpan],
    durationOrNanoseconds: [
      'a time span such as 5s, or a number of nanoseconds',
      (node) => isWhole(node) || isSpan(node),
    ],
    quantity: ['an amount such as 64Mi', isAmount],
    intOrString: ['a whole number or a text', (node) => isWhole(node) || isText(node)],
    time: [
      'a time such as 2026-01-31T00:00:00Z',
      (node) => isText(node) && !Number.isNaN(Date.parse(textOf(node))),
    ],
    bytes: [
      'a text in base64',
      (node) => isText(node) && /^[A-Za-z\d+/]*={0,2}$/.test(textOf(node).replaceAll(/\s/g, '')),
    ],
  }
const plural: Readonly<Record<string, string>> = {
  string: 'texts',
  bool: 'true or false',
  int32: 'whole numbers',
  int64: 'whole numbers',
  quantity: 'amounts such as 64Mi',
}

/** What a field takes, in words; null for any value. */
function takes(what: string): string | null {
  if (what === 'any') return null
  if (what.startsWith('#')) return 'a mapping'
  if (what.startsWith('[]')) return `a list of ${plural[what.slice(2)] ?? 'mappings'}`
  if (what === '{}string') return 'a mapping of names to texts in quotes, such as cpu: "1"'
  if (what.startsWith('{}')) return `a mapping of names to ${plural[what.slice(2)] ?? 'mappings'}`
  return scalars[what]![0]
}

/** Whether a value has the shape of a field, without the fields in it. */
function fits(node: TreeNode, what: string): boolean {
  if (what === 'any' || isNull(node)) return true
  if (what.startsWith('#')) return node.is === 'map'
  if (what.startsWith('[]'))
    return node.is === 'list' && node.items.every((item) => fits(item, what.slice(2)))
  if (what.startsWith('{}'))
    return (
      node.is === 'map' &&
      [...node.entries.values()].every(({ value }) => fits(value, what.slice(2)))
    )
  return scalars[what]![1](node)
}

/** The mappings with fields in a value: itself, or those in its list or mapping. */
function* within(
  node: TreeNode,
  what: string,
  path: readonly string[],
): Generator<{ type: string; node: MapNode; path: readonly string[] }> {
  if (what.startsWith('#') && node.is === 'map') yield { type: what.slice(1), node, path }
  else if (what.startsWith('[]') && node.is === 'list')
    for (const [i, item] of node.items.entries())
      yield* within(item, what.slice(2), [...path, String(i)])
  else if (what.startsWith('{}') && node.is === 'map')
    for (const [key, { value }] of node.entries) yield* within(value, what.slice(2), [...path, key])
}

/** Why a minor has no such field: a later or an earlier one has it, or another is meant. */
function whyUnknown(type: string, key: string, minor: number | null): string {
  const others = minor === null ? null : minorsWith(type, key)
  if (others !== null && minor !== null)
    return others.first > minor
      ? `. Kubernetes has it since 1.${others.first}`
      : others.last < newestTypes
        ? `. Kubernetes had it until 1.${others.last}`
        : ''
  const near = nearestOf(key, fieldsOf(type, minor))
  return near === null ? '' : `. Did you mean ${near}?`
}

/**
 * The problems of a mapping and of those in it, in the order of the text.
 * @param type as `typeOfKind` names it
 * @param minor 36 for 1.36; null if unknown, then a field of any minor is taken
 * @param path of the mapping
 */
export function* typeProblems(
  root: MapNode,
  type: string,
  minor: number | null,
  path: readonly string[],
  parents: readonly string[] = [],
): Generator<TypeProblem> {
  for (const [key, { value }] of root.entries) {
    const at = [...path, key]
    const field = [...parents, key].join('.')
    const what = fieldOf(type, key, minor)
    if (what === undefined) {
      if (!isNull(value))
        yield { path: at, field, problem: { unknown: whyUnknown(type, key, minor) } }
    } else if (fits(value, what))
      for (const inner of within(value, what, at))
        yield* typeProblems(inner.node, inner.type, minor, inner.path, [...parents, key])
    else yield { path: at, field, problem: { takes: takes(what)! } }
  }
}
