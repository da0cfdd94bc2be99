import type { FastifyInstance } from 'fastify'
import { overviewGet } from '#contract/overview.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { ReadOverview } from './overview.ts'

export function overviewRoutes(app: FastifyInstance, overview: ReadOverview): void {
  serve(app)(overviewGet, ({ caller }) => overview(signedIn(caller)))
}
