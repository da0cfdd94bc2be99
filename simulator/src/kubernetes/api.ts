import { parse } from 'yaml'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { type Body, isObject, object, text } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'
import { about } from './discovery.ts'
import { authorize, type User, review, reviewAt } from './access.ts'
import { patched } from './changing/patch.ts'
import { settle } from './defaults.ts'
import { keysOf } from './encryption.ts'
import { apiVersionOf, BUILT_IN } from './kinds.ts'
import { observeNodes, presentNode } from './nodes.ts'
import { Objects } from './objects.ts'
import type { Target } from './kinds.ts'
import { columnsOf, formOf, listMetadata, metadataOf, tableOf } from './printing.ts'
import { type Source, withReported } from './reading/reported.ts'
import { pageOf } from './reading/selectors.ts'
import { PROTOBUF, readProtobuf } from './reading/protobuf.ts'
import { deletePod, evict } from './workloads/budgets.ts'
import { PODS } from './workloads/pods.ts'
import { badRequest, conflict, Refusal, notFound } from './refusal.ts'
import { watch, type Watch } from './watch.ts'

export interface Request {
  method: string
  url: URL
  contentType: string
  accept: string
  body: Buffer
}

export type Answer =
  | { status: number; json: unknown }
  | { status: number; plain: string }
  | { watch: Watch }

const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

const notAllowed = (): Refusal =>
  new Refusal(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
  )

/** Answers a call of the Kubernetes API. Throws a `Refusal` for every failure. */
export const answer = (
  machine: Machine,
  cluster: EtcdCluster,
  user: User,
  request: Request,
): Answer => {
  const { method } = request
  const { pathname, searchParams: query } = request.url
  const objects = new Objects(cluster, machine.world.clock.now, keysOf(machine))
  const kindOfReview = reviewAt(pathname)
  if (kindOfReview !== null) {
    if (method !== 'POST') throw notAllowed()
    return { status: 201, json: review(objects, user, kindOfReview, read(request)) }
  }
  const plain = about(machine, cluster, objects, pathname)
  if (plain) {
    authorize(objects, user, {
      verb: 'get',
      group: '',
      resource: '',
      namespace: '',
      path: pathname,
    })
    if (method !== 'GET') throw notAllowed()
    return { status: 200, ...plain }
  }
  const place = locate(objects, pathname)
  const isWatch = method === 'GET' && /^(true|1)$/.test(query.get('watch') ?? '')
  authorize(objects, user, {
    verb: isWatch ? 'watch' : verbOf(method, place.name),
    group: place.kind.group,
    resource: place.sub === '' ? place.kind.plural : `${place.kind.plural}/${place.sub}`,
    namespace: place.namespace,
    path: pathname,
  })
  if (!cluster.hasQuorum) throw new Refusal(500, 'InternalError', 'etcdserver: no leader')
  const refusal = cluster.refusal(method === 'POST' || method === 'PUT' || method === 'PATCH')
  if (refusal !== null) throw new Refusal(500, 'InternalError', refusal)
  settle(objects, cluster, machine)
  const isNode = place.kind.plural === 'nodes' && place.kind.group === ''
  const observe = isNode ? () => observeNodes(machine.world, cluster, objects) : null
  observe?.()
  // All versions of a kind share the same objects.
  const shown = (body: Body): Body => ({
    ...(isNode ? presentNode(machine.world, body) : body),
    apiVersion: apiVersionOf(place.kind),
  })
  const source = withReported(objects, machine.world, place.kind)
  const forms = formsOf(machine, objects, source, place, request, shown)
  if (isWatch) return { watch: watch(cluster, source, place, query, forms.event(), observe) }
  if (place.name === '') {
    if (method === 'GET') return { status: 200, json: forms.list() }
    if (method === 'DELETE') return { status: 200, json: removedAll(objects, place, query) }
    if (method !== 'POST') throw notAllowed()
  }
  const manager = query.get('fieldManager') ?? ''
  const dryRun = query.get('dryRun') === 'All'
  const status = { created: 201, ok: 200 }
  if (place.sub === 'eviction') {
    if (method !== 'POST') throw notAllowed()
    const { deleteOptions } = request.body.length === 0 ? {} : read(request)
    demandPreconditions(objects, place, deleteOptions)
    evict(objects, place, machine.world.clock.now(), dryRun)
    return { status: status.created, json: SUCCESS }
  }
  if (method === 'GET') return { status: status.ok, json: forms.one(source.get(place)) }
  if (place.sub !== '') throw notAllowed()
  if (method === 'POST' && place.name === '')
    return {
      status: status.created,
      json: forms.one(
        objects.create(place.kind, place.namespace, read(request), manager || 'unknown', dryRun),
      ),
    }
  if (method === 'PUT')
    return {
      status: status.ok,
      json: forms.one(objects.replace(place, read(request), manager || 'unknown', dryRun)),
    }
  if (method === 'DELETE')
    return {
      status: status.ok,
      json: removed(objects, place, request, machine.world.clock.now(), dryRun),
    }
  if (method !== 'PATCH') throw notAllowed()
  const { body, isNew } = patch(objects, place, request, manager, dryRun)
  return { status: isNew ? status.created : status.ok, json: forms.one(body) }
}

