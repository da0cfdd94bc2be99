/**
 * Generates the OpenAPI 3.1 document from the contract, its descriptions and the routes outside of
 * the contract.
 */
import type { FastifyInstance } from 'fastify'
import * as z from 'zod/mini'
import { allOperations, allWords, variantsOf } from '#contract/all.ts'
import { errors } from '#contract/errors.ts'
import {
  answersWith,
  errorsOf,
  type Operation,
  takesBody,
  type Words,
} from '#contract/operation.ts'
import { comeBack, errorContent, errorSchemas } from './openapi/error-answers.ts'
import { openPaths } from './openapi/open-paths.ts'
import { madeOnce } from './pages/made.ts'

type Json = Record<string, unknown>

type Simple =
  | '$ref'
  | 'type'
  | 'format'
  | 'description'
  | 'enum'
  | 'const'
  | 'default'
  | 'required'
  | 'examples'
  | 'pattern'
type Bound = 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems'
/** The parts of a JSON schema that the documentation shows. */
export interface Schema extends Pick<z.core.JSONSchema.JSONSchema, Simple | Bound> {
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
}
export type Parameter = {
  name: string
  in: string
  required: boolean
  description?: string
  schema: Schema
}
/**
 * Bodies by media type. YAML has no schema: for a reader of the document a schema would describe
 * the parsed value, and not the text that clients save.
 */
export type Content = Record<string, { schema?: Schema; example?: unknown }>
type Response = { description: string; headers?: object; content?: Content }
/** One call of the document. */
export interface Call {
  operationId: string
  summary: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Response>
  security: { session: string[] }[]
}

const told = <Part extends keyof Words>(part: Part): Required<Words>[Part] =>
  Object.assign({}, ...allWords.map((words) => words[part])) as Required<Words>[Part]
const [objects, fields, bodies] = [told('objects'), told('fields'), told('bodies')]

/**
 * The name of a schema in the document: `NewCluster` is `ClusterCreate`. Generators for Go call a
 * constructor `New…`, which must not be the name of a type.
 */
export const documentName = (id: string): string =>
  /^New[A-Z]/.test(id) ? `${id.slice('New'.length)}Create` : id

const named = z.registry<{ id: string; description: string }>()
for (const [id, [schema, description]] of Object.entries(objects))
  named.add(schema, { id: documentName(id), description })

const isPlainObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const safe = Number.MAX_SAFE_INTEGER
/**
 * Schema details without meaning for a reader: patterns of UUIDs and times, bounds of safe
 * integers. And a default that is an object, for which openapi-generator writes Go that doesn't
 * compile: its fields say their own defaults.
 */
const isNoise = (key: string, value: unknown, { format }: Json): boolean =>
  (key === 'pattern' && format !== undefined) ||
  (key === 'minimum' && value === -safe) ||
  (key === 'maximum' && value === safe) ||
  (key === 'default' && isPlainObject(value)) ||
  key === 'id' ||
  key === '$schema'

/**
 * A list of a fixed length. Generators don't read `prefixItems` with `items: false`, so the place
 * of each kind of item is lost, if there is more than one.
 */
function fixedList(prefixItems: unknown): Json {
  const all = prefixItems as readonly Json[]
  const kinds = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
  const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds }
  return { items, minItems: all.length, maxItems: all.length }
}

/**
 * A schema of the document: fields with descriptions, and references to shared schemas. `call`:
 * name of the operation.
 */
