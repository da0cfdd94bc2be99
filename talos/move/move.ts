/**
 * Moves a configuration from the main document to documents of Talos 1.14. Talos never does this
 * itself, and its generator is no help: it writes an AES-CBC key as another provider and leaves out
 * `identity`, so that a cluster moved that way can't read its Secrets (`facts/encryption.ts`).
 */
import { type ConfigDocument, decodeDocuments, documentId } from '../config/decode.ts'
import { generatedLayer } from '../config/generate.ts'
import { mergePatches } from '../config/merge.ts'
import { Report } from '../config/report.ts'
import { type MapNode, type Place, placedBy } from '../config/tree.ts'
import { validateDocument } from '../config/validate-documents.ts'
import { placesInMain } from '../config/validate/places-in-main.ts'
import { readOne, rootsOf, writtenWithPlaces } from '../config/whole.ts'
import { type FactValues, factsOf, secretsIn } from '../facts/facts.ts'
import { nodeAt, put, rootOf } from '../facts/home.ts'
import { since } from '../versions.ts'
import { kubernetesParts } from './kubernetes.ts'
import { type Part, Source } from './part.ts'
import { systemParts } from './system.ts'

/** A value of the main document: `machine.kubelet.extraMounts`, and the reason in a few words. */
export interface Told {
  readonly path: string
  readonly why: string
}

export interface Moved {
  /** As Talos writes it. */
  readonly yaml: string
  /** The layer of each line of `yaml`, and the place of what stands there in the layer's text. */
  readonly places: readonly Place[]
  /** Sections of the main document that are in documents now. Empty: nothing is left to move. */
  readonly moved: readonly string[]
  /** What stays in the main document, where Talos 1.14 still reads it. */
  readonly stays: readonly Told[]
  /** Values without effect that are left out. */
  readonly dropped: readonly Told[]
}

/** Of what the move adds. */
const nowhere: Place = { line: 0, column: 0, source: generatedLayer }

const parts: readonly Part[] = [...systemParts, ...kubernetesParts]

/** The tree without a path, and without maps that are empty then. */
function without(main: MapNode, path: string): MapNode {
  const removed = put(main, path, undefined)
  const above = path.split('.').slice(0, -1)
  const parent = above.length > 1 ? nodeAt(removed, above.join('.')) : undefined
  return parent?.is === 'map' && parent.entries.size === 0
    ? without(removed, above.join('.'))
    : removed
}

/** The documents that Talos reads, or its first problem with them. */
function checked(
  roots: readonly MapNode[],
  talosVersion: string,
): readonly ConfigDocument[] | string {
  const { documents, problems } = decodeDocuments(roots, { talosVersion })
  const [problem] = [
    ...problems,
    ...documents.flatMap((one) => validateDocument(one, talosVersion).errors),
  ]
  return problem === undefined ? documents : problem.message
}

/**
 * The configuration in documents, part by part. A part with a value that no document has, or that
 * isn't valid in one, stays as it is.
 * @param options `talosVersion`: of the machine, 1.14 or newer. `places`: the layers of the
 * configuration's lines, as `mergePatches` tells them
 * @throws ConfigError for invalid YAML, and for a document that this Talos doesn't know
 */
