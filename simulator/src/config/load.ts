import { parseAllDocuments } from 'yaml'
import { DOCUMENTS, V1ALPHA1 } from './fields.ts'
import { isObject, mismatches, text } from './shape.ts'

/** The bytes can't be a configuration at all: what a server answers with INVALID_ARGUMENT before it looks at any rule. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export interface Loaded {
  /** The document without a kind; a configuration without it is incomplete and leaves the server in maintenance. */
  v1alpha1: Record<string, unknown> | null
  documents: ConfigDocument[]
}

export interface ConfigDocument {
  kind: string
  name: string
  body: Record<string, unknown>
}

/** Parses a stream of documents by Talos's loading rules (Talos: pkg/machinery/config/configloader). `minor` is that of the running Talos, 13 for 1.13. */
export const loadConfig = (source: string, minor: number): Loaded => {
  const bodies = readYaml(source)
  if (bodies.length === 0) throw new ConfigError('config not found')
  let v1alpha1: Record<string, unknown> | null = null
  const documents: ConfigDocument[] = []
  const seen = new Set<string>()
  for (const body of bodies) {
    if (!('kind' in body) && !('apiVersion' in body)) {
      if (v1alpha1) throw new ConfigError('not a valid config: duplicate v1alpha1 document')
      if (body.version !== 'v1alpha1')
        throw new ConfigError(body.version === undefined ? 'missing kind' : `unsupported config version ${JSON.stringify(body.version)}`)
      refuse('v1alpha1', mismatches(body, V1ALPHA1))
      v1alpha1 = body
      continue
    }
    const { kind, apiVersion } = body
    if (typeof kind !== 'string' || kind === '') throw new ConfigError('missing kind')
    if (typeof apiVersion !== 'string' || apiVersion === '') throw new ConfigError('missing apiVersion')
    const known = DOCUMENTS.get(kind)
    if (!known || apiVersion !== 'v1alpha1' || known.since > minor) throw new ConfigError(`"${kind}" "${apiVersion}": not registered`)
    refuse(`${apiVersion}/${kind}`, mismatches(body, known.fields))
    const name = known.named ? text(body.name) : ''
    if (known.named && name === '') throw new ConfigError(`${kind}: name is required`)
    if (seen.has(`${kind}/${name}`)) throw new ConfigError(`not a valid config: duplicate document: ${apiVersion}/${kind}${name && `/${name}`}`)
    seen.add(`${kind}/${name}`)
    documents.push({ kind, name, body })
  }
  return { v1alpha1, documents }
}

const readYaml = (text: string): Record<string, unknown>[] => {
  const parsed = parseAllDocuments(text, { uniqueKeys: true, strict: true })
  const found: Record<string, unknown>[] = []
  for (const document of parsed) {
    const [error] = document.errors
    if (error) throw new ConfigError(`failed to parse config: yaml: ${error.message.split('\n')[0]}`)
    let body: unknown
    try {
      body = document.toJS({ maxAliasCount: 100 })
    } catch (cause) {
      throw new ConfigError('failed to parse config: yaml: document contains excessive aliasing', { cause })
    }
    if (body === null || body === undefined) continue
    if (!isObject(body)) throw new ConfigError('failed to parse config: yaml: cannot unmarshal a document that is not a mapping')
    found.push(body)
  }
  return found
}

const refuse = (document: string, { unknown, wrong }: { unknown: string[]; wrong: string[] }): void => {
  if (wrong.length > 0) throw new ConfigError(`error decoding document ${document}: ${wrong.join('; ')}`)
  if (unknown.length > 0)
    throw new ConfigError(
      `error decoding document ${document}: unknown keys found during decoding:\n${unknown.map((path) => `  ${path.replace(/^\./, '')}`).join('\n')}`,
    )
}
