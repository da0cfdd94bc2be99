/**
 * A part of the main document that documents of Talos 1.14 take over. Parts move one by one, because
 * a component may keep the older form while others have documents (Talos
 * `pkg/machinery/config/container/validate.go`).
 */
import { Report } from '../config/report.ts'
import { at, type MapNode, type Place, textAt, type TreeNode, treeOf } from '../config/tree.ts'
import { nodeAt, rootOf } from '../facts/home.ts'

/** Of a node, or plain. Undefined values are left out. */
export type Value =
  | TreeNode
  | string
  | number
  | boolean
  | undefined
  | readonly Value[]
  | { readonly [key: string]: Value }

const source = 'moved'
const place = { line: 0, column: 0, source }

const isNode = (value: object): value is TreeNode => 'is' in value && 'source' in value

/** Where a value that is taken over stands; its key stands there too. */
const placeOf = (value: Value): Place => {
  if (typeof value !== 'object' || !isNode(value)) return place
  const { line, column, source: layer } = value
  return { line, column, source: layer }
}

function nodeOf(value: Value): TreeNode {
  if (Array.isArray(value)) return { is: 'list', items: value.map(nodeOf), ...place }
  if (typeof value === 'number')
    return { is: 'scalar', value: BigInt(value), plain: String(value), ...place }
  if (typeof value !== 'object') return treeOf(value, source)
  if (isNode(value)) return value
  return {
    is: 'map',
    entries: new Map(
      Object.entries(value).flatMap(([key, one]: [string, Value]) =>
        one === undefined ? [] : [[key, { ...placeOf(one), value: nodeOf(one) }] as const],
      ),
    ),
    ...place,
  }
}

export const documentOf = (kind: string, fields: Readonly<Record<string, Value>>): MapNode =>
  nodeOf({ apiVersion: 'v1alpha1', kind, ...fields }) as MapNode

/** What is moved from. */
export class Source {
  readonly main: MapNode
  readonly report: Report
  readonly isControlPlane: boolean
  readonly roots: readonly MapNode[]
  /** First paths of the parts that stay. */
  readonly stayed = new Set<string>()

  constructor(roots: readonly MapNode[]) {
    this.roots = roots
    this.main = rootOf(roots, '')!
    this.report = new Report(this.main)
    this.isControlPlane = ['controlplane', 'init'].includes(this.text('machine.type'))
  }

  /** Undefined: not set. */
  node(path: string): TreeNode | undefined {
    const node = nodeAt(this.main, path)
    return node?.is === 'scalar' && node.value === null ? undefined : node
  }
  has(path: string): boolean {
    return this.node(path) !== undefined
  }
  text(path: string): string {
    return this.report.text(...path.split('.'))
  }
  flag(path: string): boolean {
    return this.report.flag(...path.split('.'))
  }
  /** Elements of a list. */
  items(path: string): readonly TreeNode[] {
    const node = this.node(path)
    return node?.is === 'list' ? node.items : []
  }
  /** Values of a map. */
  entries(path: string): Readonly<Record<string, TreeNode>> {
    return valuesOf(this.node(path))
  }
  /** Whether a list or map has something. */
  isFilled(path: string): boolean {
    return this.items(path).length > 0 || Object.keys(this.entries(path)).length > 0
  }
  documents(kind: string): readonly MapNode[] {
    return this.roots.filter((root) => textAt(root, 'kind') === kind)
  }
}

export const valuesOf = (node: TreeNode | undefined): Readonly<Record<string, TreeNode>> =>
  node?.is === 'map'
    ? Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, value]))
    : {}

export const field = (node: TreeNode, key: string): TreeNode | undefined => at(node, key)

/** Why a part stays, or the documents that it becomes. */
export type Outcome =
  | { readonly stays: string; readonly path?: string }
  | {
      readonly documents: readonly MapNode[]
      /** Values without effect that are left out, each with the reason. */
      readonly dropped?: readonly { readonly path: string; readonly why: string }[]
    }

export interface Part {
  /** The documents, which the part may have already. */
  readonly kinds: readonly string[]
  /** What is removed from the main document. */
  readonly paths: readonly string[]
  /** On a worker Talos ignores what is in the main document, and refuses the documents. */
  readonly controlPlaneOnly?: boolean
  /** Talos accepts both forms together and merges them. */
  readonly isMerged?: boolean
  /** A document is written even if the main document says nothing. */
  readonly isAlways?: (from: Source) => boolean
  readonly move: (from: Source) => Outcome
}

export const stays = (why: string, path?: string): Outcome => ({
  stays: why,
  ...(path !== undefined && { path }),
})

/** Values that no document has, and why. */
export function withoutHome(
  values: Readonly<Record<string, (path: string) => boolean>>,
): Outcome | null {
  const path = Object.keys(values).find((one) => values[one]!(one))
  return path === undefined ? null : stays(`no document has ${path.split('.').at(-1)}`, path)
}
