/** Resources of a machine and their changes (the COSI state service). */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import type { Resource as WatchedResource } from '../proto/gen/cosi/resource_pb.ts'
import { EventType, State } from '../proto/gen/cosi/state_pb.ts'
import { each, maxItems, maxListBytes, maxScanned, type CallContext, type CallOptions, stream, unaryBytes } from './calls.ts'
import { TalosError } from './errors.ts'
import { type ResourceMessage, resourceMessage } from './resource-message.ts'
import type { ResourceKind } from './resources.ts'
import { type ShortAnswer, type ShortCall, shortCall } from './short/exchange.ts'
import { messageText, text } from './text.ts'

export interface Resource<Spec> {
  id: string
  spec: Spec
}

export interface WatchEvent<Spec> {
  /** `bootstrapped`: all resources that existed at the start of the watch have been sent. */
  type: 'created' | 'updated' | 'destroyed' | 'bootstrapped'
  /** Undefined if `type` is `bootstrapped`, or if the watched id doesn't exist. */
  resource: Resource<Spec> | undefined
}

/** Options of a call for resources. `seen` gets the bytes of each answer before they are decoded. */
export interface ReadOptions extends CallOptions {
  seen?: ((kind: ResourceKind, bytes: Buffer) => void) | undefined
}

/** A read of a resource, or of all of a kind, as a short call. */
export interface ShortRead extends ShortCall {
  readonly kind: ResourceKind
  readonly id: string | undefined
}

export const shortGet = (kind: ResourceKind, id: string): ShortRead => ({
  kind,
  id,
  ...shortCall(State.method.get, { namespace: kind.namespace, type: kind.type, id }),
})
export const shortList = (kind: ResourceKind): ShortRead => ({
  kind,
  id: undefined,
  ...shortCall(State.method.list, { namespace: kind.namespace, type: kind.type }),
})
/** Decodes the message of an answer. Throws TalosError. */
export const resourceIn = <Desc extends DescMessage>(kind: ResourceKind<Desc>, bytes: Buffer): Resource<MessageShape<Desc>> =>
  specified(kind, messageIn(kind, bytes))

/** What reads resources: a client, or the answers to short calls. */
export type ResourceReader = Pick<ReturnType<typeof stateCalls>, 'get' | 'list'>

/** Reads from answers that have arrived. Throws TalosError as a client does, and an Error for a read that isn't among `reads`. */
export function answeredReads(reads: readonly ShortRead[], answers: readonly ShortAnswer[]): ResourceReader {
  const answerTo = (kind: ResourceKind, id: string | undefined): ShortAnswer => {
    const answer = answers[reads.findIndex((read) => read.kind === kind && read.id === id)]
    if (answer === undefined) throw new Error(`${kind.type} ${id ?? ''} was not read`)
    return answer
  }
  return {
    async get(kind, id, { seen } = {}) {
      const answer = answerTo(kind, id)
      if (answer === null) return undefined
      const [bytes] = answer
      if (bytes === undefined || answer.length > 1) throw new TalosError('invalid_data', `server sent invalid data (${answer.length} messages)`)
      seen?.(kind, bytes)
      return resourceIn(kind, bytes)
    },
    async list(kind, options = {}) {
      const collected = collector(kind, options)
      const answer = answerTo(kind, undefined)
      if (answer === null) throw new TalosError('not_found', `no ${kind.type}`)
      for (const bytes of answer) if (!collected.add(bytes)) break
      return collected.result()
    },
  }
}

interface ListOptions<Desc extends DescMessage> extends ReadOptions {
  keep?: (resource: Resource<MessageShape<Desc>>) => boolean
}

/** Collects the resources of a list within the limits. `add` returns false if no more is wanted. */
function collector<Desc extends DescMessage>(kind: ResourceKind<Desc>, { seen, keep }: ListOptions<Desc>) {
  const items: Resource<MessageShape<Desc>>[] = []
  let total = 0
  let scanned = 0
  let truncated = false
  return {
    add: (answer: Buffer): boolean => {
      seen?.(kind, answer)
      const message = messageIn(kind, answer)
      const { bytes } = message
      // Stop reading at the limits.
      truncated = ++scanned > maxScanned || bytes > maxListBytes || (keep === undefined && (items.length === maxItems || total + bytes > maxListBytes))
      if (truncated) return false
      const read = specified(kind, message)
      if (keep?.(read) === false) return true
      total += bytes
      truncated = items.length === maxItems || total > maxListBytes
      if (!truncated) items.push(read)
      return !truncated
    },
    result: () => ({ items, truncated }),
  }
}

