/**
 * Recognises the documents of a configuration and converts their values to the right types, as
 * Talos does on loading, before validation (Talos `pkg/machinery/config/configloader`). Keys that
 * Talos doesn't know and values of a wrong type are errors.
 */
import { type Contract, has, isSince, modelledMinors, since } from '../versions.ts'
import { documentShapes, mainDocument, type DocumentShape } from './model/documents.ts'
import { linkKinds } from './model/network.ts'
import { isBase64, isDuration } from './formats.ts'
import { nearestOf } from './nearest.ts'
import type { IntegerShape, Shape, TextShape } from './model/shape.ts'
import {
  ConfigError,
  type ConfigProblem,
  join,
  type MapNode,
  type Place,
  readDocuments,
  type ScalarNode,
  textAt,
  type TreeNode,
} from './tree.ts'

export interface ConfigDocument {
  shape: DocumentShape
  /** Empty for kinds that a configuration can contain only once. */
  name: string
  root: MapNode
}

export interface DecodeOptions {
  /**
   * Talos version of the machine that will read the configuration. Default: the newest minor that
   * is modelled, offered or not.
   */
  talosVersion?: Contract | string | undefined
}

const newest = modelledMinors.at(-1)!.minor

/**
 * Identity of a document. Two documents with the same identity are versions of the same document.
 */
export function documentId(document: Pick<ConfigDocument, 'shape' | 'name'>): string {
  return document.shape.kind === ''
    ? 'v1alpha1'
    : document.shape.named
      ? `${document.shape.kind} ${document.name}`
      : document.shape.kind
}

/** Loads a whole text. Throws ConfigError with everything that is wrong. */
export function loadDocuments(
  yaml: string,
  source: string,
  options: DecodeOptions = {},
): ConfigDocument[] {
  const { documents, problems } = decodeDocuments(readDocuments(yaml, source), options)
  const all = [...problems, ...duplicates(documents)]
  if (all.length > 0) throw new ConfigError(all)
  return documents
}

/**
 * Recognises documents and converts their values. Unknown documents are omitted and reported in
 * `problems`.
 */
export function decodeDocuments(
  roots: readonly MapNode[],
  options: DecodeOptions,
): { documents: ConfigDocument[]; problems: ConfigProblem[] } {
  const documents: ConfigDocument[] = []
  const problems: ConfigProblem[] = []
  const context = {
    talosVersion: options.talosVersion ?? newest,
    refusesNull: options.talosVersion !== undefined && has(options.talosVersion, 'noNullEntries'),
    problems,
  }
  for (const root of roots) {
    const shape = recognise(root, options, problems)
    if (shape === undefined) continue
    const normal = normalise(shape.shape, root, '', context)
    documents.push({
      shape,
      name: shape.named ? (textAt(normal, 'name') ?? '') : '',
      root: normal as MapNode,
    })
  }
  return { documents, problems }
}

/**
 * The kind of a document, by Talos's rule: the main document has no kind, all others have
 * apiVersion and kind.
 */
export function recognise(
  root: MapNode,
  options: DecodeOptions,
  problems: ConfigProblem[],
): DocumentShape | undefined {
  const kind = textAt(root, 'kind') ?? ''
  const isMain = ['machine', 'cluster', 'debug', 'persist'].some((key) => root.entries.has(key))
  const version = isMain ? 'v1alpha1' : (textAt(root, 'apiVersion') ?? '')
  const fail = (message: string) => void problems.push(problemAt(root, message))
  if (kind === '' && version === 'v1alpha1') return mainDocument
  if (kind === '') {
    // A section that is mistyped, or the file of another program around it.
    const [first] = root.entries.keys()
    const near = first === undefined ? null : nearestOf(first, ['machine', 'cluster'])
    return fail(`The document has no kind${near === null ? '' : `; did you mean ${near}?`}`)
  }
  if (version === '') return fail('The document has no apiVersion')
  const shape = documentShapes.get(kind)
  if (shape === undefined || version !== 'v1alpha1') {
    const near = shape === undefined ? nearestOf(kind, documentShapes.keys()) : null
    return fail(
      `Talos has no document ${kind} of version ${version}${near === null ? '' : `; did you mean ${near}?`}`,
    )
  }
  if (shape.since !== undefined && !isSince(options.talosVersion ?? newest, shape.since))
    return fail(`${kind} exists only since Talos ${shape.since}`)
  return shape
}

/**
 * Like `recognise`, but accepts a part of the main document: anything without kind and apiVersion,
 * even if its sections are missing.
 */
