import { apiVersionOf, type ResourceKind } from './kinds.ts'
import { Refusal } from './refusal.ts'
import { REVIEWS } from './access.ts'
import { apiServerVersionOf } from './nodes.ts'
import { type Body, isObject, list, object } from '../config/shape.ts'
import type { Objects } from './objects.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import type { Machine } from '../machine/machine.ts'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/**
 * Answers discovery calls; null for other paths. Throws a `Refusal` for an unknown group or
 * version.
 */
const discover = (kinds: readonly ResourceKind[], path: string): object | null => {
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] }
  const groups = [...new Set([...kinds, ...REVIEWS].map(({ group }) => group))].filter(
    (group) => group !== '',
  )
  if (path === '/apis')
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groups.map((name) => groupOf(kinds, name)),
    }
  const [, root, group = '', version, ...more] = path.split('/')
  if (root === 'apis' && version === undefined && group !== '') {
    if (!groups.includes(group)) throw absent()
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(kinds, group) }
  }
  if (root === 'api' && group === 'v1' && version === undefined) return resourcesOf(kinds, '', 'v1')
  if (root === 'apis' && version !== undefined && more.length === 0)
    return resourcesOf(kinds, group, version)
  return null
}

/** Every group and version, as `v1` or `apps/v1`. */
const groupVersions = (kinds: readonly ResourceKind[]): string[] => [
  ...new Set([...kinds, ...REVIEWS].map(apiVersionOf)),
]

const absent = (): Refusal =>
  new Refusal(404, 'NotFound', 'the server could not find the requested resource')

const groupOf = (kinds: readonly ResourceKind[], name: string): object => {
  const versions = [
    ...new Set(
      [...kinds, ...REVIEWS].filter(({ group }) => group === name).map(({ version }) => version),
    ),
  ]
    .toSorted(preferred)
    .map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions, preferredVersion: versions[0] }
}

/**
 * Stable versions before beta and alpha ones, higher numbers first (Kubernetes:
 * apimachinery/pkg/version).
 */
const preferred = (one: string, other: string): number => {
  const rank = (version: string): number[] => {
    const [, major = '0', kind = '', minor = '0'] =
      /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
    return [kind === '' ? 2 : kind === 'beta' ? 1 : 0, Number(major), Number(minor)]
  }
  const [a, b] = [rank(one), rank(other)]
  const at = a.findIndex((value, index) => value !== b[index])
  return at === -1 ? 0 : b[at]! - a[at]!
}

const resourcesOf = (kinds: readonly ResourceKind[], group: string, version: string): object => {
  const isHere = (kind: { group: string; version: string }): boolean =>
    kind.group === group && kind.version === version
  const resources = kinds
    .filter(isHere)
    .flatMap(({ plural, kind, namespaced, hasStatus, shortNames, categories }) => [
      {
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced,
        kind,
        verbs: VERBS,
        ...(shortNames.length > 0 && { shortNames }),
        ...(categories.length > 0 && { categories }),
      },
      ...(hasStatus
        ? [{ name: `${plural}/status`, singularName: '', namespaced, kind, verbs: ['get'] }]
        : []),
      ...(plural === 'pods' && group === ''
        ? [
            {
              name: 'pods/eviction',
              singularName: '',
              namespaced,
              kind: 'Eviction',
              group: 'policy',
              version: 'v1',
              verbs: ['create'],
            },
          ]
        : []),
    ])
  const reviews = REVIEWS.filter(isHere).map(({ plural, kind }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: false,
    kind,
    verbs: ['create'],
  }))
  if (resources.length + reviews.length === 0) throw absent()
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: [...resources, ...reviews],
  }
}

const UNDESCRIBED = 'This simulated API server does not describe the fields of this kind.'

/**
 * OpenAPI v3 of the kinds: enough for kubectl to use server-side field validation, and for `kubectl
 * explain`. Only custom kinds have a schema, that of their definition. Null for other paths; throws
 * a `Refusal` for an unknown version and for OpenAPI v2.
 */
