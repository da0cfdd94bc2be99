import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type YAMLMap,
} from 'yaml'
import { documentKind, V1ALPHA1 } from './fields.ts'
import { isObject, mismatches, text, type Fields } from './shape.ts'
import { nullEntries, pathText } from './null-entries.ts'
import { unknownKeys } from './unknown-keys.ts'
import { hasFeature } from './versions.ts'

/**
 * The bytes are no configuration. A server refuses them with INVALID_ARGUMENT before any
 * validation.
 */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export interface Loaded {
  /**
   * The main document, which has no kind. Without it a configuration is incomplete and the server
   * stays in maintenance.
   */
  v1alpha1: Record<string, unknown> | null
  documents: ConfigDocument[]
}

export interface ConfigDocument {
  kind: string
  name: string
  body: Record<string, unknown>
}

/**
 * Kinds that configure a link. Each link name may occur in only one document (Talos:
 * pkg/machinery/config/types/network/link.go).
 */
const LINK_KINDS = new Set([
  'LinkConfig',
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'DummyLinkConfig',
  'WireguardConfig',
  'VRFConfig',
])
const MAIN_KEYS = ['machine', 'cluster', 'debug', 'persist']

/**
 * Parses a stream of documents by Talos's rules and with its error texts (Talos:
 * pkg/machinery/config/configloader). `minor` is the minor version of the running Talos: 13 for
 * 1.13.
 */
export const loadConfig = (source: string, minor: number): Loaded => {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(source, { uniqueKeys: true, strict: true, lineCounter: lines })
  let v1alpha1: Record<string, unknown> | null = null
  const documents: ConfigDocument[] = []
  const seen = new Set<string>()
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const error = document.errors.find(({ code }) => code !== 'DUPLICATE_KEY')
    if (error)
      throw new ConfigError(
        `decode error: yaml: ${(error.message.split('\n')[0] ?? '').replace(/ at line (\d+), column \d+:?$/, ' at line $1')}`,
      )
    const { contents } = document
    if (contents === null || (isScalar(contents) && contents.value === null)) continue
    const line = lineAt(contents.range[0])
    if (!isMap(contents)) throw new ConfigError(`expected a YAML document at line ${line}`)
    const raw = (key: string): string => text(contents.get(key))
    const id = `${raw('apiVersion')}/${raw('kind') || 'v1alpha1'}/${raw('name')}`
    if (seen.has(id))
      throw new ConfigError(`duplicate document ${id} is not allowed (line ${line})`)
    seen.add(id)
    const refuse = (reason: string, cause?: unknown): never => {
      throw new ConfigError(`error decoding document ${id} (line ${line}): ${reason}`, { cause })
    }
    const kind = raw('kind')
    const version = MAIN_KEYS.some((key) => contents.has(key)) ? 'v1alpha1' : raw('apiVersion')
    if (kind === '' && version !== 'v1alpha1') refuse('missing kind')
    if (kind !== '' && version === '') refuse('missing apiVersion')
    const known = kind === '' ? { fields: V1ALPHA1, named: false } : documentKind(kind, minor)
    if (!known || version !== 'v1alpha1') return refuse(`"${kind}" "${version}": not registered`)
    const body = read(document, contents, known.fields, {
      target: kind === '' ? '*v1alpha1.Config' : `*${kind}V1Alpha1`,
      kind,
      refusesNull: kind === '' && hasFeature(minor, 'noNullEntries'),
      lineAt,
      refuse,
    })
    if (kind === '') v1alpha1 = body
    else documents.push({ kind, name: known.named ? text(body.name) : '', body })
  }
  if (seen.size === 0) throw new ConfigError('config not found')
  refuseConflicts(documents)
  return { v1alpha1, documents }
}

interface Where {
  target: string
  kind: string
  refusesNull: boolean
  lineAt: (offset: number | undefined) => number
  refuse: (reason: string, cause?: unknown) => never
}

/** Reads a document. Throws if it has unknown fields or wrong types. */
const read = (
  document: Document.Parsed,
  contents: YAMLMap.Parsed,
  known: Fields,
  { target, kind, refusesNull, lineAt, refuse }: Where,
): Record<string, unknown> => {
  const wrongAt = (reasons: string[]): never =>
    refuse(
      `error decoding ${kind} to ${target}: yaml: construct errors:\n${reasons.map((it) => `  ${it}`).join('\n')}`,
    )
  const [twice] = document.errors
  if (twice) wrongAt([duplicateKey(document, twice.pos[0], lineAt)])
  let body: unknown
  try {
    body = document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    return refuse('yaml: document contains excessive aliasing', cause)
  }
  if (!isObject(body)) return refuse('missing manifest content')
  const nodeAt = (path: readonly (string | number)[]): unknown => document.getIn(path, true)
  const { unknown, wrong } = mismatches(body, known)
  if (wrong.length > 0)
    wrongAt(
      wrong.map(({ path, reason }) => {
        const node = nodeAt(path)
        const offset =
          isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined
        return `line ${lineAt(offset ?? contents.range[0])}: ${reason}`
      }),
    )
  if (unknown.length > 0)
    refuse(`unknown keys found during decoding:\n${unknownKeys(unknown, nodeAt)}`)
  const empty = refusesNull ? nullEntries(body) : []
  if (empty.length > 0)
    refuse(
      empty
        .map((path) => {
          const node = nodeAt(path)
          const line = lineAt((isScalar(node) && node.range?.[0]) || contents.range[0])
          return `null value is not allowed at "${pathText(path)}" (line ${line})`
        })
        .join('\n'),
    )
  return body
}

const duplicateKey = (
  document: Document.Parsed,
  offset: number,
  lineAt: Where['lineAt'],
): string => {
  let said = `line ${lineAt(offset)}: mapping key already defined`
  visit(document, {
    Map: (_, map) => {
      const keys = map.items.map(({ key }) => key).filter(isScalar)
      const second = keys.find((key) => key.range?.[0] === offset)
      const first = second && keys.find((key) => key.value === second.value)
      if (!second || !first) return undefined
      said = `line ${lineAt(offset)}: mapping key ${JSON.stringify(text(second.value))} already defined at line ${lineAt(first.range?.[0])}`
      return visit.BREAK
    },
  })
  return said
}

/** Documents of kinds that exclude each other (Talos: pkg/machinery/config/container). */
const refuseConflicts = (documents: readonly ConfigDocument[]): void => {
  const links = new Map<string, string>()
  for (const { kind, name } of documents) {
    if (!LINK_KINDS.has(kind)) continue
    const before = links.get(name)
    if (before !== undefined)
      throw new ConfigError(`conflicting documents: ${before}/${name} and ${kind}/${name}`)
    links.set(name, kind)
  }
}
