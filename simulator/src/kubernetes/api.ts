import { parse } from 'yaml'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { isObject, object, text } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'
import { mergePatch } from './apply.ts'
import { authorize, type User } from './access.ts'
import { discover } from './discovery.ts'
import { apiVersionOf } from './kinds.ts'
import { listOf } from './listing.ts'
import { presentNode } from './nodes.ts'
import { Objects, type Target } from './objects.ts'
import { badRequest, notFound, Refusal } from './refusal.ts'

export interface Request {
  method: string
  url: URL
  contentType: string
  body: string
}

export interface Answer {
  status: number
  json?: unknown
  plain?: string
}

type Body = Record<string, unknown>

/** Answers one call to the Kubernetes API. Throws a `Refusal` for everything that isn't a success. */
export const answer = (machine: Machine, cluster: EtcdCluster, user: User, request: Request): Answer => {
  const { pathname, searchParams } = request.url
  const objects = new Objects(cluster, machine.world.clock.now)
  const plain = withoutResource(machine, cluster, objects, pathname)
  if (plain) {
    authorize(objects, user, { verb: 'get', group: '', resource: '', namespace: '', path: pathname })
    if (request.method !== 'GET') throw notAllowed()
    return plain
  }
  const place = locate(objects, pathname)
  authorize(objects, user, {
    verb: verbOf(request.method, place.name),
    group: place.kind.group,
    resource: place.kind.plural,
    namespace: place.namespace,
    path: pathname,
  })
  if (!cluster.hasQuorum) throw new Refusal(500, 'InternalError', 'etcdserver: no leader')
  const isNode = place.kind.plural === 'nodes' && place.kind.group === ''
  // Every version of a kind is served from the same objects.
  const shown = (body: Body): Body => ({ ...(isNode ? presentNode(machine.world, body) : body), apiVersion: apiVersionOf(place.kind) })
  const manager = searchParams.get('fieldManager') ?? ''
  const dryRun = searchParams.get('dryRun') === 'All'

  if (place.name === '') {
    if (request.method === 'GET') return { status: 200, json: listOf(objects, place, searchParams, shown) }
    if (request.method === 'POST') return { status: 201, json: shown(objects.create(place.kind, place.namespace, read(request), manager || 'unknown', dryRun)) }
    throw notAllowed()
  }
  if (request.method === 'GET') return { status: 200, json: shown(objects.get(place)) }
  if (request.method === 'PUT') return { status: 200, json: shown(objects.replace(place, read(request), manager || 'unknown', dryRun)) }
  if (request.method === 'DELETE') return { status: 200, json: removed(objects, place, dryRun) }
  if (request.method === 'PATCH') return patch(objects, place, request, manager, { force: searchParams.get('force') === 'true', dryRun }, shown)
  throw notAllowed()
}

const notAllowed = (): Refusal => new Refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')

const verbOf = (method: string, name: string): string =>
  method === 'GET' ? (name === '' ? 'list' : 'get') : method === 'POST' ? 'create' : method === 'PUT' ? 'update' : method === 'PATCH' ? 'patch' : 'delete'

const withoutResource = (machine: Machine, cluster: EtcdCluster, objects: Objects, path: string): Answer | null => {
  const version = machine.config?.node?.cluster.apiServerVersion ?? ''
  if (path === '/version') {
    const [, major = '1', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? []
    return {
      status: 200,
      json: {
        major,
        minor,
        gitVersion: version,
        gitCommit: 'simulated',
        gitTreeState: 'clean',
        buildDate: '',
        goVersion: 'go1.26.0',
        compiler: 'gc',
        platform: 'linux/amd64',
      },
    }
  }
  if (path === '/livez') return { status: 200, plain: 'ok' }
  if (path === '/readyz' || path === '/healthz') {
    if (!cluster.hasQuorum) throw new Refusal(500, 'InternalError', '[-]etcd failed: reason withheld')
    return { status: 200, plain: 'ok' }
  }
  const discovered = discover(objects.kinds, path)
  return discovered === null ? null : { status: 200, json: discovered }
}

/** Which objects a path means. */
const locate = (objects: Objects, path: string): Target => {
  const parts = path.split('/').slice(1).map(decode)
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis') throw new Refusal(404, 'NotFound', 'the server could not find the requested resource')
  const group = isCore ? '' : (parts[1] ?? '')
  const version = isCore ? parts[1] : parts[2]
  const rest = parts.slice(isCore ? 2 : 3)
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isInside ? (rest[1] ?? '') : ''
  const [plural = '', name = '', sub] = isInside ? rest.slice(2) : rest
  const kind = objects.kinds.find((candidate) => candidate.group === group && candidate.version === version && candidate.plural === plural)
  if (!kind || sub !== undefined) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource')
  if (kind.namespaced && namespace === '' && name !== '') throw notFound(plural, name)
  return { kind, namespace, name }
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new Refusal(400, 'BadRequest', `the path is wrongly encoded: ${String(cause)}`)
  }
}

const read = (request: Request): Body => {
  let value: unknown
  try {
    value = request.contentType.includes('yaml') ? parse(request.body, { maxAliasCount: 100 }) : JSON.parse(request.body)
  } catch (cause) {
    throw badRequest(`the body can't be read: ${cause instanceof Error ? cause.message.split('\n')[0] : String(cause)}`)
  }
  if (!isObject(value)) throw badRequest('the body is no object')
  return value
}

const removed = (objects: Objects, target: Target, dryRun: boolean): object => {
  const body = objects.remove(target, dryRun)
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: target.name, group: target.kind.group, kind: target.kind.plural, uid: text(object(body.metadata).uid) },
  }
}

const patch = (
  objects: Objects,
  target: Target,
  request: Request,
  manager: string,
  { force, dryRun }: { force: boolean; dryRun: boolean },
  shown: (body: Body) => Body,
): Answer => {
  const [type = ''] = request.contentType.split(';')
  if (type === 'application/apply-patch+yaml') {
    if (manager === '') throw badRequest('PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch')
    const { body, created } = objects.apply(target, read(request), manager, force, dryRun)
    return { status: created ? 201 : 200, json: shown(body) }
  }
  if (type === 'application/merge-patch+json' || type === 'application/strategic-merge-patch+json') {
    const merged = mergePatch(objects.get(target), read({ ...request, contentType: 'application/json' }))
    return { status: 200, json: shown(objects.replace(target, object(merged), manager || 'unknown', dryRun)) }
  }
  throw new Refusal(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml`,
  )
}