const openApi = (objects: Objects, path: string): object | null => {
  if (!path.startsWith('/openapi/')) return null
  const { kinds } = objects
  const versions = groupVersions(kinds).map((version) =>
    version.includes('/') ? `apis/${version}` : `api/${version}`,
  )
  if (path === '/openapi/v3')
    return {
      paths: Object.fromEntries(
        versions.map((version) => [version, { serverRelativeURL: `/openapi/v3/${version}` }]),
      ),
    }
  const version = path.slice('/openapi/v3/'.length)
  if (!path.startsWith('/openapi/v3/') || !versions.includes(version))
    throw new Refusal(404, 'NotFound', 'the server could not find the requested resource')
  const here = kinds.filter((kind) => `/${version}` === rootOf(kind))
  return {
    openapi: '3.0.0',
    info: { title: 'Simulated Kubernetes', version: 'unversioned' },
    paths: Object.assign({}, ...here.map(pathsOf)) as Body,
    components: {
      schemas: Object.fromEntries(
        here.map((kind) => [`simulated.${kind.kind}`, schemaOf(kind, objects.definitionOf(kind))]),
      ),
    },
  }
}

const rootOf = (kind: ResourceKind): string =>
  `/${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`

const pathsOf = (kind: ResourceKind): Body => {
  const place = `${rootOf(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`
  const operation = (action: string, parameters: readonly string[]): Body => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': {
      group: kind.group,
      version: kind.version,
      kind: kind.kind,
    },
    parameters: parameters.map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    responses: {
      200: {
        description: 'OK',
        content: {
          'application/json': { schema: { $ref: `#/components/schemas/simulated.${kind.kind}` } },
        },
      },
    },
  })
  const writes = ['dryRun', 'fieldManager', 'fieldValidation']
  return {
    [place]: { get: operation('list', []), post: operation('post', writes) },
    [`${place}/{name}`]: {
      get: operation('get', []),
      put: operation('put', writes),
      patch: operation('patch', [...writes, 'force']),
    },
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
    'x-kubernetes-group-version-kind': [
      { group: kind.group, version: kind.version, kind: kind.kind },
    ],
  }
}

/** Answers calls about the API server: version, health and kinds. Null for paths of objects. */
export const about = (
  machine: Machine,
  cluster: EtcdCluster,
  objects: Objects,
  path: string,
): { json: object } | { plain: string } | null => {
  if (path === '/version') return { json: versionOf(machine) }
  if (path === '/metrics') return { plain: metricsOf(cluster) }
  if (path === '/livez') return { plain: 'ok' }
  if (path === '/readyz' || path === '/healthz') {
    if (!cluster.hasQuorum)
      throw new Refusal(500, 'InternalError', '[-]etcd failed: reason withheld')
    return { plain: 'ok' }
  }
  if (path === '/') return { json: { paths: rootPaths(objects) } }
  const found = openApi(objects, path) ?? discover(objects.kinds, path)
  return found && { json: found }
}

const rootPaths = (objects: Objects): string[] => {
  const versions = groupVersions(objects.kinds).map((version) =>
    version.includes('/') ? `/apis/${version}` : `/api/${version}`,
  )
  return ['/api', '/apis', ...versions, '/healthz', '/livez', '/openapi/v3', '/readyz', '/version']
}

const versionOf = (machine: Machine): object => {
  const version = apiServerVersionOf(machine)
  const [, major = '1', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? []
  return {
    major,
    minor,
    gitVersion: version,
    gitCommit: 'simulated',
    gitTreeState: 'clean',
    buildDate: '',
    goVersion: 'go1.26.0',
    compiler: 'gc',
    platform: 'linux/amd64',
  }
}

/**
 * The metric of the API server that names deprecated APIs in use (Kubernetes:
 * apiserver/pkg/endpoints/metrics). Other metrics aren't simulated.
 */
const metricsOf = ({ state }: EtcdCluster): string =>
  [
    '# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
    '# TYPE apiserver_requested_deprecated_apis gauge',
    ...(state.kubernetes.deprecatedApis ?? []).map(
      ({ group, version, resource, subresource, removed_release }) =>
        `apiserver_requested_deprecated_apis{group="${group}",removed_release="${removed_release}",resource="${resource}",subresource="${subresource}",version="${version}"} 1`,
    ),
    '',
  ].join('\n')