function tidy({ prefixItems, ...whole }: Json, call: string): Schema {
  const schema: Json = prefixItems === undefined ? whole : { ...whole, ...fixedList(prefixItems) }
  const inside = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inside)
      : typeof value === 'object' && value !== null
        ? tidy(value as Json, call)
        : value
  const field = (name: string, one: Json): Schema => {
    const meaning = fields[`${call}.${name}`] ?? fields[name]
    return {
      ...(meaning !== undefined && one['$ref'] === undefined && { description: meaning }),
      ...tidy(one, call),
    }
  }
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
      if (isNoise(key, value, schema)) return []
      if (key === 'properties')
        return [
          [
            key,
            Object.fromEntries(
              Object.entries(value as Record<string, Json>).map(([name, one]) => [
                name,
                field(name, one),
              ]),
            ),
          ],
        ]
      if (key === '$ref') return [[key, String(value).replace('#/$defs/', '#/components/schemas/')]]
      return [[key, key === 'default' || key === 'enum' || key === 'const' ? value : inside(value)]]
    }),
  )
}

/**
 * A schema of responses, which a later version may extend: the code that some generators write for
 * a closed object fails on a field that it doesn't know.
 */
function open(schema: Schema): Schema {
  const inside = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inside)
      : typeof value === 'object' && value !== null
        ? open(value)
        : value
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== 'additionalProperties' || value !== false)
      .map(([key, value]) => [key, inside(value)]),
  )
}

/** The shared schemas by name, in the order in which they were found. */
type Components = Map<string, Schema>

const schemaOf = (
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  call: string,
  components: Components,
): Schema => {
  const { $defs = {}, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
    metadata: named,
  }) as Json
  const answered = io === 'output'
  for (const [name, one] of Object.entries($defs as Record<string, Json>)) {
    const known = components.get(name) ?? tidy(one, answered ? '' : call)
    components.set(name, answered ? open(known) : known)
  }
  return answered ? open(tidy(rest, '')) : tidy(rest, call)
}

/** The request headers that the server reads, except the one with the access token. */
function headersOf(operation: Operation): Parameter[] {
  const { method, kept, errors: own, media } = operation
  const header = (name: string, description: string, schema: Schema): Parameter => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  })
  return [
    ...(kept
      ? [
          header(
            'Idempotency-Key',
            'Kept 24 h. Another request with the same key and body gets the first response again.',
            {
              type: 'string',
              pattern: '^[!-~]{1,128}$',
            },
          ),
        ]
      : []),
    ...(method === 'POST' && operation.status !== 200 && kept
      ? [
          header(
            'Steelyard-Apply',
            'Name of a set of files. An object that the call creates is recorded as part of the set.',
            {
              type: 'string',
              maxLength: 40,
            },
          ),
        ]
      : []),
    ...(method === 'GET' && isVersioned(operation)
      ? [
          header(
            'If-None-Match',
            'The ETag that the caller has. The response is 304 while the object is unchanged.',
            { type: 'string' },
          ),
        ]
      : []),
    ...(own.includes('stale')
      ? [
          header(
            'If-Match',
            'The ETag of the version that the caller read. Without this header, the last write wins.',
            { type: 'string' },
          ),
        ]
      : []),
    ...(media === 'text/event-stream'
      ? [
          header('Last-Event-ID', 'Id of the last event that was read.', {
            type: 'string',
            pattern: '^\\d{1,15}$',
          }),
        ]
      : []),
  ]
}

const etag = {
  ETag: {
    description: "The object's version, in quotes: for `If-Match` and `If-None-Match`.",
    schema: { type: 'string', examples: ['"3"'] },
  },
}
function parameters(operation: Operation, components: Components): Parameter[] {
  const of = (where: 'path' | 'query', from: z.core.$ZodType): Parameter[] => {
    const { properties = {}, required = [] } = schemaOf(from, 'input', operation.name, components)
    return Object.entries(properties).map(([name, { description: general, ...schema }]) => {
      const description = operation.meanings?.[name] ?? general
      return {
        name,
        in: where,
        required: where === 'path' || required.includes(name),
        ...(description !== undefined && { description }),
        schema,
      }
    })
  }
  return [...of('path', operation.params), ...of('query', operation.query), ...headersOf(operation)]
}

/** The version of an object is sent as its ETag. */
const isVersioned = ({ answer }: Operation): boolean => answersWith('version', answer)

/**
 * The schema of a successful response. A call with several kinds of responses gives one of them.
 */
