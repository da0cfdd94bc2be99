/** The OpenAPI 3.1 document, made from the contract: nothing in it is written twice. */
import type { FastifyInstance } from 'fastify'
import * as z from 'zod/mini'
import { allOperations } from '#contract/all.ts'
import { errors, relatedKinds } from '#contract/errors.ts'
import { errorsOf, type Operation, takesBody } from '#contract/operation.ts'

type Json = Record<string, unknown>

const schemaOf = (schema: z.core.$ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as Json
  return rest
}

/** What the server reads from headers beside the session. */
function headersOf({ method, scope, errors: own, media }: Operation): Json[] {
  const header = (name: string, description: string, schema: Json): Json => ({ name, in: 'header', required: false, description, schema })
  return [
    ...(method !== 'GET' && scope !== null
      ? [header('Idempotency-Key', 'Kept 24 h: sent again with the same body, the first answer is given again.', { type: 'string', pattern: '^[!-~]{1,128}$' })]
      : []),
    ...(own.includes('stale')
      ? [header('If-Match', "The object's version that the caller read, as in its ETag; without it the last write wins.", { type: 'string' })]
      : []),
    ...(media === 'text/event-stream' ? [header('Last-Event-ID', 'Id of the last event that was read.', { type: 'string', pattern: '^\\d{1,15}$' })] : []),
  ]
}

const comeBack = { 'Retry-After': { description: 'Seconds after which to try again.', schema: { type: 'integer', minimum: 1 } } }

function parameters(operation: Operation): Json[] {
  const of = (where: 'path' | 'query', schema: z.core.$ZodType): Json[] => {
    const { properties = {}, required = [] } = schemaOf(schema, 'input') as { properties?: Record<string, Json>; required?: string[] }
    return Object.entries(properties).map(([name, property]) => ({ name, in: where, required: where === 'path' || required.includes(name), schema: property }))
  }
  return [...of('path', operation.params), ...of('query', operation.query), ...headersOf(operation)]
}

function responses(operation: Operation): Json {
  const json = operation.media === 'application/json'
  const success =
    operation.status === 204 || operation.answer.constructor.name === 'ZodMiniUndefined'
      ? { description: 'Done.' }
      : { description: 'Success.', content: { [operation.media]: { schema: json ? schemaOf(operation.answer, 'output') : { type: 'string' } } } }
  const byStatus = Map.groupBy(errorsOf(operation), (code) => errors[code].status)
  return {
    [operation.status]: success,
    ...Object.fromEntries(
      [...byStatus].map(([status, all]) => [
        status,
        {
          description: all.map((code) => `\`${code}\`: ${errors[code].means}`).join('\n'),
          ...((status === 429 || status === 503) && { headers: comeBack }),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      ]),
    ),
  }
}

export function openapiDocument(version: string): Json {
  const paths: Record<string, Json> = {}
  for (const operation of allOperations) {
    const path = (paths[operation.path] ??= {})
    path[operation.method.toLowerCase()] = {
      operationId: operation.name,
      summary: operation.summary,
      tags: [operation.path.split('/')[2]],
      parameters: parameters(operation),
      ...(takesBody(operation) && { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(operation.body, 'input') } } } }),
      responses: responses(operation),
      security: operation.scope === null ? [] : [{ session: operation.scope === 'signed_in' ? [] : [operation.scope] }],
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Steelyard', version, description: 'The API of Steelyard, the control plane for bare-metal servers that run Talos Linux.' },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: {
        Error: {
          type: 'object',
          required: ['error', 'code', 'request_id'],
          properties: {
            error: { type: 'string', description: 'A sentence for people.' },
            code: { type: 'string', enum: Object.keys(errors) },
            fields: { type: 'object', additionalProperties: { type: 'string' } },
            related: {
              type: 'object',
              description: 'What stands in the way.',
              required: ['kind', 'id', 'name'],
              properties: { kind: { type: 'string', enum: relatedKinds }, id: { type: 'string', format: 'uuid' }, name: { type: 'string' } },
            },
            request_id: { type: 'string' },
          },
        },
      },
    },
  }
}

export function openapiRoutes(app: FastifyInstance, { version }: { version: string }): void {
  let text: string | undefined
  app.get('/v1/openapi.json', { config: { open: true } }, async (_request, reply) => {
    text ??= JSON.stringify(openapiDocument(version))
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