const verbOf = (method: string, name: string): string => {
  if (method === 'GET') return name === '' ? 'list' : 'get'
  if (method === 'DELETE') return name === '' ? 'deletecollection' : 'delete'
  return method === 'POST' ? 'create' : method === 'PUT' ? 'update' : 'patch'
}

/** Formats a response in the form that the caller accepts. */
const formsOf = (
  machine: Machine,
  objects: Objects,
  source: Source,
  place: Place,
  request: Request,
  shown: (body: Body) => Body,
) => {
  const { searchParams: query } = request.url
  const form = formOf(request.accept)
  const columns =
    form === 'table'
      ? columnsOf(place.kind, objects.definitionOf(place.kind), place.kind.version)
      : []
  const table = (bodies: readonly Body[], metadata: Body, withHeaders = true): object =>
    tableOf(columns, bodies, metadata, {
      include: query.get('includeObject') ?? 'Metadata',
      now: machine.world.clock.now(),
      withHeaders,
    })
  const one = (stored: Body, withHeaders = true): object => {
    const body = shown(stored)
    return form === 'table'
      ? table([body], listMetadata(body), withHeaders)
      : form === 'metadata'
        ? metadataOf(body)
        : body
  }
  return {
    one: (body: Body) => one(body),
    list: (): object => {
      const { metadata, items } = pageOf(source, place, query)
      const bodies = items.map(shown)
      if (form === 'table') return table(bodies, metadata)
      if (form === 'metadata')
        return {
          kind: 'PartialObjectMetadataList',
          apiVersion: 'meta.k8s.io/v1',
          metadata,
          items: bodies.map(metadataOf),
        }
      return {
        kind: `${place.kind.kind}List`,
        apiVersion: apiVersionOf(place.kind),
        metadata,
        items: bodies,
      }
    },
    /**
     * Creates a formatter for the events of one watch. Only the first table of a watch has headers.
     */
    event: () => {
      let isFirst = true
      return (body: Body): object => {
        const made = one(body, isFirst)
        isFirst = false
        return made
      }
    },
  }
}

const read = (request: Request): Body => {
  const value = readAny(request)
  if (!isObject(value)) throw badRequest('the body is no object')
  return value
}

const readAny = ({ contentType, body }: Pick<Request, 'contentType' | 'body'>): unknown => {
  if (contentType.startsWith(PROTOBUF)) return readProtobuf(body)
  try {
    const content = body.toString('utf8')
    return contentType.includes('yaml')
      ? parse(content, { maxAliasCount: 100 })
      : JSON.parse(content)
  } catch {
    throw badRequest(`the body can't be read as ${contentType || 'JSON'}`)
  }
}

