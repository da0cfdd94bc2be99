/**
 * Patches of a configuration that is moved to documents. What a patch says in the main document is
 * merged before the move, and moves with it; documents of Talos 1.14 are merged after it.
 */
import { documentShapes } from '../config/model/documents.ts'
import { ConfigError, type MapNode, readDocuments, textAt } from '../config/tree.ts'
import { isSince, since } from '../versions.ts'

const isNew = (root: MapNode): boolean => {
  const first = documentShapes.get(textAt(root, 'kind') ?? '')?.since
  return first !== undefined && isSince(first, since.kubernetesDocuments)
}

/**
 * The two parts of a patch. Each has the lines of the other one empty, so that the numbers of lines
 * stay. A text that can't be read is whole in `before`.
 */
export function phasesOf(body: string): { readonly before: string; readonly after: string } {
  let roots: readonly MapNode[]
  try {
    roots = readDocuments(body, 'patch')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { before: body, after: '' }
  }
  if (!roots.some(isNew)) return { before: body, after: '' }
  if (roots.every(isNew)) return { before: '', after: body }
  const lines = body.split('\n')
  const starts = lines.flatMap((line, i) => (/^---(\s|$)/.test(line) ? [i] : []))
  /** The number of the separator before a line. */
  const partOf = (line: number): number => starts.filter((at) => at < line).length
  const news = new Set(roots.filter(isNew).map((root) => partOf(root.line)))
  const only = (isWanted: (part: number) => boolean): string =>
    lines.map((line, i) => (starts.includes(i) || isWanted(partOf(i + 1)) ? line : '')).join('\n')
  return { before: only((part) => !news.has(part)), after: only((part) => news.has(part)) }
}
