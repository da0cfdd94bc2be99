import { hash } from 'node:crypto'
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { EventType, type State } from '#talos/proto/gen/cosi/state_pb.ts'
import {
  LabelTerm_Operation,
  type ResourceSchema,
  type LabelQuery,
} from '#talos/proto/gen/cosi/resource_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { isNamespace, KINDS } from '../resources/catalogue.ts'
import type { Kind } from '../resources/resource.ts'
import { PEER } from './peer.ts'

/**
 * A resource as the fields of its message. The message itself would be made for each of hundreds of
 * resources of a response.
 */
type Resource = MessageInitShape<typeof ResourceSchema>

interface Known {
  digest: string
  version: number
  created: number
  updated: number
}

/**
 * Versions of resources since the machine's boot. A resource gets a new version when its YAML
 * changes.
 */
const histories = new WeakMap<Machine, { bootId: string; known: Map<string, Known> }>()

const timestamp = (ms: number) => ({
  seconds: BigInt(Math.floor(ms / 1000)),
  nanos: (ms % 1000) * 1_000_000,
})

/** `id`: reads only this resource, because a kind may have many. */
const read = (machine: Machine, kind: Kind, id?: string): Resource[] => {
  let history = histories.get(machine)
  if (history?.bootId !== machine.bootId)
    histories.set(machine, (history = { bootId: machine.bootId, known: new Map() }))
  const now = machine.world.clock.now()
  const items = kind.list(machine)
  return (id === undefined ? items : items.filter((item) => item.id === id)).map((item) => {
    const yaml = item.yaml()
    const digest = hash('sha1', yaml, 'base64')
    const key = `${kind.type}/${item.id}`
    let known = history.known.get(key)
    if (!known) history.known.set(key, (known = { digest, version: 1, created: now, updated: now }))
    else if (known.digest !== digest)
      Object.assign(known, { digest, version: known.version + 1, updated: now })
    return {
      metadata: {
        namespace: kind.namespace,
        type: kind.type,
        id: item.id,
        version: String(item.version ?? known.version),
        owner: 'simulator',
        phase: 'running',
        created: timestamp(known.created),
        updated: timestamp(item.updatedAt ?? known.updated),
      },
      spec: { protoSpec: item.proto(), yamlSpec: yaml },
    }
  })
}

/**
 * The called machine and the kind of resource. Throws if the caller may not read the kind, like
 * Talos's access policy (Talos: internal/app/resources/access.go).
 */
const open = (
  context: HandlerContext,
  namespace: string,
  type: string,
): { machine: Machine; kind: Kind } => {
  const peer = context.values.get(PEER)!
  const kind = KINDS.get(type)
  if (!kind || kind.since > peer.machine.talosMinor)
    throw new ConnectError(`resource type "${type}" is not supported`, Code.PermissionDenied)
  if (!isNamespace(namespace))
    throw new ConnectError(`namespace "${namespace}" is not supported`, Code.PermissionDenied)
  if (kind.sensitive && !peer.roles.includes('os:admin'))
    throw new ConnectError('not authorized', Code.PermissionDenied)
  return { machine: peer.machine, kind }
}

const inNamespace = (kind: Kind, namespace: string, machine: Machine, id?: string): Resource[] =>
  kind.namespace === namespace ? read(machine, kind, id) : []

/**
 * Whether a resource matches one of the queries, or there are none. No simulated resource has
 * labels.
 */
const matches = (queries: readonly LabelQuery[]): boolean =>
  queries.length === 0 ||
  queries.some(({ terms }) =>
    terms.every(({ op, invert }) => (op === LabelTerm_Operation.NOT_EXISTS) !== invert),
  )

const selected = (
  resource: Resource,
  queries: readonly LabelQuery[],
  pattern: string | undefined,
): boolean =>
  matches(queries) && (!pattern || new RegExp(pattern).test(resource.metadata?.id ?? ''))

const tombstone = (kind: Kind, id: string): Resource => ({
  metadata: {
    namespace: kind.namespace,
    type: kind.type,
    id,
    version: 'undefined',
    phase: 'tearingDown',
  },
  spec: {},
})

type Change = { eventType: EventType; resource: Resource; old?: Resource }

/** The state service, which API clients can only read, as in Talos. */
export const cosiState: ServiceImpl<typeof State> = {
  get({ namespace, type, id }, context) {
    const { machine, kind } = open(context, namespace, type)
    const [resource] = inNamespace(kind, namespace, machine, id)
    if (!resource)
      throw new ConnectError(
        `resource ${type}(${namespace}/${id}@undefined) doesn't exist`,
        Code.NotFound,
      )
    return { resource }
  },

  async *list({ namespace, type, options }, context) {
    const { machine, kind } = open(context, namespace, type)
    for (const resource of inNamespace(kind, namespace, machine))
      if (selected(resource, options?.labelQuery ?? [], options?.idQuery?.regexp))
        yield { resource }
  },

  async *watch({ namespace, type, id, options, apiVersion }, context) {
    const { machine, kind } = open(context, namespace, type)
    const queries = options?.labelQuery ?? []
    if (id !== undefined && id !== '' && (options?.bootstrapContents || queries.length > 0))
      throw new ConnectError(
        'bootstrap contents and label queries are not supported for a single resource',
        Code.Unimplemented,
      )
    if (options?.startFromBookmark)
      throw new ConnectError('invalid bookmark', Code.FailedPrecondition)
    const single = id || undefined
    const look = (): Map<string, Resource> =>
      new Map(
        inNamespace(kind, namespace, machine, single)
          .filter(
            (resource) =>
              single !== undefined || selected(resource, queries, options?.idQuery?.regexp),
          )
          .map((resource) => [resource.metadata?.id ?? '', resource]),
      )
    // The empty first response confirms the watch.
    yield { event: [] }
    const { signal } = context
    const bootId = machine.bootId
    let seen = look()
    const first: Change[] = []
    if (single !== undefined) {
      const resource = seen.get(single)
      first.push(
        resource
          ? { eventType: EventType.CREATED, resource }
          : { eventType: EventType.DESTROYED, resource: tombstone(kind, single) },
      )
    } else if (options?.bootstrapContents) {
      for (const resource of seen.values()) first.push({ eventType: EventType.CREATED, resource })
      if (apiVersion >= 1)
        first.push({ eventType: EventType.BOOTSTRAPPED, resource: tombstone(kind, '') })
    }
    yield* messages(first, options?.aggregated === true)
    while (!signal.aborted && machine.bootId === bootId) {
      await machine.journal.next(signal)
      const now = look()
      yield* messages(changes(seen, now, kind), options?.aggregated === true)
      seen = now
    }
  },
}

function* messages(events: Change[], aggregated: boolean): Iterable<{ event: Change[] }> {
  if (aggregated && events.length > 0) yield { event: events }
  else for (const event of events) yield { event: [event] }
}

const changes = (
  before: Map<string, Resource>,
  after: Map<string, Resource>,
  kind: Kind,
): Change[] => {
  const found: Change[] = []
  for (const [id, resource] of after) {
    const old = before.get(id)
    if (!old) found.push({ eventType: EventType.CREATED, resource })
    else if (old.metadata?.version !== resource.metadata?.version)
      found.push({ eventType: EventType.UPDATED, resource, old })
  }
  for (const [id] of before)
    if (!after.has(id))
      found.push({ eventType: EventType.DESTROYED, resource: tombstone(kind, id) })
  return found
}
