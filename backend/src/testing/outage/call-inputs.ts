/** Inputs of calls, generated from the contract's own schemas. */
import * as fc from 'fast-check'
import * as z from 'zod/mini'

export type Json = Record<string, unknown>

/**
 * Values that match a schema of a call. For patterns that can't be generated, uses ordinary words.
 * @param knownId the id of an object that exists, which is used among random ids
 */
export const valuesOf = (schema: z.core.$ZodType, knownId: string): fc.Arbitrary<unknown> =>
  matching(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), knownId)

function matching(schema: Json, knownId: string): fc.Arbitrary<unknown> {
  const of = (one: unknown) => matching(one as Json, knownId)
  if ('const' in schema) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  for (const many of ['anyOf', 'oneOf'])
    if (Array.isArray(schema[many])) return fc.oneof(...(schema[many] as Json[]).map(of))
  switch (schema['type']) {
    case 'object': {
      const required = new Set((schema['required'] as string[] | undefined) ?? [])
      const properties = Object.entries((schema['properties'] as Json | undefined) ?? {})
      const known = Object.fromEntries(properties.map(([name, one]) => [name, of(one)]))
      if (properties.length === 0 && typeof schema['additionalProperties'] === 'object')
        return fc.dictionary(
          fc.constantFrom('a', 'rack', 'x-1'),
          of(schema['additionalProperties']),
          { maxKeys: 3 },
        )
      return fc.record(known, {
        requiredKeys: properties.map(([name]) => name).filter((name) => required.has(name)),
      })
    }
    case 'array':
      return fc.array(of(schema['items'] ?? {}), {
        minLength: Number(schema['minItems'] ?? 0),
        maxLength: 3,
      })
    case 'integer':
      return fc.integer({
        min: Math.max(Number(schema['minimum'] ?? 0), -1000),
        max: Math.min(Number(schema['maximum'] ?? 1000), 1000),
      })
    case 'number':
      return fc.double({
        min: Number(schema['minimum'] ?? -1000),
        max: Number(schema['maximum'] ?? 1000),
        noNaN: true,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      if (schema['format'] === 'uuid') return fc.oneof(fc.uuid(), fc.constant(knownId))
      return fc.oneof(
        fc.constantFrom(
          'a',
          'calm-heron-204',
          'PL',
          'POZ',
          '10.99.0.1',
          '10.99.0.0/24',
          '10.244.0.0/16',
          'v1.13.9',
          '1.36.3',
          '/dev/nvme0n1',
          'someone@example.com',
          'true',
          'machine: {}\n',
          'machine:\n  network:\n    hostname: x\n',
          'twelve letters',
        ),
        fc.string({ maxLength: Math.min(Number(schema['maxLength'] ?? 30), 30) }),
      )
    default:
      return fc.jsonValue({ maxDepth: 1 })
  }
}
