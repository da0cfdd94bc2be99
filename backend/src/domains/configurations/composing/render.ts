/**
 * Renders a server's configuration from its layers and validates it by Talos's rules. The validated
 * bytes are the bytes that are stored and sent.
 */
import { Problem } from '#contract/errors.ts'
import {
  type NewPatch,
  type PatchProblem,
  type PreviewWarning,
  systemLayers,
} from '#contract/patches.ts'
import { apart } from '#talos/config/compare.ts'
import { generatedLayer } from '#talos/config/generate.ts'
import type { Audience } from '#talos/config/mask.ts'
import { type Merged, mergePatches } from '#talos/config/merge.ts'
import { checkPatch } from '#talos/config/patch-check.ts'
import { documentAt, placeIn, placeOfDocument } from '#talos/config/places.ts'
import { ConfigError, type ConfigProblem } from '#talos/config/problem.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { moveToDocuments } from '#talos/move/move.ts'
import { phasesOf } from '#talos/move/phases.ts'
import { inventoryFindings } from '#talos/runtime-rules/inventory.ts'
import type { Inventory } from '#talos/runtime-rules/known.ts'
import { clusterChangeFindings } from '#talos/runtime-rules/limits/cluster-changes.ts'
import { kubeletChangeFindings } from '#talos/runtime-rules/limits/kubelet-changes.ts'
import { volumeChangeFindings } from '#talos/runtime-rules/limits/volume-changes.ts'
import {
  broughtBy,
  type RuntimeFinding,
  runtimeFindings,
} from '#talos/runtime-rules/runtime-rules.ts'
import { missingLinks } from '#talos/network-effect/missing.ts'
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
import { maskText, secretsOf } from './masking.ts'

type LayerProblem = PatchProblem & { layer: string | null }

/** Like `Rendered`, with errors. `yaml` is empty if the merge fails. */
interface Composed extends Rendered {
  readonly errors: LayerProblem[]
  /** Values that Talos accepts, and that can't work or may not work when running. */
  readonly findings: RuntimeFinding[]
  /**
   * For a server without a role: why the configuration is possible on a control plane only. Empty
   * if it is possible on both.
   */
  readonly onlyOnControlPlanes: LayerProblem[]
}

