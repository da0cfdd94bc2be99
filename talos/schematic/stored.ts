/** Reads schematics as the image factory stores them. Pure: it runs on a worker thread. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError, readDocuments, type TreeNode } from '../config/tree.ts'

function valueOf(node: TreeNode): unknown {
  if (node.is === 'list') return node.items.map(valueOf)
  if (node.is === 'map')
    return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, valueOf(value)]))
  return typeof node.value === 'bigint' ? Number(node.value) : node.value
}

/** The schematic as plain values; null if the text is no YAML mapping. */
export function storedSchematic(text: string): Record<string, unknown> | null {
  try {
    const [first] = readDocuments(text, 'schematic')
    return first ? (valueOf(first) as Record<string, unknown>) : null
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}

/**
 * Returns the factory's id if the factory's schematic equals ours, else null. The ids of equal
 * schematics may differ, because an id is a hash of the YAML text, and quoting depends on the
 * factory's YAML library.
 */
export function knownAs(
  ours: { readonly text: string; readonly id: string },
  { id, text }: { readonly id: string; readonly text: string | null },
): string | null {
  if (id === ours.id) return id
  if (text === null || createHash('sha256').update(text).digest('hex') !== id) return null
  const theirs = storedSchematic(text)
  return theirs !== null && isDeepStrictEqual(theirs, storedSchematic(ours.text)) ? id : null
}
