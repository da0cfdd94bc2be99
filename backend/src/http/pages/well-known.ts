/** What crawlers and finders of weaknesses ask every host for. */
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'

/** A control plane has nothing for search engines (RFC 9309). */
const robots = `User-agent: *
Disallow: /
`

/**
 * How long a copy of security.txt may be kept, in ms. Steelyard writes it for each request, and the
 * page that it names is of the same version, so a short time is enough.
 */
const keptMs = 30 * 24 * 3600_000

export function wellKnown(
  app: FastifyInstance,
  { config, clock }: { config: Config; clock: Clock },
): void {
  const asText = { config: { open: true } } as const
  app.get('/robots.txt', asText, async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(robots),
  )
  // RFC 9116. The page is the one place that says how a weakness is reported.
  app.get('/.well-known/security.txt', asText, async (_request, reply) => {
    const base = config.publicUrl
    const lines = [
      `Contact: ${base}/docs/security#reporting-a-vulnerability`,
      `Expires: ${new Date(clock.now() + keptMs).toISOString()}`,
      'Preferred-Languages: en',
      `Canonical: ${base}/.well-known/security.txt`,
    ]
    return reply.type('text/plain; charset=utf-8').send(`${lines.join('\n')}\n`)
  })
}