function answerOf(operation: Operation, components: Components): Schema {
  const [usual, ...others] = [operation, ...variantsOf(operation)].map(({ answer }) =>
    schemaOf(answer, 'output', operation.name, components),
  )
  return others.length === 0 ? usual! : { anyOf: [usual!, ...others] }
}

function contentOf(operation: Operation, components: Components): Content[string] {
  if (operation.media === 'application/json') return { schema: answerOf(operation, components) }
  return operation.media === 'application/yaml' ? {} : { schema: { type: 'string' } }
}

function responses(operation: Operation, components: Components): Call['responses'] {
  const success: Response =
    operation.status === 204 || operation.answer.constructor.name === 'ZodMiniUndefined'
      ? { description: 'Done.' }
      : {
          description:
            operation.status === 202
              ? 'Started. Poll the operation, or read its changes from `/v1/events`.'
              : 'Success.',
          ...(isVersioned(operation) && { headers: etag }),
          content: { [operation.media]: contentOf(operation, components) },
        }
  const byStatus = Map.groupBy(errorsOf(operation), (code) => errors[code].status)
  return {
    [operation.status]: success,
    ...(operation.method === 'GET' &&
      isVersioned(operation) && {
        304: { description: 'Nothing has changed since the version in `If-None-Match`.' },
      }),
    ...Object.fromEntries(
      [...byStatus].map(([status, all]) => [
        status,
        {
          description: all.map((code) => `\`${code}\`: ${errors[code].means}`).join('\n'),
          ...((status === 429 || status === 503) && { headers: comeBack }),
          content: errorContent,
        },
      ]),
    ),
  }
}

const description = `The API of Steelyard, the control plane for bare-metal servers that run Talos Linux.

Sign in by \`authorize\` and send the access token as \`Authorization: Bearer …\`; after ten minutes get another by \`authorizeRefresh\`.
Lists return \`{items, page, per_page, total}\`. A call that takes longer returns 202 with an operation. Times are ISO 8601 in UTC, sizes are in bytes.
Errors have the schema \`Error\`. A request that accepts \`application/problem+json\` gets them in this form (RFC 9457), with the same fields beside \`type\`, \`title\`, \`status\` and \`detail\`.`

const tagsOf = (paths: Readonly<Record<string, Record<string, Call>>>): string[] =>
  [
    ...new Set(
      Object.values(paths).flatMap((calls) => Object.values(calls).flatMap((c) => c.tags)),
    ),
  ].toSorted()

export function openapiDocument(version: string) {
  const paths: Record<string, Record<string, Call>> = {}
  const components: Components = new Map()
  for (const operation of allOperations) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = {
      operationId: operation.name,
      summary: operation.summary,
      tags: [operation.path.split('/')[2]!],
      parameters: parameters(operation, components),
      ...(takesBody(operation) && {
        requestBody: {
          required: !z.safeParse(operation.body, {}).success,
          content: {
            'application/json': {
              schema: schemaOf(operation.body, 'input', operation.name, components),
              example: bodies[operation.name],
            },
          },
        },
      }),
      responses: responses(operation, components),
      security:
        operation.scope === null
          ? []
          : [{ session: operation.scope === 'signed_in' ? [] : [operation.scope] }],
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Steelyard', version, description },
    servers: [{ url: '/' }],
    tags: tagsOf({ ...paths, ...openPaths }).map((name) => ({ name })),
    paths: { ...paths, ...openPaths },
    components: {
      securitySchemes: { session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: {
        ...Object.fromEntries([...components].toSorted(([a], [b]) => a.localeCompare(b))),
        ...errorSchemas,
      },
    },
  }
}

export function openapiRoutes(app: FastifyInstance, { version }: { version: string }): void {
  const send = madeOnce('application/json; charset=utf-8', () =>
    JSON.stringify(openapiDocument(version)),
  )
  app.get('/v1/openapi.json', { config: { open: true } }, send)
}
