import { randomBytes } from 'node:crypto'
import { object, text } from '../config/shape.ts'
import { builtIn } from './kinds.ts'
import type { Objects } from './objects.ts'

const EVENTS = builtIn('events')
/** Kubernetes forgets an event after an hour (`--event-ttl`). */
const KEPT_MS = 3_600_000

export interface NodeEvent {
  node: string
  component: string
  reason: string
  message: string
}

/** Writes down what happened to nodes, and forgets what happened long ago. */
export const recordEvents = (objects: Objects, now: number, events: readonly NodeEvent[]): void => {
  for (const { lastTimestamp, metadata } of objects.list(EVENTS, 'default'))
    if (now - Date.parse(text(lastTimestamp)) > KEPT_MS) objects.remove({ kind: EVENTS, namespace: 'default', name: text(object(metadata).name) })
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
