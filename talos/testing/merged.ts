import { parseAllDocuments } from 'yaml'
import { mergePatches } from '../config/merge.ts'
import { ConfigError } from '../config/tree.ts'

/** A minimal main document with the given content. */
export const main = (machine: string, cluster = 'null') =>
  `version: v1alpha1\nmachine: ${machine}\ncluster: ${cluster}\n`

/** The merged documents as plain values, without the empty fields that Talos always writes. */
export function merged(base: string, ...bodies: string[]): unknown[] {
  const { yaml } = mergePatches(
    base,
    bodies.map((body, i) => ({ name: `layer-${i}`, body })),
  )
  return parseAllDocuments(yaml).map((document) => pruned(document.toJS() as unknown))
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .map(([key, v]) => [key, pruned(v)] as const)
    .filter(
      ([, v]) =>
        v !== null &&
        v !== '' &&
        !(Array.isArray(v) && v.length === 0) &&
        !(typeof v === 'object' && Object.keys(v).length === 0),
    )
  return Object.fromEntries(entries)
}

export function machineOf(base: string, ...bodies: string[]): unknown {
  return (merged(base, ...bodies)[0] as { machine?: unknown }).machine
}

export function problems(act: () => unknown): {
  layer: string | undefined
  problems: readonly unknown[]
} {
  try {
    act()
  } catch (error) {
    if (error instanceof ConfigError) return { layer: error.layer, problems: error.problems }
    throw error
  }
  throw new Error('Nothing was refused')
}
