/**
 * Routes outside of the contract, for machines: health, metrics, and the announcement of a booting
 * server.
 */
import { joinPath } from '#contract/join-tokens.ts'
import type { Call, Content, Parameter, Schema } from '../openapi.ts'
import { comeBack, errorContent } from './error-answers.ts'

const jsonOf = (schema: Schema): Content => ({ 'application/json': { schema } })
const verdict = (ok: boolean, more: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  required: ['ok', ...Object.keys(more)],
  properties: { ok: { const: ok }, ...more },
})

const get = (
  operationId: string,
  tag: string,
  summary: string,
  responses: Call['responses'],
  parameters: Parameter[] = [],
): Record<string, Call> => ({
  get: { operationId, summary, tags: [tag], parameters, responses, security: [] },
})
const asked = (name: string, description: string, schema: Schema, where = 'query'): Parameter => ({
  name,
  in: where,
  required: where === 'path',
  description,
  schema,
})

export const openPaths: Readonly<Record<string, Record<string, Call>>> = {
  '/healthz': get('healthz', 'health', 'Whether the process answers at all.', {
    200: { description: 'The process answers.', content: jsonOf(verdict(true)) },
  }),
  '/readyz': get(
    'readyz',
    'health',
    'Whether the process can serve requests: the database answers.',
    {
      200: { description: 'The process can serve requests.', content: jsonOf(verdict(true)) },
      503: {
        description: 'The process cannot serve requests now; `reason` says why.',
        headers: comeBack,
        content: jsonOf(verdict(false, { reason: { type: 'string' } })),
      },
    },
  ),
  '/metrics': get('metrics', 'health', 'Counters and gauges in the text format of Prometheus.', {
    200: { description: 'Success.', content: { 'text/plain': { schema: { type: 'string' } } } },
    403: { description: 'The caller is neither this machine nor in `STEELYARD_METRICS_NETWORKS`.' },
  }),
  [`${joinPath}{token}`]: get(
    'join',
    'join',
    'Called by a server that was booted with a prepared image, to announce itself. Talos fills in the variables of the kernel command line.',
    {
      200: {
        description:
          'A harmless machine configuration document, whatever the request: any other response would keep the machine out of maintenance mode.',
        content: { 'application/yaml': {} },
      },
      503: {
        description: 'It is not known yet whether the token is valid: Talos retries.',
        headers: comeBack,
        content: errorContent,
      },
    },
    [
      asked('token', 'The join token that the image carries.', { type: 'string' }, 'path'),
      asked(
        'uuid',
        'System UUID of the machine. An announcement without a UUID registers nothing.',
        { type: 'string' },
      ),
      asked('serial', 'Serial number of the machine.', { type: 'string' }),
      asked('mac', 'MAC address of the interface that sends the request.', { type: 'string' }),
    ],
  ),
}
