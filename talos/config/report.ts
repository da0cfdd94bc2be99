import { problemAt } from './decode.ts'
import { type ConfigProblem, join, type MapNode, type TreeNode } from './tree.ts'

/** Collects the errors of a document with their positions. */
export class Report {
  readonly errors: ConfigProblem[] = []
  readonly warnings: string[] = []
  private readonly root: MapNode

  constructor(root: MapNode) {
    this.root = root
  }

  /** Adds an error at a path, or at its parent if the value is missing. */
  error(path: readonly string[], message: string): void {
    this.errors.push(problemAt(this.nearest(path), message, path.reduce(join, '')))
  }

  /** The path in the text that the value is written in. */
  ownPath(path: readonly string[]): readonly string[] {
    return path
  }

  /** The value at a path, or its nearest parent. */
  nearest(path: readonly string[]): TreeNode {
    for (let length = path.length; length > 0; length--) {
      const node = reach(this.root, path.slice(0, length))
      if (node !== undefined) return node
    }
    return this.root
  }

  warn(message: string): void {
    this.warnings.push(message)
  }

  text(...path: string[]): string {
    return textOf(reach(this.root, path))
  }

  flag(...path: string[]): boolean {
    const node = reach(this.root, path)
    return node?.is === 'scalar' && node.value === true
  }

  has(...path: string[]): boolean {
    const node = reach(this.root, path)
    return (
      node !== undefined &&
      !(node.is === 'scalar' && (node.value === null || node.value === '')) &&
      !(node.is === 'list' && node.items.length === 0)
    )
  }

  number(...path: string[]): number | undefined {
    const node = reach(this.root, path)
    return node?.is === 'scalar' && typeof node.value === 'bigint' ? Number(node.value) : undefined
  }

  /** Elements of a list at a path, each with its own path. */
  items(...path: string[]): { path: string[]; node: TreeNode }[] {
    const node = reach(this.root, path)
    return node?.is === 'list'
      ? node.items.map((item, i) => ({ path: [...path, String(i)], node: item }))
      : []
  }

  /** Texts of a list at a path. */
  texts(...path: string[]): { path: string[]; text: string }[] {
    return this.items(...path).map(({ path, node }) => ({ path, text: textOf(node) }))
  }

  entries(...path: string[]): { path: string[]; key: string; node: TreeNode }[] {
    const node = reach(this.root, path)
    return node?.is === 'map'
      ? [...node.entries].map(([key, entry]) => ({ path: [...path, key], key, node: entry.value }))
      : []
  }
}

export function textOf(node: TreeNode | undefined): string {
  return node?.is === 'scalar' && node.value !== null ? String(node.value) : ''
}

/** Checks that each encryption key of a volume has a slot of its own and a method. */
export function checkKeySlots(report: Report, keys: ReturnType<Report['items']>): void {
  const slots = new Set<string>()
  for (const { path, node } of keys) {
    const slot = textOf(reach(node, ['slot'])) || '0'
    if (slots.has(slot)) report.error(path, `The key slot ${slot} is there twice`)
    slots.add(slot)
    if (!['static', 'nodeID', 'kms', 'tpm'].some((method) => reach(node, [method])?.is === 'map'))
      report.error(path, `The key in slot ${slot} has no method`)
  }
}

function reach(root: TreeNode, path: readonly string[]): TreeNode | undefined {
  let here: TreeNode | undefined = root
  for (const key of path)
    here =
      here?.is === 'list'
        ? here.items[Number(key)]
        : here?.is === 'map'
          ? here.entries.get(key)?.value
          : undefined
  return here
}
