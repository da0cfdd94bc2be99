/** JSON Schema of a patch body, for completion and hover in the editor and for other tools. */
import type { JSONSchema } from 'zod/v4/core'
import { contractOf, has, isSince } from '../versions.ts'
import { forbiddenDocuments, forbiddenIn } from './patch-check.ts'
import { documentFieldOf } from './moved-fields.ts'
import { documentShapes, mainDocument } from './model/documents.ts'
import type { ObjectShape, Shape } from './model/shape.ts'
import { join } from './tree.ts'

type JsonSchema = JSONSchema.JSONSchema

/**
 * Schema of one document of a patch for a Talos version: the main document, or any other kind of
 * document. Fields that a patch must not set are left out. `{$patch: delete}` is allowed in place
 * of any value: mappings have `$patch` among their keys, other values are an `anyOf` with
 * `Deletion`.
 */
export function patchSchema(talosVersion: string): JsonSchema {
  const { minor } = contractOf(talosVersion)
  const documents = [mainDocument, ...documentShapes.values()].filter(
    ({ kind, since }) =>
      !forbiddenDocuments.has(kind) && (since === undefined || isSince(talosVersion, since)),
  )
  const name = (kind: string) => (kind === '' ? 'MachineConfig' : kind)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `talos-1.${minor}-patch`,
    title: `Patch of a Talos 1.${minor} configuration`,
    oneOf: documents.map(({ kind }) => ({ $ref: `#/$defs/${name(kind)}` })),
    $defs: {
      Deletion: {
        description: 'Takes what stands here out of the configuration',
        type: 'object',
        properties: { $patch: deletion },
        required: ['$patch'],
        additionalProperties: false,
      },
      ...Object.fromEntries(
        documents.map(({ kind, about, shape }) => {
          const schema = objectSchema(shape, '', talosVersion, forbiddenIn(kind))
          if (kind === '') schema.properties!['version'] = { const: 'v1alpha1' }
          else {
            Object.assign(schema.properties!, {
              apiVersion: { const: 'v1alpha1' },
              kind: { const: kind },
            })
            schema.required = ['apiVersion', 'kind', ...('name' in shape.fields ? ['name'] : [])]
          }
          return [name(kind), { title: name(kind), description: about, ...schema }]
        }),
      ),
    },
  }
}

const deletion: JsonSchema = { const: 'delete', description: 'Takes this out of the configuration' }

/**
 * Allows a deletion in place of the value; the value's description stays at the top. Names of
 * documents and free-form values are returned unchanged.
 */
function deletable(schema: JsonSchema): JsonSchema {
  if (schema.type === undefined && schema.anyOf === undefined) return schema
  if (schema.type === 'object') return schema
  const { description, anyOf, ...rest } = schema
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: [...(anyOf ?? [rest]), { $ref: '#/$defs/Deletion' }],
  }
}

function objectSchema(
  shape: ObjectShape,
  path: string,
  talosVersion: string,
  forbidden: ReadonlyMap<string, string>,
): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  for (const [key, field] of Object.entries(shape.fields)) {
    const here = join(path, key)
    if (forbidden.has(here) || (field.since !== undefined && !isSince(talosVersion, field.since)))
      continue
    const moved = has(talosVersion, 'kubernetesDocuments') ? documentFieldOf(here) : undefined
    const about = [field.about, moved && `New configurations have it in ${moved}`]
      .filter(Boolean)
      .join('. ')
    properties[key] = deletable(
      schemaOf(about === '' ? field : { ...field, about }, here, talosVersion, forbidden),
    )
  }
  return {
    type: 'object',
    properties: { ...properties, $patch: deletion },
    additionalProperties: false,
  }
}

function schemaOf(
  shape: Shape,
  path: string,
  talosVersion: string,
  forbidden: ReadonlyMap<string, string>,
): JsonSchema {
  const told: JsonSchema = shape.about === undefined ? {} : { description: shape.about }
  switch (shape.is) {
    case 'text':
      return {
        ...told,
        type: 'string',
        ...(shape.values === undefined
          ? {}
          : {
              enum: shape.values.filter((value) => {
                const first = shape.valuesSince?.[value]
                return first === undefined || isSince(talosVersion, first)
              }),
            }),
      }
    case 'integer':
      return {
        ...told,
        type: 'integer',
        ...(shape.min === undefined ? {} : { minimum: shape.min }),
        ...(shape.max === undefined ? {} : { maximum: shape.max }),
      }
    case 'flag':
      return { ...told, type: 'boolean' }
    case 'free':
      return told
    case 'port':
      return {
        ...told,
        anyOf: [
          { type: 'integer', minimum: 0, maximum: 65_535 },
          { type: 'string', pattern: '^\\d{1,5}-\\d{1,5}$' },
        ],
      }
    case 'argument':
      return !has(talosVersion, 'listArguments')
        ? { ...told, type: 'string' }
        : { ...told, anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }
    case 'list':
      return { ...told, type: 'array', items: schemaOf(shape.of, path, talosVersion, forbidden) }
    case 'map':
      return {
        ...told,
        type: 'object',
        properties: { $patch: deletion },
        additionalProperties: deletable(schemaOf(shape.of, path, talosVersion, forbidden)),
      }
  }
  return { ...told, ...objectSchema(shape, path, talosVersion, forbidden) }
}