export function recognisePart(
  root: MapNode,
  options: DecodeOptions,
  problems: ConfigProblem[],
): DocumentShape | undefined {
  const isBare = ['kind', 'apiVersion', 'machine'].every((key) => !root.entries.has(key))
  return recognise(
    isBare
      ? { ...root, entries: new Map(root.entries).set('machine', { ...root, value: root }) }
      : root,
    options,
    problems,
  )
}

/**
 * Reports two documents with the same identity, and links of different kinds with the same name.
 */
export function duplicates(documents: readonly ConfigDocument[]): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const seen = new Map<string, ConfigDocument>()
  for (const document of documents) {
    const id = documentId(document)
    const family = families.find((kinds) => kinds.includes(document.shape.kind))
    const rival = family
      ?.map((kind) => seen.get(`${kind} ${document.name}`))
      .find((other) => other !== undefined && other.shape.kind !== document.shape.kind)
    if (seen.has(id)) problems.push(problemAt(document.root, `${id} is there twice`))
    else if (rival !== undefined)
      problems.push(problemAt(document.root, `${id} and ${documentId(rival)} can't be together`))
    seen.set(id, document)
  }
  return [...problems, ...linksTwice(documents)]
}

/** The far end of a VethConfig is a link of its own, whose name no other document may have. */
function linksTwice(documents: readonly ConfigDocument[]): ConfigProblem[] {
  const claims = documents
    .filter(({ shape }) => families[0]!.includes(shape.kind))
    .flatMap((document) => {
      const peer = document.shape.kind === 'VethConfig' && textAt(document.root, 'peer', 'name')
      return [document.name, ...(peer ? [peer] : [])].map((link) => ({ link, document }))
    })
  return claims.flatMap(({ link, document }, i) => {
    const other = claims.slice(0, i).find((one) => one.link === link && one.document !== document)
    const isVeth = [document, other?.document].some((one) => one?.shape.kind === 'VethConfig')
    return other !== undefined && isVeth && link !== ''
      ? [problemAt(document.root, `${documentId(other.document)} is the link ${link} already`)]
      : []
  })
}

/** Kinds that can't share a name (Talos `ConflictsWithKinds`). */
const families: readonly (readonly string[])[] = [
  linkKinds,
  ['Layer2VIPConfig', 'HCloudVIPConfig'],
  ['UserVolumeConfig', 'ExistingVolumeConfig'],
]

interface Context {
  readonly talosVersion: Contract | string
  /** Whether a null section in a list or map is an error. */
  readonly refusesNull: boolean
  readonly problems: ConfigProblem[]
}

/** Converts a value to its shape's type. Nulls and wrong values become null. */
function normalise(shape: Shape, node: TreeNode, path: string, context: Context): TreeNode {
  const wrong = (what: string): TreeNode => {
    context.problems.push(problemAt(node, `${path || 'The document'} must be ${what}`, path))
    return { ...place(node), is: 'scalar', value: null, plain: '' }
  }
  const element = (of: Shape, item: TreeNode, where: string): TreeNode => {
    if (context.refusesNull && of.is === 'object' && item.is === 'scalar' && item.value === null)
      context.problems.push(problemAt(item, `${where} must not be null`, where))
    return normalise(of, item, where, context)
  }
  if (shape.is === 'free') return node
  if (node.is === 'scalar' && node.value === null) return node
  switch (shape.is) {
    case 'text':
      return node.is === 'scalar' ? textOf(shape, node, path, context) : wrong('text')
    case 'integer':
      return node.is === 'scalar' ? integerOf(shape, node, wrong) : wrong('a number')
    case 'flag':
      return node.is === 'scalar' ? flagOf(node, wrong) : wrong('true or false')
    case 'port':
      return node.is === 'scalar' ? portOf(node, wrong) : wrong('a port or a range of ports')
    case 'argument':
      if (node.is === 'list') {
        if (!has(context.talosVersion, 'listArguments'))
          return wrong(`text; a list is possible since Talos ${since.listArguments}`)
        return {
          ...node,
          items: node.items.map((item, i) =>
            normalise({ is: 'text' }, item, join(path, String(i)), context),
          ),
        }
      }
      return node.is === 'scalar' ? rawText(node) : wrong('text or a list of texts')
    case 'list':
      return node.is === 'list'
        ? {
            ...node,
            items: node.items.map((item, i) => element(shape.of, item, join(path, String(i)))),
          }
        : wrong('a list')
    case 'map':
      if (node.is !== 'map') return wrong('a mapping')
      return {
        ...node,
        entries: new Map(
          [...node.entries].map(([key, entry]) => [
            key,
            { ...entry, value: element(shape.of, entry.value, join(path, key)) },
          ]),
        ),
      }
  }
  if (node.is !== 'map') return wrong('a mapping')
  const entries: MapNode['entries'] = new Map()
  for (const [key, entry] of node.entries) {
    const field = Object.hasOwn(shape.fields, key) ? shape.fields[key]! : undefined
    if (field === undefined)
      context.problems.push(
        problemAt(
          entry,
          `Talos has no field ${join(path, key)}${hintOf(key, shape.fields)}`,
          join(path, key),
        ),
      )
    else if (field.since !== undefined && !isSince(context.talosVersion, field.since)) {
      context.problems.push(
        problemAt(
          entry,
          `${join(path, key)} exists only since Talos ${field.since}`,
          join(path, key),
        ),
      )
    } else
      entries.set(key, { ...entry, value: normalise(field, entry.value, join(path, key), context) })
  }
  return { ...node, entries }
}

