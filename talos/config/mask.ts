import { recognise } from './decode.ts'
import type { Shape } from './model/shape.ts'
import { ConfigError, type ConfigProblem, readDocuments, type TreeNode } from './tree.ts'

/** What stands in place of a secret. */
export const masked = '••••••••'

/**
 * A configuration or a patch, its text as it is but for its secrets: what the model calls secret, and anything that holds a private key
 * wherever it stands. Throws ConfigError for text that can't be read or a document that isn't known: what isn't understood isn't shown.
 */
export function maskSecrets(yaml: string): string {
  const problems: ConfigProblem[] = []
  const ranges: [number, number][] = []
  for (const root of readDocuments(yaml, 'config')) {
    const bare = !root.entries.has('kind') && !root.entries.has('apiVersion')
    const document = recognise(
      bare ? { ...root, entries: new Map(root.entries).set('machine', root.entries.get('machine') ?? { ...root, value: root }) } : root,
      {},
      problems,
    )
    collect(document?.shape, root, ranges)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const marked = yaml.startsWith('\ufeff') ? yaml.slice(1) : yaml
  return ranges
    .toSorted((a, b) => b[0] - a[0])
    .reduce((text, [from, to]) => `${text.slice(0, from)}"${masked}"${text.slice(from, to).endsWith('\n') ? '\n' : ''}${text.slice(to)}`, marked)
}

function collect(shape: Shape | undefined, node: TreeNode, ranges: [number, number][]): void {
  if (node.is === 'scalar') {
    const hide = (shape?.secret === true && node.value !== null && node.value !== '') || holdsKey(node.value)
    if (hide && node.range !== undefined) ranges.push(node.range)
    return
  }
  if (node.is === 'list') {
    for (const item of node.items) collect(shape?.is === 'list' ? shape.of : undefined, item, ranges)
    return
  }
  for (const [key, entry] of node.entries) {
    const field = shape?.is === 'object' ? shape.fields[key] : shape?.is === 'map' ? shape.of : undefined
    collect(field, entry.value, ranges)
  }
}

function holdsKey(value: unknown): boolean {
  if (typeof value !== 'string') return false
  return (
    /BEGIN [A-Z0-9 ]*PRIVATE KEY/.test(value) || (value.startsWith('LS0tLS1CRUdJTi') && /PRIVATE KEY/.test(Buffer.from(value, 'base64').toString('latin1')))
  )
}
