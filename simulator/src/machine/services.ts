import {
  ServiceStateEventSchema,
  ServiceStateEvent_Action,
} from '#talos/proto/gen/machine/machine_pb.ts'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Journal } from './journal.ts'

export type ServiceState =
  | 'Initialized'
  | 'Preparing'
  | 'Waiting'
  | 'Starting'
  | 'Running'
  | 'Stopping'
  | 'Finished'
  | 'Failed'
  | 'Skipped'

export interface Service {
  id: string
  state: ServiceState
  /** Null: unknown, because the service has no health check or was not checked yet. */
  healthy: boolean | null
  lastMessage: string
  lastChange: number
  events: { message: string; state: ServiceState; at: number }[]
}

/**
 * Whether a service has no health check. Talos reports the health of such a service as unknown, and
 * takes it for up as soon as it runs (Talos: system/services/dashboard.go, extension.go).
 */
const isUnchecked = (id: string): boolean => id === 'dashboard' || id.startsWith('ext-')
/** Talos: system/events/events.go, MaxEventsToKeep. */
const MAX_EVENTS = 64

/** The services of one machine (Talos: internal/app/machined/pkg/system). */
export class Services {
  readonly #services = new Map<string, Service>()
  readonly #journal: Journal
  readonly #now: () => number

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal
    this.#now = now
  }

  get all(): Service[] {
    return [...this.#services.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  get(id: string): Service | undefined {
    return this.#services.get(id)
  }

  isRunning(id: string): boolean {
    return this.#services.get(id)?.state === 'Running'
  }

  /**
   * Whether a service is up for the boot sequence: running and, if it has a health check, healthy.
   */
  isUp(id: string): boolean {
    const service = this.#services.get(id)
    return service?.state === 'Running' && (isUnchecked(id) || service.healthy === true)
  }

  set(id: string, state: ServiceState, message: string, healthy: boolean | null = null): void {
    const at = this.#now()
    let service = this.#services.get(id)
    if (!service)
      this.#services.set(
        id,
        (service = { id, state, healthy: null, lastMessage: '', lastChange: at, events: [] }),
      )
    const health = state === 'Running' && !isUnchecked(id) ? healthy : null
    if (service.healthy !== health) service.lastChange = at
    service.state = state
    service.healthy = health
    service.lastMessage = ''
    service.events.push({ message, state, at })
    if (service.events.length > MAX_EVENTS) service.events.shift()
    this.#journal.log('machined', `service[${id}](${state}): ${message}`)
    if (id !== 'machined') this.#journal.log(id, message)
    this.#journal.event(ServiceStateEventSchema, {
      service: id,
      action: ServiceStateEvent_Action[state.toUpperCase() as Uppercase<ServiceState>],
      message,
      health: {
        unknown: health === null,
        healthy: health === true,
        lastMessage: '',
        lastChange: timestampFromMs(service.lastChange),
      },
    })
  }

  /** Starts a service without delay, for services with a negligible start time. */
  start(id: string): void {
    this.set(id, 'Starting', 'Starting service')
    this.set(id, 'Running', 'Health check successful', true)
  }

  /** Talos loads a service anew: its history begins again (Talos: system.go, Unload and Load). */
  reload(id: string): void {
    this.#services.delete(id)
  }

  clear(): void {
    this.#services.clear()
  }
}