export function stateCalls(connection: CallContext) {
  return {
    /** One resource, or undefined if it doesn't exist. */
    async get<Desc extends DescMessage>(kind: ResourceKind<Desc>, id: string, options: ReadOptions = {}): Promise<Resource<MessageShape<Desc>> | undefined> {
      try {
        const bytes = await unaryBytes(connection, options, State.method.get, { namespace: kind.namespace, type: kind.type, id })
        options.seen?.(kind, bytes)
        return resourceIn(kind, bytes)
      } catch (error) {
        if (error instanceof TalosError && error.kind === 'not_found') return undefined
        throw error
      }
    },

    /**
     * All resources of a kind, or those that `keep` accepts; at most 1,024, with at most 1 MiB in all. `truncated`: there were more. Resources that aren't kept
     * don't count towards the limits. Otherwise thousands of pods' links could crowd out hardware links, because a server lists resources by name.
     */
    async list<Desc extends DescMessage>(
      kind: ResourceKind<Desc>,
      options: ListOptions<Desc> = {},
    ): Promise<{ items: Resource<MessageShape<Desc>>[]; truncated: boolean }> {
      const collected = collector(kind, options)
      await each(connection, options, State.method.list, { namespace: kind.namespace, type: kind.type }, collected.add)
      return collected.result()
    },

    /**
     * The current state, then every change. With `id` the first event is the resource (`destroyed` if missing); without,
     * all resources as `created`, then `bootstrapped`. Ends only with the connection or an error.
     */
    async *watch<Desc extends DescMessage>(
      kind: ResourceKind<Desc>,
      how: { id?: string } = {},
      options: CallOptions = {},
    ): AsyncGenerator<WatchEvent<MessageShape<Desc>>, void, undefined> {
      const request = {
        namespace: kind.namespace,
        type: kind.type,
        ...(how.id === undefined ? { options: { bootstrapContents: true } } : { id: how.id }),
        // With 0 the server omits errors and the `bootstrapped` event.
        apiVersion: 1,
      }
      const bounds = { firstWithinMs: options.deadlineMs ?? connection.deadlineMs }
      for await (const { event: events } of stream(connection, options, bounds, State.method.watch, request)) {
        for (const event of events) {
          const exists = event.resource?.spec !== undefined && event.resource.spec.protoSpec.length + event.resource.spec.yamlSpec.length > 0
          switch (event.eventType) {
            case EventType.CREATED:
            case EventType.UPDATED:
              if (event.resource === undefined) throw invalid(kind)
              yield { type: event.eventType === EventType.CREATED ? 'created' : 'updated', resource: watched(kind, event.resource) }
              break
            case EventType.DESTROYED:
              yield { type: 'destroyed', resource: exists ? watched(kind, event.resource!) : undefined }
              break
            case EventType.BOOTSTRAPPED:
              yield { type: 'bootstrapped', resource: undefined }
              break
            case EventType.ERRORED:
              throw new TalosError('unavailable', `the watch ended: ${messageText(event.error ?? '')}`)
          }
        }
      }
    },
  }
}

const invalid = (kind: ResourceKind, cause?: unknown) => new TalosError('invalid_data', `server sent invalid data (${kind.type})`, { cause })

/** The resource of a response. */
function messageIn(kind: ResourceKind, bytes: Buffer): ResourceMessage {
  let message: ResourceMessage | undefined
  try {
    message = resourceMessage(bytes)
  } catch (error) {
    throw invalid(kind, error)
  }
  if (message === undefined) throw invalid(kind)
  return message
}

/** A resource with its specification as a message. */
function specified<Desc extends DescMessage>(kind: ResourceKind<Desc>, { type, id, spec }: Omit<ResourceMessage, 'bytes'>): Resource<MessageShape<Desc>> {
  if (type !== '' && type !== kind.type) throw invalid(kind)
  try {
    return { id: text(id), spec: fromBinary(kind.spec, spec, { readUnknownFields: false }) }
  } catch (error) {
    throw invalid(kind, error)
  }
}

/** The resource of an event of a watch. */
function watched<Desc extends DescMessage>(kind: ResourceKind<Desc>, { metadata, spec }: WatchedResource): Resource<MessageShape<Desc>> {
  if (metadata === undefined || spec === undefined) throw invalid(kind)
  return specified(kind, { type: metadata.type, id: metadata.id, spec: spec.protoSpec })
}