/** Throws if the object isn't the one that the options of a deletion name (meta/v1 Preconditions). */
const demandPreconditions = (objects: Objects, place: Place, options: unknown): void => {
  const metadata = object(objects.get(place).metadata)
  for (const [field, wanted] of Object.entries(object(object(options).preconditions)))
    if ((field === 'uid' || field === 'resourceVersion') && wanted !== metadata[field])
      throw conflict(
        `Operation cannot be fulfilled on ${place.kind.plural} "${place.name}": the ${field} in the precondition (${text(wanted)}) is another`,
      )
}

const removed = (
  objects: Objects,
  place: Place,
  request: Request,
  now: number,
  dryRun: boolean,
): object => {
  const metadata = object(objects.get(place).metadata)
  const options = request.body.length === 0 ? {} : read(request)
  demandPreconditions(objects, place, options)
  if (place.kind === PODS && !dryRun) return deletePod(objects, place, options, now)
  objects.remove(place, dryRun)
  return {
    ...SUCCESS,
    details: {
      name: place.name,
      group: place.kind.group,
      kind: place.kind.plural,
      uid: metadata.uid,
    },
  }
}

const removedAll = (objects: Objects, place: Place, query: URLSearchParams): object => {
  const { items, metadata } = pageOf(objects, place, query)
  objects.together(() => {
    for (const body of items) {
      const { namespace, name } = object(body.metadata)
      objects.remove(
        { kind: place.kind, namespace: text(namespace), name: text(name) },
        query.get('dryRun') === 'All',
      )
    }
  })
  return { kind: `${place.kind.kind}List`, apiVersion: apiVersionOf(place.kind), metadata, items }
}

const patch = (
  objects: Objects,
  place: Place,
  request: Request,
  manager: string,
  dryRun: boolean,
): { body: Body; isNew: boolean } => {
  const [type = ''] = request.contentType.split(';')
  if (type === 'application/apply-patch+yaml') {
    if (manager === '')
      throw badRequest(
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      )
    const { body, created } = objects.apply(
      place,
      read(request),
      manager,
      request.url.searchParams.get('force') === 'true',
      dryRun,
    )
    return { body, isNew: created }
  }
  const isCustom = !BUILT_IN.some(({ group }) => group === place.kind.group)
  const next = patched(
    objects.get(place),
    type,
    readAny({ ...request, contentType: 'application/json' }),
    isCustom,
  )
  return { body: objects.replace(place, next, manager || 'unknown', dryRun), isNew: false }
}

interface Place extends Target {
  /** `status` or `eviction`; empty for the object itself. */
  sub: string
}

const absent = (): Refusal =>
  new Refusal(404, 'NotFound', 'the server could not find the requested resource')

/**
 * Parses a path of objects: all objects of a kind if the path has no name. Throws a `Refusal` for
 * an unknown kind or subresource.
 */
const locate = (objects: Objects, path: string): Place => {
  const parts = path.split('/').slice(1).map(decode)
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis') throw absent()
  const group = isCore ? '' : (parts[1] ?? '')
  const version = isCore ? parts[1] : parts[2]
  const rest = parts.slice(isCore ? 2 : 3)
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isInside ? (rest[1] ?? '') : ''
  const [plural = '', name = '', sub = '', ...more] = isInside ? rest.slice(2) : rest
  const kind = objects.kinds.find(
    (candidate) =>
      candidate.group === group && candidate.version === version && candidate.plural === plural,
  )
  if (!kind || more.length > 0) throw absent()
  const isKnown =
    sub === '' ||
    (sub === 'status' && kind.hasStatus) ||
    (sub === 'eviction' && kind.plural === 'pods' && kind.group === '')
  if (!isKnown) throw absent()
  if (kind.namespaced && namespace === '' && name !== '') throw notFound(plural, name)
  return { kind, namespace, name, sub }
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new Refusal(400, 'BadRequest', `the path is wrongly encoded: ${String(cause)}`)
  }
}