/** With the merged documents; none if the merge fails. */
interface Judged extends Composed {
  readonly documents: Merged['documents']
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

/** Sorts after the ids of stored patches. */
const unstored = '~'

/**
 * All layers of a server in the order of merging. `more` are patches that aren't stored yet: they
 * come last among patches of equal weight. Patches have no ids here: the same patch that is inserted
 * anew must be the same question to the reading thread (`db/shortly.ts`).
 */
export const layersOf = (
  server: ServerFacts,
  context: RenderContext,
  stored: readonly StoredLayer[],
  more: readonly Pick<NewPatch, 'name' | 'weight' | 'body'>[] = [],
): Layer[] => [
  staticSystem(server, context),
  defaultNode(server, context),
  ...inOrder([
    ...stored,
    ...more.map((patch) => ({ ...patch, id: unstored, created_at: null })),
  ]).map(({ name, weight, body }) => ({ id: unstored, name, weight, body })),
]

/**
 * Merges the layers. Documents of a newer Talos in an adopted configuration are kept unchanged:
 * nothing is merged into them, and only Talos validates them.
 */
function merge(
  base: string,
  layers: readonly Layer[],
  { places, ...options }: Pick<Known, 'talosVersion'> & Partial<Pick<Merged, 'places'>>,
): Merged & { judged: string } {
  try {
    const merged = mergePatches(base, layers, { ...options, ...(places && { places }) })
    return { ...merged, judged: merged.yaml }
  } catch (error) {
    if (!(error instanceof ConfigError) || error.layer !== undefined) throw error
    const { known, unknown } = apart(base)
    if (unknown === '' || known === '') throw error
    const merged = mergePatches(known, layers, options)
    return { ...merged, yaml: `${merged.yaml}---\n${unknown}`, judged: merged.yaml }
  }
}

/** Like `merge`, for a configuration that is moved to documents of Talos 1.14. */
function mergeMoved(
  base: string,
  layers: readonly Layer[],
  { isMoved, ...options }: Pick<Known, 'talosVersion' | 'isMoved'>,
): Merged & { judged: string } {
  const parts = layers.map((layer) => ({ layer, ...phasesOf(layer.body) }))
  const some = (phase: 'before' | 'after'): Layer[] =>
    parts.flatMap((part) =>
      part[phase].trim() === '' ? [] : [{ ...part.layer, body: part[phase] }],
    )
  const after = some('after')
  if (isMoved === 'as_needed' && after.length === 0) return merge(base, layers, options)
  const former = merge(base, some('before'), options)
  const { yaml, places } = moveToDocuments(former.yaml, { ...options, places: former.places })
  return merge(yaml, after, { ...options, places: [...places] })
}

/**
 * The layer that sets what an error is about, with the line in that layer: line numbers of the
 * merged text mean nothing to users. Later layers win, so they are looked at first.
 */
function whereSet(
  { path }: ConfigProblem,
  layer: string | null,
  layers: readonly Layer[],
): { layer: string | null; line: number | null; column: number | null } {
  const nowhere = { layer, line: null, column: null }
  if (path === undefined || path === '') return nowhere
  const found = layers
    .filter((l) => !Object.hasOwn(systemLayers, l.id) && (layer === null || l.name === layer))
    .toReversed()
    .flatMap(({ name, body }) => {
      const place = placeIn(body, path)
      return place ? [{ name, ...place }] : []
    })
  const best = found.find((f) => f.isWhole) ?? (layer === null ? undefined : found[0])
  return best ? { layer: best.name, line: best.line, column: best.column } : nowhere
}

/**
 * The layer with the document that an error is about, and where the document begins there: a field
 * that is missing has no place.
 */
function whereBegun(
  { line }: ConfigProblem,
  merged: string,
  layers: readonly Layer[],
): { layer: string | null; line: number | null; column: number | null } {
  const document = line === undefined ? null : documentAt(merged, line)
  const own = layers.filter((l) => !Object.hasOwn(systemLayers, l.id)).toReversed()
  for (const { name, body } of document === null ? [] : own) {
    const place = placeOfDocument(body, document!)
    if (place) return { layer: name, ...place }
  }
  return { layer: null, line: null, column: null }
}

type Known = Pick<
  RenderContext,
  'talosVersion' | 'kubernetesVersion' | 'controlPlaneBase' | 'controlPlane' | 'isMoved'
>
/** The part of a context on which a merge depends. */
export const knownOf = ({
  talosVersion,
  kubernetesVersion,
  controlPlaneBase,
  controlPlane,
  isMoved,
}: Known): Known => ({
  talosVersion,
  kubernetesVersion,
  controlPlaneBase,
  controlPlane,
  isMoved,
})

/**
 * Merges and validates. Throws only on bugs in this program.
 * @param inventory what is known of the machine; null to leave that out
 */
export function compose(
  base: string,
  layers: readonly Layer[],
  context: Known,
  inventory: Inventory | null = null,
): Composed {
  const { documents: _, ...composed } = judge(base, layers, context, inventory)
  return composed
}

function judge(
  base: string,
  layers: readonly Layer[],
  context: Known,
  inventory: Inventory | null,
): Judged {
  const composed = composeOn(base, layers, context, inventory)
  if (composed.errors.length === 0 || context.controlPlaneBase === undefined) return composed
  const other = composeOn(context.controlPlaneBase, layers, context, inventory)
  return other.errors.length > 0 ? composed : { ...other, onlyOnControlPlanes: composed.errors }
}

interface Basis {
  readonly base: string
  readonly layers: readonly Layer[]
}

/** Versions by which a configuration is judged. */
export type Versions = Pick<Known, 'talosVersion' | 'kubernetesVersion'>

/**
 * Like `compose`, for a change: of the findings, only those that the change brings.
 * @param without `versions` are those before the change, if it changes them: a rule that only the
 * new version has is then one that the change brings
 */
export function composeChange(
  without: Basis & { readonly versions?: Versions | undefined },
  { base, layers }: Basis,
  context: Known,
  inventory: Inventory | null,
): Composed {
  const { documents, ...after } = judge(base, layers, context, inventory)
  if (after.findings.length === 0 && inventory?.isMember !== true) return after
  const before = judge(without.base, without.layers, { ...context, ...without.versions }, inventory)
  return { ...after, findings: findingsOf(before, { ...after, documents }, inventory) }
}

/** Findings that a change brings, and what only a comparison shows. */
const findingsOf = (
  before: Judged,
  after: Judged,
  inventory: Inventory | null,
): RuntimeFinding[] => [
  ...broughtBy(after.findings, before.findings),
  ...(inventory?.isMember === true && after.errors.length === 0
    ? [volumeChangeFindings, clusterChangeFindings, kubeletChangeFindings].flatMap((findings) =>
        findings(before.documents, after.documents, inventory.server),
      )
    : []),
]

/** The last configuration of a control plane: all workers of its cluster are judged by the same. */
let above: { readonly yaml: string; readonly documents: Merged['documents'] | null } | undefined

/** The documents of a stored configuration; null if only a newer Talos reads it. */
function documentsOf(yaml: string): Merged['documents'] | null {
  if (above?.yaml === yaml) return above.documents
  try {
    above = { yaml, documents: merge(yaml, [], { talosVersion: minors.at(-1)!.version }).documents }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    above = { yaml, documents: null }
  }
  return above.documents
}

function composeOn(
  base: string,
  layers: readonly Layer[],
  { talosVersion, kubernetesVersion, controlPlane, isMoved }: Known,
  inventory: Inventory | null,
): Judged {
  const decided = controlPlane === undefined ? null : documentsOf(controlPlane)
  const filled = layers.filter((l) => l.body.trim() !== '')
  try {
    const { yaml, sources, judged, documents } = (isMoved ? mergeMoved : merge)(base, filled, {
      talosVersion,
      isMoved,
    })
    const { errors, warnings } = validateConfig(judged, { talosVersion, inContainer: false })
    return {
      yaml,
      sources,
      documents,
      warnings,
      findings:
        errors.length > 0
          ? []
          : [
              ...runtimeFindings(documents, {
                talosVersion,
                kubernetesVersion,
                controlPlane: decided,
              }),
              ...(inventory === null ? [] : inventoryFindings(documents, inventory, decided)),
            ],
      onlyOnControlPlanes: [],
      errors: errors.map((e) => {
        const source = sources.find((s) => s.line === e.line)?.layer ?? null
        const own = whereSet(e, source, filled)
        // What a document and the main one both say may be typed in another layer than the document.
        const where = own.line === null ? whereSet(e, null, filled) : own
        return { ...problemOf(e), ...(where.line === null ? whereBegun(e, judged, filled) : where) }
      }),
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return {
      yaml: '',
      sources: [],
      documents: [],
      warnings: [],
      findings: [],
      onlyOnControlPlanes: [],
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

/**
 * A message of another layer starts with the layer's name. What was generated is no layer of a
 * user.
 */
const fromLayer = (message: string, layer: string | null, own: string): string =>
  layer === null || layer === generatedLayer || layer === own ? message : `${layer}: ${message}`

/** Findings that are refused, as problems of the layer `own`; lines are those of its text. */
export const refusedOf = (findings: readonly RuntimeFinding[], own: string): PatchProblem[] =>
  findings
    .filter(({ level }) => level === 'refuse')
    .map(({ message, path, layer, line, column }) => ({
      message: fromLayer(message, layer, own),
      path,
      line: layer === own ? line : null,
      column: layer === own ? column : null,
    }))

/** What a user is warned of before the layer `own` is saved. */
export const cautionsOf = (
  { findings, onlyOnControlPlanes }: Pick<Composed, 'findings' | 'onlyOnControlPlanes'>,
  own: string,
): PreviewWarning[] => [
  ...onlyOnControlPlanes.map(({ message, path, layer, line }) => ({
    check: null,
    message: `${fromLayer(message, layer, own)}: it takes effect only if the server becomes a control plane${path === null || path === '' ? '' : ` (${path})`}`,
    link: null,
    line: layer === own ? line : null,
  })),
  ...findings
    .filter(({ level }) => level === 'warn')
    .map(({ message, layer, line }) => ({
      check: null,
      message: fromLayer(message, layer, own),
      link: null,
      line: layer === own ? line : null,
    })),
]

interface PreviewInput {
  readonly base: string
  readonly context: Known
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
  readonly inventory: Inventory | null
}

/** The effect of a patch on a configuration, for display. */
export function previewOf({
  base,
  context,
  without,
  with: layers,
  patch,
  audience,
  links,
  inventory,
}: PreviewInput) {
  const after = judge(base, layers, context, inventory)
  // Both are shown for the same role.
  const before =
    after.onlyOnControlPlanes.length > 0
      ? composeOn(context.controlPlaneBase!, without, context, inventory)
      : judge(base, without, context, inventory)
  const findings = findingsOf(before, after, inventory)
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
    errors: [
      ...after.errors.map(({ layer, ...e }) => ({
        ...e,
        message: fromLayer(e.message, layer, patch.name),
        // A line of another layer is one of another text.
        ...(layer !== patch.name && { line: null, column: null }),
      })),
      ...refusedOf(findings, patch.name),
    ],
    cautions: cautionsOf({ ...after, findings }, patch.name),
    missing: links === null || after.yaml === '' ? [] : missingLinks(patch.body, after.yaml, links),
  }
}
