import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { allOperations, allWords } from '#contract/all.ts'
import { errors } from '#contract/errors.ts'
import { errorsOf, takesBody } from '#contract/operation.ts'
import { startBackend } from '../testing/backend.ts'
import { documentName, openapiDocument } from './openapi.ts'

const document = openapiDocument('1.2.3')

/**
 * The parts of the OpenAPI 3.1 schema (spec.openapis.org/oas/3.1/schema) that this document uses.
 * Other fields are not allowed.
 */
const mediaTypes = {
  type: 'object',
  minProperties: 1,
  additionalProperties: {
    type: 'object',
    properties: { schema: { type: ['object', 'boolean'] }, example: true },
    additionalProperties: false,
  },
}
const response = {
  type: 'object',
  required: ['description'],
  properties: {
    description: { type: 'string', minLength: 1 },
    headers: { type: 'object' },
    content: mediaTypes,
  },
  additionalProperties: false,
}
const call = {
  type: 'object',
  required: ['operationId', 'summary', 'responses', 'security'],
  properties: {
    operationId: { type: 'string', pattern: '^[a-z][A-Za-z]+$' },
    summary: { type: 'string', minLength: 1 },
    tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    parameters: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'in', 'schema'],
        properties: {
          name: { type: 'string' },
          in: { enum: ['path', 'query', 'header'] },
          required: { type: 'boolean' },
          description: { type: 'string' },
          schema: { type: 'object' },
        },
        anyOf: [
          { properties: { in: { enum: ['query', 'header'] } } },
          { properties: { required: { const: true } }, required: ['required'] },
        ],
        additionalProperties: false,
      },
    },
    requestBody: {
      type: 'object',
      required: ['content'],
      properties: { required: { type: 'boolean' }, content: mediaTypes },
      additionalProperties: false,
    },
    responses: {
      type: 'object',
      minProperties: 1,
      patternProperties: { '^[1-5]\\d\\d$': response },
      additionalProperties: false,
    },
    security: {
      type: 'array',
      items: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
    },
  },
  additionalProperties: false,
}
const shape = {
  type: 'object',
  required: ['openapi', 'info', 'paths'],
  properties: {
    openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
    info: {
      type: 'object',
      required: ['title', 'version'],
      properties: {
        title: { type: 'string' },
        version: { type: 'string' },
        description: { type: 'string' },
      },
      additionalProperties: false,
    },
    servers: { type: 'array', items: { type: 'object', required: ['url'] } },
    tags: { type: 'array', items: { type: 'object', required: ['name'] } },
    paths: {
      type: 'object',
      patternProperties: {
        '^/': {
          type: 'object',
          properties: Object.fromEntries(
            ['get', 'put', 'post', 'patch', 'delete'].map((m) => [m, call]),
          ),
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
    components: {
      type: 'object',
      properties: {
        schemas: { type: 'object' },
        securitySchemes: { type: 'object' },
        headers: { type: 'object' },
        responses: { type: 'object' },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
}

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ path, method, one })),
)

test('the document is valid OpenAPI 3.1', () => {
  const validate = ajv.compile(shape)
  validate(document)
  expect(validate.errors ?? []).toEqual([])
})

test('paths outside of the contract are in the document and respond as described', async () => {
  const { app } = await startBackend()
  const outside = calls.filter(({ one }) => allOperations.every((o) => o.name !== one.operationId))
  expect(outside.map(({ path }) => path)).toEqual([
    '/healthz',
    '/readyz',
    '/metrics',
    '/join/{token}',
  ])
  for (const { path, one } of outside) {
    const answer = await app.inject({ url: path.replace('{token}', 'x') })
    const { content } = one.responses[String(answer.statusCode)]!
    const [media, { schema = true }] = Object.entries(content!)[0]!
    expect(String(answer.headers['content-type'])).toContain(media)
    expect(ajv.validate(schema, media === 'application/json' ? answer.json() : answer.body)).toBe(
      true,
    )
  }
})

test('generators of clients can read the document', () => {
  // oapi-codegen reads no boolean as a schema, and its code does not compile with the other names.
  const written = JSON.stringify(document)
  expect(written).not.toContain('"items":false')
  expect(written).not.toContain('"prefixItems"')
  // openapi-generator writes Go that does not compile for an object as a default.
  expect(written).not.toContain('"default":{')
  expect(Object.keys(document.components.schemas).filter((name) => /^New[A-Z]/.test(name))).toEqual(
    [],
  )
  expect(Object.keys(document.components.schemas)).toContain('ClusterCreate')
  expect(document.tags.map(({ name }) => name)).toEqual(
    [...new Set(calls.flatMap(({ one }) => one.tags))].toSorted(),
  )
})

const contents = (response: (typeof calls)[number]['one']['responses'][string]) =>
  Object.entries(response.content ?? {})

test('every error response has both forms of errors', () => {
  const failing = calls.flatMap(({ one }) =>
    Object.entries(one.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, answer]) => ({ at: `${one.operationId} ${status}`, answer })),
  )
  const others = failing.filter(
    ({ answer }) =>
      JSON.stringify(contents(answer)) !==
      JSON.stringify(
        Object.entries({
          'application/json': { schema: { $ref: '#/components/schemas/Error' } },
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        }),
      ),
  )
  expect(failing.length).toBeGreaterThan(1_000)
  // These two answer programs that know no problem details.
  expect(others.map(({ at }) => at)).toEqual(['readyz 503', 'metrics 403'])
})

