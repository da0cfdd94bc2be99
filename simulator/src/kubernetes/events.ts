import { randomBytes } from 'node:crypto'
import { object, text } from '../config/shape.ts'
import { builtIn } from './kinds.ts'
import type { Objects } from './objects.ts'

const EVENTS = builtIn('events')
/** Kubernetes drops events after an hour (`--event-ttl`). This server also limits their number. */
const KEPT_MS = 3_600_000
const KEPT = 100

export interface NodeEvent {
  node: string
  component: string
  reason: string
  message: string
}

/** Stores events of nodes and drops old ones. */
export const recordEvents = (objects: Objects, now: number, events: readonly NodeEvent[]): void => {
  const known = objects.list(EVENTS, 'default').toSorted((one, other) => Date.parse(text(one.lastTimestamp)) - Date.parse(text(other.lastTimestamp)))
  known.forEach(({ lastTimestamp, metadata }, i) => {
    const isOld = now - Date.parse(text(lastTimestamp)) > KEPT_MS || i < known.length - KEPT
    if (isOld) objects.remove({ kind: EVENTS, namespace: 'default', name: text(object(metadata).name) })
  })
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  for (const { node, component, reason, message } of events)
    objects.create(
      EVENTS,
      'default',
      {
        metadata: { name: `${node}.${randomBytes(8).toString('hex')}` },
        involvedObject: { kind: 'Node', name: node, uid: node },
        reason,
        message,
        source: { component, host: node },
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
        type: 'Normal',
        reportingComponent: component,
        reportingInstance: node,
      },
      component,
    )
}
