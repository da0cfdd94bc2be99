/** What is served outside of the contract, for machines: health, metrics, and what a booting server asks. Said here for the OpenAPI document. */
import { joinPath } from '#contract/join-tokens.ts'

type Json = Record<string, unknown>

const json = (schema: Json) => ({ 'application/json': { schema } })
const text = (media: string) => ({ [media]: { schema: { type: 'string' } } })
const verdict = (ok: boolean, more: Json = {}): Json => ({ type: 'object', required: ['ok', ...Object.keys(more)], properties: { ok: { const: ok }, ...more } })

const get = (operationId: string, tag: string, summary: string, responses: Json, parameters: Json[] = []): Json => ({
  get: { operationId, summary, tags: [tag], parameters, responses, security: [] },
})
const asked = (name: string, description: string, schema: Json, where = 'query'): Json => ({ name, in: where, required: where === 'path', description, schema })

/** @param refused the answer of a status at which one should come back: its description and `Retry-After` */
export const openPaths = (refused: (description: string) => Json): Readonly<Record<string, Json>> => ({
  '/healthz': get('healthz', 'health', 'Whether the process answers at all.', { 200: { description: 'It does.', content: json(verdict(true)) } }),
  '/readyz': get('readyz', 'health', 'Whether it can work: the database answers.', {
    200: { description: 'It can.', content: json(verdict(true)) },
    503: { ...refused('It can not now; `reason` says why.'), content: json(verdict(false, { reason: { type: 'string' } })) },
  }),
  '/metrics': get('metrics', 'health', 'Counters and gauges in the text format of Prometheus.', {
    200: { description: 'Success.', content: text('text/plain') },
    403: { description: 'Who asks is neither this machine nor in `STEELYARD_METRICS_NETWORKS`.' },
  }),
  [`${joinPath}{token}`]: get(
    'join',
    'join',
    'What a server asks that was booted with a prepared image: it announces itself. Talos fills in the variables of the kernel command line.',
    {
      200: {
        description: 'One harmless document of a machine configuration, whatever was asked: anything else would keep the machine out of maintenance mode.',
        content: text('application/yaml'),
      },
      503: { ...refused('Nobody knows yet whether the token is good: Talos asks again.'), content: json({ $ref: '#/components/schemas/Error' }) },
    },
    [
      asked('token', 'The join token that the image carries.', { type: 'string' }, 'path'),
      asked('uuid', 'System UUID of the machine; without one nothing comes of it.', { type: 'string', format: 'uuid' }),
      asked('serial', 'Serial number of the machine.', { type: 'string' }),
      asked('mac', 'Hardware address of the link that it asks from.', { type: 'string' }),
    ],
  ),
})
