import type { FastifyInstance } from 'fastify'
import { eventStream } from '#contract/events.ts'
import { serveStream, signedIn } from '../../http/serve.ts'
import type { Events } from './events.ts'

export function eventRoutes(app: FastifyInstance, events: Events): void {
  serveStream(app)(eventStream, ({ caller, lastEventId, signal }) => events.stream(signedIn(caller), lastEventId, signal))
}
