/** How the OpenAPI document describes error responses. */
import { errors, relatedKinds } from '#contract/errors.ts'
import type { Content, Schema } from '../openapi.ts'

/** The header of a response that says when to try again. */
export const comeBack = {
  'Retry-After': {
    description: 'Seconds after which to try again.',
    schema: { type: 'integer', minimum: 1 },
  },
}

const error = {
  type: 'object',
  description: 'The body of every error response.',
  required: ['error', 'code', 'request_id'],
  properties: {
    error: { type: 'string', description: 'The message for users.' },
    code: {
      type: 'string',
      enum: Object.keys(errors),
      description: 'The error code, for programs.',
    },
    fields: {
      type: 'object',
      description: 'One message per invalid field, by the path of the field: `servers.0.role`.',
      additionalProperties: { type: 'string' },
    },
    related: {
      type: 'object',
      description: 'The object that the request conflicts with.',
      required: ['kind', 'id', 'name'],
      properties: {
        kind: { type: 'string', enum: [...relatedKinds] },
        id: { type: 'string', format: 'uuid' },
        name: { type: 'string' },
      },
    },
    for_now: {
      type: 'boolean',
      enum: [true],
      description:
        'A server is silent, or something is busy or not ready yet: the same call may succeed later. Missing if a rule refuses the call, until somebody changes something.',
    },
    request_id: {
      type: 'string',
      format: 'uuid',
      description: 'Id of the request, also in the log and in the header `X-Request-Id`.',
    },
  },
} satisfies Schema

/** RFC 9457, with the fields of `Error` as extension members (§3.2). */
const problem = {
  type: 'object',
  description:
    'The body of every error response to a request that accepts `application/problem+json` (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', ...error.required],
  properties: {
    type: { type: 'string', description: '`about:blank`: the code says what the error is.' },
    title: { type: 'string', description: 'The name of the HTTP status.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'The message for users, as in `error`.' },
    ...error.properties,
  },
} satisfies Schema

export const errorSchemas = { Error: error, Problem: problem }

/** The body of an error response, in the two forms between which `Accept` decides. */
export const errorContent: Content = {
  'application/json': { schema: { $ref: '#/components/schemas/Error' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
}
