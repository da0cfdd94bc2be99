import { isObject, list, object } from '../config/shape.ts'
import { groupVersions } from './discovery.ts'
import { apiVersionOf, type ResourceKind } from './kinds.ts'
import type { Objects } from './objects.ts'
import { Refusal } from './refusal.ts'

type Body = Record<string, unknown>

const UNDESCRIBED = 'This simulated API server does not describe the fields of this kind.'

/**
 * OpenAPI v3 of the kinds: enough for kubectl to use server-side field validation, and for `kubectl explain`. Only custom kinds have a schema, that of
 * their definition. Null for other paths; throws a `Refusal` for an unknown version and for OpenAPI v2.
 */
export const openApi = (objects: Objects, path: string): object | null => {
  if (!path.startsWith('/openapi/')) return null
  const { kinds } = objects
  const versions = groupVersions(kinds).map((version) => (version.includes('/') ? `apis/${version}` : `api/${version}`))
  if (path === '/openapi/v3') return { paths: Object.fromEntries(versions.map((version) => [version, { serverRelativeURL: `/openapi/v3/${version}` }])) }
  const version = path.slice('/openapi/v3/'.length)
  if (!path.startsWith('/openapi/v3/') || !versions.includes(version)) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource')
  const here = kinds.filter((kind) => `/${version}` === rootOf(kind))
  return {
    openapi: '3.0.0',
    info: { title: 'Simulated Kubernetes', version: 'unversioned' },
    paths: Object.assign({}, ...here.map(pathsOf)) as Body,
    components: { schemas: Object.fromEntries(here.map((kind) => [`simulated.${kind.kind}`, schemaOf(kind, objects.definitionOf(kind))])) },
  }
}

const rootOf = (kind: ResourceKind): string => `/${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`

const pathsOf = (kind: ResourceKind): Body => {
  const place = `${rootOf(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`
  const operation = (action: string, parameters: readonly string[]): Body => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind },
    parameters: parameters.map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: { $ref: `#/components/schemas/simulated.${kind.kind}` } } } } },
  })
  const writes = ['dryRun', 'fieldManager', 'fieldValidation']
  return {
    [place]: { get: operation('list', []), post: operation('post', writes) },
    [`${place}/{name}`]: { get: operation('get', []), put: operation('put', writes), patch: operation('patch', [...writes, 'force']) },
  }
}

const schemaOf = (kind: ResourceKind, definition: Body | undefined): Body => {
  const version = list(object(definition?.spec).versions)
    .map(object)
    .find(({ name }) => name === kind.version)
  const own = object(version?.schema).openAPIV3Schema
  const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    ...(isObject(own) ? own : { type: 'object', description: UNDESCRIBED }),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { ...any },
      ...(isObject(own) ? object(own.properties) : { spec: any, status: any }),
    },
    'x-kubernetes-group-version-kind': [{ group: kind.group, version: kind.version, kind: kind.kind }],
  }
}
