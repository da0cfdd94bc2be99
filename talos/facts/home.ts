/**
 * Where a configuration tells a fact. Until Talos 1.13 most facts are in the main document; since
 * 1.14 many may be in documents of their own instead, component by component: a configuration may
 * have the kubelet in one form and the API server in the other, but never one component in both
 * (Talos `pkg/machinery/config/container/validate.go`).
 */
import { at, type MapNode, textAt, type TreeNode, treeOf } from '../config/tree.ts'

/** Where one document tells a fact, and how it is written there. */
export interface Written<V> {
  /** Empty for the main document. */
  readonly kind: string
  /** Where in the document: `cluster.apiServer.image`. */
  readonly paths: readonly string[]
  readonly write: (root: MapNode, value: V) => MapNode
}

export interface Home<V> extends Written<V> {
  readonly read: (root: MapNode | undefined) => V
}

interface Homes<H> {
  readonly main: H
  /** The home since Talos 1.14, unless the fact stays in the main document. */
  readonly document?: H
}
/** What Steelyard sets and never reads. */
export type Settable<V> = Homes<Written<V>>
export type Fact<V> = Homes<Home<V>>

/** How a value is written at one path. `write` returns undefined to remove it. */
export interface Form<V> {
  readonly read: (node: TreeNode | undefined) => V
  readonly write: (value: V) => unknown
}

const keysOf = (path: string): string[] => path.split('.')

/** The value at a path such as `cluster.apiServer.image`. */
export const nodeAt = (root: MapNode | undefined, path: string): TreeNode | undefined =>
  at(root, ...keysOf(path))

/** A copy of the tree with another node at a path, or with the node at that path removed. */
function withNode(
  root: MapNode,
  [key, ...rest]: readonly string[],
  node: TreeNode | undefined,
): MapNode {
  const entries = new Map(root.entries)
  const entry = entries.get(key!)
  const place = { line: 0, column: 0, source: root.source }
  if (rest.length === 0) {
    if (node === undefined) entries.delete(key!)
    else entries.set(key!, { ...place, ...entry, value: node })
  } else if (entry?.value.is === 'map' || node !== undefined) {
    const below: MapNode =
      entry?.value.is === 'map' ? entry.value : { is: 'map', entries: new Map(), ...place }
    entries.set(key!, { ...place, ...entry, value: withNode(below, rest, node) })
  }
  return { ...root, entries }
}

/** A copy of the tree with another value at a path; `undefined` removes it. */
export const put = (root: MapNode, path: string, value: unknown): MapNode =>
  withNode(root, keysOf(path), value === undefined ? undefined : treeOf(value, 'changed'))

/** A home at one path. */
export const homeAt = <V>(kind: string, path: string, form: Form<V>): Home<V> => ({
  kind,
  paths: [path],
  read: (root) => form.read(nodeAt(root, path)),
  write: (root, value) => put(root, path, form.write(value)),
})

const kindOf = (root: MapNode): string => textAt(root, 'kind') ?? ''

/** The document of a kind. Empty: the main document. */
export const rootOf = (roots: readonly MapNode[], kind: string): MapNode | undefined =>
  roots.find((root) => kindOf(root) === kind)

const isSet = (node: TreeNode | undefined): boolean =>
  node !== undefined && !(node.is === 'scalar' && node.value === null)

/** Sections of the main document that must not be there beside the fact's document. */
const sectionsOf = (paths: readonly string[]): string[] =>
  paths.map((path) => keysOf(path).slice(0, 2).join('.'))

/**
 * The home of a fact in a configuration: the one that its component uses there already, else the
 * one of its other components (Talos guesses alike: `config/generate/stdpatches/guess.go`).
 */
export function homeIn<H extends Written<never>>(
  roots: readonly MapNode[],
  { main, document }: Homes<H>,
): H {
  if (document === undefined) return main
  if (rootOf(roots, document.kind)) return document
  const told = rootOf(roots, '')
  if (sectionsOf(main.paths).some((section) => isSet(nodeAt(told, section)))) return main
  return roots.some((root) => kindOf(root).startsWith('Kube')) ? document : main
}

export const readIn = <V>(roots: readonly MapNode[], fact: Fact<V>): V => {
  const home = homeIn(roots, fact)
  return home.read(rootOf(roots, home.kind))
}

const newRoot = (kind: string): MapNode =>
  treeOf(kind === '' ? {} : { apiVersion: 'v1alpha1', kind }, 'changed') as MapNode

/** The documents with another value of a fact in this home. */
export function writeTo<V>(roots: readonly MapNode[], home: Written<V>, value: V): MapNode[] {
  const root = rootOf(roots, home.kind)
  return root
    ? roots.map((one) => (one === root ? home.write(one, value) : one))
    : [...roots, home.write(newRoot(home.kind), value)]
}

/** The documents with the value of a fact that another configuration has. */
export function copyFrom<V>(
  roots: readonly MapNode[],
  other: readonly MapNode[],
  fact: Fact<V>,
): readonly MapNode[] {
  const [home, from] = [homeIn(roots, fact), homeIn(other, fact)]
  const [root, source] = [rootOf(roots, home.kind), rootOf(other, from.kind)]
  if (root === undefined && source === undefined) return roots
  if (home !== from) return writeTo(roots, home, from.read(source))
  // The nodes themselves, so that nothing is lost that the value doesn't tell.
  const copied = home.paths.reduce(
    (tree, path) => withNode(tree, keysOf(path), nodeAt(source, path)),
    root ?? newRoot(home.kind),
  )
  return root ? roots.map((one) => (one === root ? copied : one)) : [...roots, copied]
}
