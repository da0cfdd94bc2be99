/**
 * Renders a server's configuration from its layers and validates it by Talos's rules. The validated
 * bytes are the bytes that are stored and sent.
 */
import { Problem } from '#contract/errors.ts'
import type { NewPatch, PatchProblem } from '#contract/patches.ts'
import { apart } from '#talos/config/compare.ts'
import { generatedLayer } from '#talos/config/generate.ts'
import type { Audience } from '#talos/config/mask.ts'
import { type Merged, mergePatches } from '#talos/config/merge.ts'
import { checkPatch } from '#talos/config/patch-check.ts'
import { ConfigError, type ConfigProblem } from '#talos/config/tree.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { minors } from '#talos/versions.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Rendered, StoredLayer } from '../api.ts'
import {
  defaultNode,
  inOrder,
  type Layer,
  type RenderContext,
  staticSystem,
  withPlaceholders,
} from './layers.ts'
import { linksOf, missingLinks } from './links.ts'
import { maskText, secretsOf } from './masking.ts'

/** Like `Rendered`, with errors. `yaml` is empty if the merge fails. */
interface Composed extends Rendered {
  readonly errors: (PatchProblem & { layer: string | null })[]
}

const problemOf = ({ message, path, line, column }: ConfigProblem): PatchProblem => ({
  message,
  path: path ?? null,
  line: line ?? null,
  column: column ?? null,
})

/**
 * Checks a patch body by the rules for patches. Returns errors with their lines. The default is the
 * newest supported Talos version.
 */
export const checkBody = (
  body: string,
  talosVersion: string = minors.at(-1)!.version,
): PatchProblem[] => checkPatch(body, { talosVersion }).errors.map(problemOf)

/**
 * All layers of a server in the order of merging. `more` are patches that aren't stored yet: they
 * come last among patches of equal weight.
 */
export const layersOf = (
  server: ServerFacts,
  context: RenderContext,
  stored: readonly StoredLayer[],
  more: readonly Pick<NewPatch, 'name' | 'weight' | 'body'>[] = [],
): Layer[] => [
  staticSystem(server, context),
  defaultNode(server, context),
  ...inOrder([...stored, ...more.map((patch) => ({ ...patch, id: '~', created_at: null }))]).map(
    ({ id, name, weight, body }) => ({ id, name, weight, body }),
  ),
]

/**
 * Merges the layers. Documents of a newer Talos in an adopted configuration are kept unchanged:
 * nothing is merged into them, and only Talos validates them.
 */
function merge(base: string, layers: readonly Layer[]): Merged & { judged: string } {
  try {
    const merged = mergePatches(base, layers)
    return { ...merged, judged: merged.yaml }
  } catch (error) {
    if (!(error instanceof ConfigError) || error.layer !== undefined) throw error
    const { known, unknown } = apart(base)
    if (unknown === '' || known === '') throw error
    const merged = mergePatches(known, layers)
    return { ...merged, yaml: `${merged.yaml}---\n${unknown}`, judged: merged.yaml }
  }
}

/** Merges and validates. Throws only on bugs in this program. */
export function compose(
  base: string,
  layers: readonly Layer[],
  { talosVersion }: Pick<RenderContext, 'talosVersion'>,
): Composed {
  const filled = layers.filter((l) => l.body.trim() !== '')
  try {
    const { yaml, sources, judged } = merge(base, filled)
    const { errors, warnings } = validateConfig(judged, { talosVersion, inContainer: false })
    return {
      yaml,
      sources,
      warnings,
      // Line numbers of the merged text mean nothing to users, so errors have a path and a layer.
      errors: errors.map((e) => ({
        ...problemOf(e),
        line: null,
        column: null,
        layer: sources.find((s) => s.line === e.line)?.layer ?? null,
      })),
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return {
      yaml: '',
      sources: [],
      warnings: [],
      errors: error.problems.map((p) => ({ ...problemOf(p), layer: error.layer ?? null })),
    }
  }
}

/** @throws Problem `invalid` that names the layer and its error */
export function demandValid(server: Pick<ServerFacts, 'name'>, composed: Composed): Rendered {
  const [first] = composed.errors
  if (!first) return { yaml: composed.yaml, sources: composed.sources, warnings: composed.warnings }
  const where = [first.layer && `in ${first.layer}`, first.line && `line ${first.line}`, first.path]
    .filter(Boolean)
    .join(', ')
  throw new Problem(
    'invalid',
    `The configuration of ${server.name} is refused: ${first.message}${where ? ` (${where})` : ''}`,
  )
}

interface PreviewInput {
  readonly base: string
  readonly talosVersion: RenderContext['talosVersion']
  readonly without: readonly Layer[]
  readonly with: readonly Layer[]
  /**
   * The previewed patch, which is one of the layers in `with`. The rules for patches have been
   * checked already.
   */
  readonly patch: Pick<Layer, 'name' | 'body'>
  readonly audience: Audience
  /** Names of the server's links; null if unknown. */
  readonly links: readonly string[] | null
}

/** The effect of a patch on a configuration, for display. */
export function previewOf({
  base,
  talosVersion,
  without,
  with: layers,
  patch,
  audience,
  links,
}: PreviewInput) {
  const before = compose(base, without, { talosVersion })
  const after = compose(base, layers, { talosVersion })
  // Merged configurations are masked for everybody. Users who may read secrets see that a secret
  // has changed, which other users must not find out by guessing.
  const known = audience === 'may_read_secrets' ? secretsOf(before.yaml, 'everybody') : undefined
  const shown = maskText(after.yaml, 'everybody', known)
  return {
    /** For display, with masked secrets. Empty if the layers can't be merged. */
    before: before.yaml === '' ? '' : withPlaceholders(maskText(before.yaml, 'everybody').text),
    after: after.yaml === '' ? '' : withPlaceholders(shown.text),
    /** The configuration with the patch and with plaintext secrets. */
    yaml: after.yaml,
    /** `line`: line of `after`. */
    sources: after.sources
      .filter((s) => s.layer !== generatedLayer)
      .map(({ line, layer }) => ({ line: shown.lines[line - 1] ?? 1, layer })),
    errors: after.errors.map(({ layer, ...e }) => ({
      ...e,
      message: layer && layer !== patch.name ? `${layer}: ${e.message}` : e.message,
    })),
    /** Links that the patch configures; see `linksOf`. */
    links: linksOf(patch.body),
    missing: links === null || after.yaml === '' ? [] : missingLinks(patch.body, after.yaml, links),
  }
}
