/** What the console needs to know before sign-in. */
import type { FastifyInstance } from 'fastify'
import { installationGet } from '#contract/users.ts'
import type { Config } from '../../config.ts'
import { serve } from '../../http/serve.ts'

export function installationRoutes(app: FastifyInstance, { config, version }: { config: Config; version: string }): void {
  serve(app)(installationGet, async () => ({ version, simulated: config.simulate !== undefined, waitlist_url: config.waitlistUrl ?? null }))
}
