/** Resources of a machine and their changes (the COSI state service). */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import type { Resource as ResourceMessage } from '../proto/gen/cosi/resource_pb.ts'
import { EventType, State } from '../proto/gen/cosi/state_pb.ts'
import { each, maxItems, maxListBytes, maxScanned, type CallContext, type CallOptions, stream, unary } from './calls.ts'
import { TalosError } from './errors.ts'
import type { ResourceKind } from './resources.ts'
import { messageText, text } from './text.ts'

export interface Resource<Spec> {
  id: string
  version: string
  phase: string
  spec: Spec
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
    async get<Desc extends DescMessage>(kind: ResourceKind<Desc>, id: string, options: CallOptions = {}): Promise<Resource<MessageShape<Desc>> | undefined> {
      try {
        const { resource } = await unary(connection, options, State.method.get, { namespace: kind.namespace, type: kind.type, id })
        if (resource === undefined) throw new TalosError('invalid_data', `server sent invalid data (${kind.type})`)
        return readResource(kind, resource)
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
      options: CallOptions & { keep?: (resource: Resource<MessageShape<Desc>>) => boolean } = {},
    ): Promise<{ items: Resource<MessageShape<Desc>>[]; truncated: boolean }> {
      const items: Resource<MessageShape<Desc>>[] = []
      let total = 0
      let scanned = 0
      let truncated = false
      const request = { namespace: kind.namespace, type: kind.type }
      await each(connection, options, State.method.list, request, ({ resource }) => {
        if (resource === undefined) throw new TalosError('invalid_data', `server sent invalid data (${kind.type})`)
        const bytes = (resource.spec?.protoSpec.length ?? 0) + (resource.spec?.yamlSpec.length ?? 0)
        // Stop reading at the limits.
        truncated =
          ++scanned > maxScanned || bytes > maxListBytes || (options.keep === undefined && (items.length === maxItems || total + bytes > maxListBytes))
        if (truncated) return false
        const read = readResource(kind, resource)
        if (options.keep?.(read) === false) return true
        total += bytes
        truncated = items.length === maxItems || total > maxListBytes
        if (!truncated) items.push(read)
        return !truncated
      })
      return { items, truncated }
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
              if (event.resource === undefined) throw new TalosError('invalid_data', `server sent invalid data (${kind.type})`)
              yield { type: event.eventType === EventType.CREATED ? 'created' : 'updated', resource: readResource(kind, event.resource) }
              break
            case EventType.DESTROYED:
              yield { type: 'destroyed', resource: exists ? readResource(kind, event.resource!) : undefined }
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

function readResource<Desc extends DescMessage>(kind: ResourceKind<Desc>, resource: ResourceMessage): Resource<MessageShape<Desc>> {
  const { metadata, spec } = resource
  if (metadata === undefined || spec === undefined || (metadata.type !== '' && metadata.type !== kind.type)) {
    throw new TalosError('invalid_data', `server sent invalid data (${kind.type})`)
  }
  try {
    return {
      id: text(metadata.id),
      version: text(metadata.version),
      phase: text(metadata.phase),
      spec: fromBinary(kind.spec, spec.protoSpec, { readUnknownFields: false }),
    }
  } catch (error) {
    throw new TalosError('invalid_data', `server sent invalid data (${kind.type})`, { cause: error })
  }
}
