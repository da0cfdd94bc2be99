/** Metrics in Prometheus's text format: of Node.js, of requests, and of what each domain counts. */
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Figures, type GaugeName, gauges, requestDuration } from '#contract/metrics/metrics.ts'

/**
 * Gauges of prom-client whose names end like those of counters, which `promtool check metrics`
 * refuses. The gauges with the same names without `_total` say the same by type.
 */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response lasts as long as its reader wants, so its time says nothing of the server. */
    isStream?: boolean
  }
}

let ofProcess: Registry | undefined
/** CPU, memory, event loop and garbage collection: of the whole process, so collected once. */
function processRegistry(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    for (const name of misnamed) ofProcess.removeSingleMetric(name)
  }
  return ofProcess
}

/** Measures every request of the app from now on. */
export function measureRequests(app: FastifyInstance): Registry {
  const register = new Registry()
  const { name, help, labels: labelNames, buckets } = requestDuration
  const durations = new Histogram({
    name,
    help,
    labelNames: [...labelNames],
    buckets: [...buckets],
    registers: [register],
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.routeOptions.config.isStream !== true)
      durations.observe(
        {
          method: request.method,
          // Paths without a route are pages of the console.
          route: request.routeOptions.url ?? 'page',
          status: String(reply.statusCode),
        },
        reply.elapsedTime / 1000,
      )
    done()
  })
  return register
}

/** The text of the response. Gauges without a value are left out, because 0 would be a claim. */
export function metricsText(requests: Registry, figures: readonly Figures[]): Promise<string> {
  const register = new Registry()
  for (const all of figures)
    for (const [key, samples] of Object.entries(all)) {
      const name = key as GaugeName
      const { help, labels } = gauges[name]
      const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [register] })
      for (const { value, ...of } of samples) gauge.set(of, value)
    }
  return Registry.merge([register, requests, processRegistry()]).metrics()
}
