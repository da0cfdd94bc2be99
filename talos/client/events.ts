import type { DescEnum, DescMessage, MessageShape } from '@bufbuild/protobuf'
import * as proto from '../proto/gen/machine/machine_pb.ts'
import { maxItems } from './calls.ts'
import { decoded } from './decode.ts'
import { TalosError } from './errors.ts'
import { messageText, text } from './text.ts'

/** The stages of a machine, as Talos names them. */
export type Stage =
  | 'unknown'
  | 'booting'
  | 'installing'
  | 'maintenance'
  | 'running'
  | 'rebooting'
  | 'shutting_down'
  | 'resetting'
  | 'upgrading'

export type UnmetCondition = { name: string; reason: string }

/**
 * An event of a machine. `id` grows with time; a later read can start after it (`tail_id`).
 * `actorId` is the call that caused the event; empty for events without a call. Names are those of
 * Talos in lower case.
 */
export type TalosEvent = { id: string; actorId: string } & (
  | { kind: 'machine_status'; stage: Stage; ready: boolean; unmet: UnmetCondition[] }
  | { kind: 'sequence'; sequence: string; action: 'noop' | 'start' | 'stop'; error: string }
  | { kind: 'phase'; phase: string; action: 'start' | 'stop' }
  | { kind: 'task'; task: string; action: 'start' | 'stop' }
  | {
      kind: 'service'
      service: string
      action: string
      message: string
      healthy: boolean | undefined
    }
  | { kind: 'config_error'; error: string }
  | { kind: 'address'; hostname: string; addresses: string[] }
  | { kind: 'other'; type: string }
)

/**
 * The stage with this number. The machine status resource and the status event use the same
 * numbers.
 */
export function stageOf(number: number): Stage {
  return enumWord(proto.MachineStatusEvent_MachineStageSchema, number, 'unknown') as Stage
}

/**
 * Parses an event; undefined for the empty event that opens the stream. Throws TalosError if the
 * event is malformed.
 */
export function readEvent(event: proto.Event): TalosEvent | undefined {
  const url = event.data?.typeUrl ?? ''
  if (url === '') return undefined
  // The protobuf library doesn't recognise the prefix of a type URL such as
  // `talos/runtime/machine.MachineStatusEvent`.
  const type = url.slice(url.lastIndexOf('/') + 1)
  const origin = { id: text(event.id), actorId: text(event.actorId) }
  const bytes = event.data?.value ?? new Uint8Array()
  const read = <Desc extends DescMessage>(schema: Desc): MessageShape<Desc> => {
    try {
      return decoded(schema, bytes)
    } catch (error) {
      throw new TalosError('invalid_data', `server sent invalid data (event ${text(type)})`, {
        cause: error,
      })
    }
  }
  switch (type) {
    case 'machine.MachineStatusEvent': {
      const { stage, status } = read(proto.MachineStatusEventSchema)
      return {
        ...origin,
        kind: 'machine_status',
        stage: stageOf(stage),
        ready: status?.ready ?? false,
        unmet: unmetOf(status?.unmetConditions ?? []),
      }
    }
    case 'machine.SequenceEvent': {
      const { sequence, action, error } = read(proto.SequenceEventSchema)
      return {
        ...origin,
        kind: 'sequence',
        sequence: text(sequence),
        action: enumWord(proto.SequenceEvent_ActionSchema, action, 'noop') as
          | 'noop'
          | 'start'
          | 'stop',
        error: messageText(error?.message ?? ''),
      }
    }
    case 'machine.PhaseEvent': {
      const { phase, action } = read(proto.PhaseEventSchema)
      return {
        ...origin,
        kind: 'phase',
        phase: text(phase),
        action: enumWord(proto.PhaseEvent_ActionSchema, action, String(action)) as 'start' | 'stop',
      }
    }
    case 'machine.TaskEvent': {
      const { task, action } = read(proto.TaskEventSchema)
      return {
        ...origin,
        kind: 'task',
        task: text(task),
        action: enumWord(proto.TaskEvent_ActionSchema, action, String(action)) as 'start' | 'stop',
      }
    }
    case 'machine.ServiceStateEvent': {
      const { service, action, message, health } = read(proto.ServiceStateEventSchema)
      const healthy = health === undefined || health.unknown ? undefined : health.healthy
      return {
        ...origin,
        kind: 'service',
        service: text(service),
        action: enumWord(proto.ServiceStateEvent_ActionSchema, action, String(action)),
        message: messageText(message),
        healthy,
      }
    }
    case 'machine.ConfigLoadErrorEvent':
      return {
        ...origin,
        kind: 'config_error',
        error: messageText(read(proto.ConfigLoadErrorEventSchema).error),
      }
    case 'machine.ConfigValidationErrorEvent':
      return {
        ...origin,
        kind: 'config_error',
        error: messageText(read(proto.ConfigValidationErrorEventSchema).error),
      }
    case 'machine.AddressEvent': {
      const { hostname, addresses } = read(proto.AddressEventSchema)
      return {
        ...origin,
        kind: 'address',
        hostname: text(hostname),
        addresses: addresses.slice(0, maxItems).map((a) => text(a)),
      }
    }
    default:
      return { ...origin, kind: 'other', type: text(type) }
  }
}

export function unmetOf(conditions: readonly UnmetCondition[]): UnmetCondition[] {
  return conditions.slice(0, maxItems).map((c) => ({ name: text(c.name), reason: text(c.reason) }))
}

/**
 * The name of an enum's value in lower case, without the prefix that all names of the enum share;
 * `unknown` for a value that isn't in the enum.
 */
export function enumWord(names: DescEnum, value: number, unknown: string): string {
  return names.value[value]?.localName.toLowerCase() ?? unknown
}
