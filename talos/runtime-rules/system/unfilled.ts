/** Values that a tool should have filled in before: ciphertext, variables and templates. */
import type { Report } from '../../config/report.ts'
import type { TreeNode } from '../../config/tree.ts'
import type { RuntimeRule } from '../rule.ts'

/**
 * Longer texts and those of several lines are files and manifests, which have variables and
 * templates of their own.
 */
const mostLength = 1024

/** What a text has in it that nobody filled in; null if nothing. Nothing else of it is quoted. */
export function unfilledIn(text: string): string | null {
  if (/\bENC\[AES256_GCM,/.test(text)) return 'ciphertext of SOPS (ENC[…])'
  if (text.length > mostLength || text.includes('\n')) return null
  // Talos fills in the variables of this kernel argument itself.
  if (text.includes('talos.config=')) return null
  const variable = /\$\{[A-Za-z_]\w{0,63}\}/.exec(text)
  if (variable !== null) return `the variable ${variable[0]}`
  return /\{\{[^{}]{1,256}\}\}/.test(text) ? 'a template {{…}}' : null
}

function* unfilled(
  node: TreeNode,
  path: readonly string[],
): Generator<{ path: readonly string[]; what: string }> {
  if (node.is === 'map')
    for (const [key, { value }] of node.entries) yield* unfilled(value, [...path, key])
  else if (node.is === 'list')
    for (const [i, item] of node.items.entries()) yield* unfilled(item, [...path, String(i)])
  else if (typeof node.value === 'string') {
    const what = unfilledIn(node.value)
    if (what !== null) yield { path, what }
  }
}

function* inDocument(document: Report) {
  for (const { path, node } of document.entries())
    for (const found of unfilled(node, path)) yield { document, ...found }
}

export const unfilledRules: readonly RuntimeRule[] = [
  {
    id: 'unfilled',
    source:
      'Talos fills in no variables and decrypts nothing in a configuration, but for the kernel argument talos.config (internal/pkg/metal URL parameters)',
    level: 'warn',
    *find(config) {
      for (const document of config.documents())
        for (const { path, what } of inDocument(document))
          yield {
            document,
            path,
            sentence: `The value has ${what} in it, which nobody filled in: Talos takes it as it stands`,
          }
    },
  },
]