test('responses may get new fields, and YAML has no schema', () => {
  const used = new Set<string>()
  const closed: string[] = []
  const look = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ((value as { additionalProperties?: unknown }).additionalProperties === false)
      closed.push(at)
    for (const [key, inner] of Object.entries(value)) {
      const name = key === '$ref' ? String(inner).split('/').at(-1)! : ''
      if (name === '' || used.has(name)) look(inner, `${at}.${key}`)
      else {
        used.add(name)
        look((document.components.schemas as Record<string, object>)[name], name)
      }
    }
  }
  const answers = calls.flatMap(({ one }) =>
    Object.values(one.responses).flatMap((answer) =>
      contents(answer).map(([media, { schema }]) => ({ at: one.operationId, media, schema })),
    ),
  )
  for (const { at, schema } of answers) look(schema, at)
  expect(closed).toEqual([])
  expect(used.size).toBeGreaterThan(60)
  expect(
    answers.filter(
      ({ media, schema }) => (media === 'application/yaml') === (schema !== undefined),
    ),
  ).toEqual([])
})

test('each schema is valid JSON Schema 2020-12', () => {
  const schemas = calls.flatMap(({ one }) => [
    ...one.parameters.map((p) => p.schema),
    ...Object.values(one.requestBody?.content ?? {}).map((c) => c.schema!),
    ...Object.values(one.responses).flatMap((r) =>
      contents(r).flatMap(([, { schema }]) => schema ?? []),
    ),
  ])
  schemas.push(...Object.values(document.components.schemas))
  expect(schemas.length).toBeGreaterThan(300)
  const broken = schemas.filter((schema) => !ajv.validateSchema(schema))
  expect(broken).toEqual([])
})

test('the declared path parameters are those in the path, and operation ids are unique', () => {
  for (const { path, one } of calls) {
    const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]))
    expect(new Set(one.parameters.filter((p) => p.in === 'path').map((p) => p.name))).toEqual(
      inPath,
    )
  }
  expect(new Set(calls.map(({ one }) => one.operationId)).size).toBe(calls.length)
})

test.each(allOperations.map((o) => [o.name, o] as const))(
  '%s is in the document with its scope, its body and every error',
  (_name, operation) => {
    const one = document.paths[operation.path]![operation.method.toLowerCase()]!
    expect(one.operationId).toBe(operation.name)
    expect(one.security).toEqual(
      operation.scope === null
        ? []
        : [{ session: operation.scope === 'signed_in' ? [] : [operation.scope] }],
    )
    expect(one.requestBody !== undefined).toBe(takesBody(operation))
    expect(one.responses).toHaveProperty(String(operation.status))
    for (const code of errorsOf(operation))
      expect(one.responses[errors[code].status]!.description).toContain(`\`${code}\``)
    for (const status of ['429', '503'])
      expect(one.responses[status]!.headers).toHaveProperty('Retry-After')
    const headers = new Set(one.parameters.filter((p) => p.in === 'header').map((p) => p.name))
    expect(headers.has('Idempotency-Key')).toBe(operation.kept)
    expect(headers.has('If-Match')).toBe(operation.errors.includes('stale'))
  },
)

test('every parameter and every field of a body has a description', () => {
  const silent = calls.flatMap(({ one }) =>
    one.parameters.filter((p) => !p.description).map((p) => `${one.operationId} ${p.name}`),
  )
  const look = (schema: unknown, at: string): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, value] of Object.entries(schema))
      if (key !== 'properties') look(value, at)
      else
        for (const [name, field] of Object.entries(
          value as Record<string, { description?: string; $ref?: string }>,
        )) {
          if (!field.description && !field.$ref) silent.push(`${at} ${name}`)
          look(field, `${at} ${name}`)
        }
  }
  for (const { one } of calls)
    for (const body of Object.values(one.requestBody?.content ?? {}))
      look(body.schema, one.operationId)
  for (const [name, schema] of Object.entries(document.components.schemas).filter(([name]) =>
    name.startsWith('New'),
  ))
    look(schema, name)
  expect(silent).toEqual([])
})

const keysOf = (part: 'objects' | 'fields' | 'bodies') =>
  allWords.flatMap((words) => Object.keys(words[part] ?? {}))

test.each(['objects', 'fields', 'bodies'] as const)(
  'no two nouns have words for the same of %s',
  (part) => {
    const keys = keysOf(part)
    expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
  },
)

test('every field and object that has a description is used by a call', () => {
  const text = JSON.stringify(document)
  const fields = keysOf('fields').map((name) => name.split('.').at(-1)!)
  expect(fields.filter((name) => !text.includes(`"${name}"`))).toEqual([])
  expect(
    keysOf('objects').filter(
      (name) => !text.includes(`#/components/schemas/${documentName(name)}"`),
    ),
  ).toEqual([])
})

test.each(allOperations.filter(takesBody).map((o) => [o.name, o] as const))(
  '%s has an example body that it accepts',
  (name, { body }) => {
    expect(
      z.safeParse(body, allWords.find(({ bodies }) => bodies && name in bodies)?.bodies?.[name])
        .error?.issues ?? [],
    ).toEqual([])
  },
)
