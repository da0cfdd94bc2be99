/** Resources of a machine and their changes (the COSI state service). */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Resource as ResourceMessage } from '../proto/gen/cosi/resource_pb.ts'
import {
  EventType,
  GetResponseSchema,
  ListResponseSchema,
  State,
} from '../proto/gen/cosi/state_pb.ts'
import {
  each,
  maxItems,
  maxListBytes,
  maxScanned,
  type CallContext,
  type CallOptions,
  stream,
  unaryBytes,
} from './calls.ts'
import { TalosError } from './errors.ts'
import { decoded } from './decode.ts'
import type { ResourceKind } from './resources.ts'
import { messageText, text } from './text.ts'

export interface Resource<Spec> {
  id: string
  spec: Spec
  /** Version of the resource, which a change of its specification increases. */
  version: string
  /** When it was last changed, on the machine's clock; undefined if the machine doesn't say so. */
  updatedAt: Date | undefined
}

export interface WatchEvent<Spec> {
  /** `bootstrapped`: all resources that existed at the start of the watch have been sent. */
  type: 'created' | 'updated' | 'destroyed' | 'bootstrapped'
  /** Undefined if `type` is `bootstrapped`, or if the watched id doesn't exist. */
  resource: Resource<Spec> | undefined
}

export function stateCalls(connection: CallContext) {
  return {
    /** One resource, or undefined if it doesn't exist. */
    async get<Desc extends DescMessage>(
      kind: ResourceKind<Desc>,
      id: string,
      options: CallOptions = {},
    ): Promise<Resource<MessageShape<Desc>> | undefined> {
      try {
        const bytes = await unaryBytes(connection, options, State.method.get, {
          namespace: kind.namespace,
          type: kind.type,
          id,
        })
        return resourceOf(kind, messageIn(kind, GetResponseSchema, bytes))
      } catch (error) {
        if (error instanceof TalosError && error.kind === 'not_found') return undefined
        throw error
      }
    },

    /**
     * All resources of a kind, or those that `keep` accepts; at most 1,024, with at most 1 MiB in
     * all. `truncated`: there were more. Resources that aren't kept don't count towards the limits.
     * Otherwise thousands of pods' links could crowd out hardware links, because a server lists
     * resources by name.
     */
    async list<Desc extends DescMessage>(
      kind: ResourceKind<Desc>,
      options: CallOptions & { keep?: (resource: Resource<MessageShape<Desc>>) => boolean } = {},
    ): Promise<{ items: Resource<MessageShape<Desc>>[]; truncated: boolean }> {
      const items: Resource<MessageShape<Desc>>[] = []
      let total = 0
      let scanned = 0
      let truncated = false
      const request = { namespace: kind.namespace, type: kind.type }
      await each(connection, options, State.method.list, request, (answer) => {
        const message = messageIn(kind, ListResponseSchema, answer)
        const bytes = (message?.spec?.protoSpec.length ?? 0) + (message?.spec?.yamlSpec.length ?? 0)
        // Stop reading at the limits.
        truncated =
          ++scanned > maxScanned ||
          bytes > maxListBytes ||
          (options.keep === undefined &&
            (items.length === maxItems || total + bytes > maxListBytes))
        if (truncated) return false
        const read = resourceOf(kind, message)
        if (options.keep?.(read) === false) return true
        total += bytes
        truncated = items.length === maxItems || total > maxListBytes
        if (!truncated) items.push(read)
        return !truncated
      })
      return { items, truncated }
    },

    /**
     * The current state, then every change. With `id` the first event is the resource (`destroyed`
     * if missing); without, all resources as `created`, then `bootstrapped`. Ends only with the
     * connection or an error.
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
      for await (const { event: events } of stream(
        connection,
        options,
        bounds,
        State.method.watch,
        request,
      )) {
        for (const event of events) {
          const exists =
            event.resource?.spec !== undefined &&
            event.resource.spec.protoSpec.length + event.resource.spec.yamlSpec.length > 0
          switch (event.eventType) {
            case EventType.CREATED:
            case EventType.UPDATED:
              yield {
                type: event.eventType === EventType.CREATED ? 'created' : 'updated',
                resource: resourceOf(kind, event.resource),
              }
              break
            case EventType.DESTROYED:
              yield {
                type: 'destroyed',
                resource: exists ? resourceOf(kind, event.resource) : undefined,
              }
              break
            case EventType.BOOTSTRAPPED:
              yield { type: 'bootstrapped', resource: undefined }
              break
            case EventType.ERRORED:
              throw new TalosError(
                'unavailable',
                `the watch ended: ${messageText(event.error ?? '')}`,
              )
          }
        }
      }
    },
  }
}

const invalid = (kind: ResourceKind, cause?: unknown) =>
  new TalosError('invalid_data', `server sent invalid data (${kind.type})`, { cause })

/** The resource of a response, which need not be there. */
function messageIn(
  kind: ResourceKind,
  schema: typeof GetResponseSchema | typeof ListResponseSchema,
  bytes: Buffer,
): ResourceMessage | undefined {
  try {
    return decoded<typeof GetResponseSchema | typeof ListResponseSchema>(schema, bytes).resource
  } catch (error) {
    throw invalid(kind, error)
  }
}

/**
 * A resource with its specification as a message. Throws TalosError if the server left out a part
 * of it, or sent another kind.
 */
function resourceOf<Desc extends DescMessage>(
  kind: ResourceKind<Desc>,
  message: ResourceMessage | undefined,
): Resource<MessageShape<Desc>> {
  const { metadata, spec } = message ?? {}
  if (
    metadata === undefined ||
    spec === undefined ||
    (metadata.type !== '' && metadata.type !== kind.type)
  )
    throw invalid(kind)
  try {
    return {
      id: text(metadata.id),
      spec: decoded(kind.spec, spec.protoSpec),
      version: text(metadata.version),
      updatedAt: metadata.updated === undefined ? undefined : timestampDate(metadata.updated),
    }
  } catch (error) {
    throw invalid(kind, error)
  }
}