/** The field that a mistyped one probably means, as the end of a sentence. */
function hintOf(key: string, fields: object): string {
  const near = nearestOf(key, Object.keys(fields))
  return near === null ? '' : `; did you mean ${near}?`
}

function textOf(shape: TextShape, node: ScalarNode, path: string, context: Context): TreeNode {
  const text = rawText(node)
  const value = String(text.value)
  // Empty text means "not set" only in Talos's plain text fields; its enumerations refuse empty
  // text ("does not belong to … values").
  const isUnset =
    value === (shape.zero ?? '') && (shape.optional !== true || shape.zero !== undefined)
  const values = shape.values?.filter((word) => {
    const first = shape.valuesSince?.[word]
    return first === undefined || isSince(context.talosVersion, first)
  })
  if (values !== undefined && !isUnset && !values.includes(value)) {
    const words = values.length === 1 ? values[0] : `one of ${values.join(', ')}`
    context.problems.push(problemAt(node, `${path} must be ${words}`, path))
  }
  if (shape.bytes === true && !isBase64(value))
    context.problems.push(problemAt(node, `${path} must be base64`, path))
  if (shape.zero === '0s' && !isDuration(value))
    context.problems.push(problemAt(node, `${path} must be a time span such as 10s`, path))
  return shape.trimmed === true ? { ...text, value: value.replace(/^[\t\n\v\f\r]+/, '') } : text
}

/** Go accepts any scalar as text and keeps the characters of the YAML. */
function rawText(node: ScalarNode): ScalarNode {
  return { ...node, value: node.plain ?? String(node.value) }
}

function integerOf(
  shape: IntegerShape,
  node: ScalarNode,
  wrong: (what: string) => TreeNode,
): TreeNode {
  const written = node.plain?.replaceAll('_', '')
  // Go reads 012 as octal, as YAML 1.1 did.
  const value =
    written !== undefined && /^0[0-7]+$/.test(written)
      ? BigInt(`0o${written.slice(1)}`)
      : typeof node.value === 'bigint'
        ? node.value
        : undefined
  if (node.plain === undefined || value === undefined) return wrong('a whole number')
  if (
    (shape.min !== undefined && value < shape.min) ||
    (shape.max !== undefined && value > shape.max)
  ) {
    return wrong(
      shape.max === undefined ? `at least ${shape.min}` : `from ${shape.min ?? 0} to ${shape.max}`,
    )
  }
  return { ...node, value }
}

function portOf(node: ScalarNode, wrong: (what: string) => TreeNode): TreeNode {
  if (
    typeof node.value === 'bigint' &&
    node.plain !== undefined &&
    node.value >= 0n &&
    node.value <= 65_535n
  )
    return node
  const range = typeof node.value === 'string' ? /^(\d{1,5})-(\d{1,5})$/.exec(node.value) : null
  return range !== null && Number(range[1]) <= Number(range[2]) && Number(range[2]) <= 65_535
    ? node
    : wrong('a port, or a range such as 30000-32767')
}

function flagOf(node: ScalarNode, wrong: (what: string) => TreeNode): TreeNode {
  if (typeof node.value === 'boolean') return node
  // For a bool, Go still accepts the words of YAML 1.1.
  if (node.plain !== undefined && /^(y|Y|yes|Yes|YES|on|On|ON)$/.test(node.plain))
    return { ...node, value: true }
  if (node.plain !== undefined && /^(n|N|no|No|NO|off|Off|OFF)$/.test(node.plain))
    return { ...node, value: false }
  return wrong('true or false')
}

function place({ line, column, source }: Place): Place {
  return { line, column, source }
}

export function problemAt(where: Place, message: string, path?: string): ConfigProblem {
  return {
    message,
    ...(path === undefined || path === '' ? {} : { path }),
    ...(where.line > 0 ? { line: where.line, column: where.column } : {}),
  }
}
