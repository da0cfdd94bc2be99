/**
 * A configuration with patches on it, as `talosctl machineconfig patch` would make it, and for each line of it the layer it came from.
 */
import { type ConfigDocument, decodeDocuments, duplicates, loadDocuments } from './decode.ts'
import { applyDeletions, takeDeletions } from './deletions.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import { generatedLayer } from './generate.ts'
import { mergeDocuments } from './strategic.ts'
import { ConfigError, type ConfigProblem, type MapNode, readDocuments } from './tree.ts'

export interface Layer {
  name: string
  /** Strategic-merge YAML of one or several documents. */
  body: string
}

export interface Merged {
  yaml: string
  /** Every line, from 1, with the name of its layer; the base's own lines are `generated`. */
  sources: { line: number; layer: string }[]
}

/**
 * Applies layers in their order. Throws ConfigError with the first layer that can't be applied, its name and the places in it.
 * The rules are Talos's, each with its test in `merge.test.ts`.
 */
export function mergePatches(base: string, layers: readonly Layer[]): Merged {
  const documents = loadDocuments(base, generatedLayer)
  for (const { name, body } of layers) {
    try {
      applyLayer(documents, readDocuments(body, name))
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(error.problems, name) : error
    }
  }
  const { yaml, sources } = emit(documents.map(encodeDocument))
  return { yaml, sources: sources.map((layer, i) => ({ line: i + 1, layer })) }
}

/** Applies one patch. Changes `documents`. */
function applyLayer(documents: ConfigDocument[], roots: readonly MapNode[]): void {
  const parts = roots.map((root) => takeDeletions(root, {}))
  const { documents: patches, problems } = decodeDocuments(
    parts.flatMap(({ rest }) => (rest === undefined ? [] : [rest])),
    {},
  )
  const all: ConfigProblem[] = [...problems, ...duplicates(patches)]
  if (all.length > 0) throw new ConfigError(all)
  // Documents in order, deletions of each first, so that one document can delete and add again.
  applyDeletions(
    documents,
    parts.flatMap(({ deletions }) => deletions),
  )
  mergeDocuments(documents, patches)
  const conflicts = duplicates(documents)
  if (conflicts.length > 0) throw new ConfigError(conflicts)
}