export function moveToDocuments(
  config: string,
  {
    talosVersion = since.kubernetesDocuments,
    places = [],
  }: { readonly talosVersion?: string; readonly places?: readonly Place[] } = {},
): Moved {
  const all = rootsOf(config).map((root) => readOne(placedBy(root, places)).root)
  const [moved, staying, dropped]: [string[], Told[], Told[]] = [[], [], []]
  const result = (roots: readonly MapNode[]): Moved => {
    const texts = roots.map((root) => writtenWithPlaces(readOne(root)))
    const merged = mergePatches(texts.map(({ yaml }) => yaml).join('---\n'), [], {
      talosVersion,
      places: texts
        .flatMap((text, i) => [...(i === 0 ? [] : [nowhere]), ...text.places])
        .map((place) => (place.line === 0 ? nowhere : place)),
    })
    return {
      yaml: merged.yaml,
      places: merged.places,
      moved,
      stays: staying,
      dropped,
    }
  }
  if (rootOf(all, '') === undefined) return result(all)
  const from = new Source(all)
  let main = from.main
  let documents = all.filter((root) => root !== from.main)
  for (const part of parts) {
    const set = part.paths.filter((path) => from.has(path))
    const existing = part.kinds.find((kind) => from.documents(kind).length > 0)
    if (set.length === 0 && (existing !== undefined || part.isAlways?.(from) !== true)) continue
    const stay = (why: string, path = set[0] ?? part.paths[0]!) => {
      from.stayed.add(part.paths[0]!)
      staying.push({ path, why })
    }
    if (part.controlPlaneOnly === true && !from.isControlPlane) {
      stay('it has no effect on a worker, which can’t have the document')
      continue
    }
    if (existing !== undefined && part.isMerged !== true) {
      stay(`${existing} is there already`)
      continue
    }
    const outcome = part.move(from)
    if ('stays' in outcome) {
      stay(outcome.stays, outcome.path)
      continue
    }
    const readable = checked(outcome.documents, talosVersion)
    if (typeof readable === 'string') {
      stay(readable)
      continue
    }
    const ids = readable.map(documentId)
    const isReplaced = new Set(readable.filter(({ shape }) => !shape.named).map(documentId))
    const kept = documents.filter((root) => !isReplaced.has(readOne(root).id))
    const taken = new Set(kept.map((root) => readOne(root).id))
    const twice = ids.find((id, i) => taken.has(id) || ids.indexOf(id) !== i)
    if (twice !== undefined) {
      stay(`two would be ${twice}`)
      continue
    }
    documents = [...kept, ...outcome.documents]
    main = set.reduce(without, main)
    moved.push(...set)
    dropped.push(...(outcome.dropped ?? []))
  }
  return result([main, ...documents])
}

/**
 * `old`: everything is in the main document. `moved`: everything that can be in documents is there.
 * `partly`: some of it.
 */
export type Form = 'old' | 'partly' | 'moved'

export interface FormOf {
  readonly form: Form
  /**
   * What is in the main document and in a document of this kind, so that Talos refuses the
   * configuration.
   */
  readonly both: readonly { readonly path: string; readonly kind: string }[]
  /** Sections of the main document that can move. */
  readonly left: readonly string[]
  readonly stays: readonly Told[]
}

const kinds = new Set(parts.flatMap((part) => part.kinds))

/**
 * In which form a configuration is. @throws ConfigError for invalid YAML, and for a document that
 * this Talos doesn't know
 */
export function formOf(config: string, options: { readonly talosVersion?: string } = {}): FormOf {
  const { moved, stays } = moveToDocuments(config, options)
  const roots = rootsOf(config)
  const { documents } = decodeDocuments(roots, options)
  const main = documents.find(({ shape }) => shape.kind === '')
  const report = main && new Report(main.root)
  const hasDocuments = documents.some(({ shape }) => kinds.has(shape.kind))
  return {
    form: moved.length === 0 && hasDocuments ? 'moved' : hasDocuments ? 'partly' : 'old',
    both: report
      ? documents.flatMap((document) =>
          placesInMain(document, report)
            .filter((path) => report.has(...path))
            .map((path) => ({ path: path.join('.'), kind: document.shape.kind })),
        )
      : [],
    left: moved,
    stays,
  }
}

/** Talos's own values where the main document has none; a document must have them. */
const usual: Partial<FactValues> = {
  podSubnets: ['10.244.0.0/16'],
  serviceSubnets: ['10.96.0.0/12'],
}

/**
 * Names of facts, secrets included, that two forms of one configuration tell differently. Empty
 * after a move. @throws ConfigError for invalid YAML
 */
export function factsThatDiffer(before: string, after: string): string[] {
  const all = (config: string) => {
    const facts = { ...factsOf(config), ...secretsIn(config) }
    // KubeAuthenticationConfig says it instead.
    const { 'anonymous-auth': _anonymous, ...apiServerArguments } = facts.apiServerArguments
    return Object.entries({ ...facts, apiServerArguments }).map(([name, value]) => {
      const isUnset = Array.isArray(value) && value.length === 0
      return [name, JSON.stringify((isUnset && usual[name as keyof FactValues]) || value)] as const
    })
  }
  const now = new Map(all(after))
  return all(before).flatMap(([name, value]) => (now.get(name) === value ? [] : [name]))
}
