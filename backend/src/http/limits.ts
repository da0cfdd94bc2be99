/** Keeps the process answering: a cap on requests at once, reads refused first when the event loop lags, a pace for writes per session. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../clock.ts'

export interface Limits {
  /** Requests at once; the next waits up to `waitMs` for a place. */
  readonly inFlight: number
  readonly waitMs: number
  /** Event-loop delay past which reads are refused. */
  readonly delayMs: number
  /** Writes per second and session, and how many may come at once. */
  readonly writesPerSecond: number
  readonly writeBurst: number
}

export const defaultLimits: Limits = { inFlight: 200, waitMs: 1_000, delayMs: 200, writesPerSecond: 20, writeBurst: 60 }

const busy = (random: () => number) => new Problem('unavailable', 'Server busy. Please try again.', undefined, 1 + Math.floor(random() * 5))

/** Counts places; whoever finds none waits in line. */
function places(count: number) {
  let free = count
  const line: ((got: boolean) => void)[] = []
  return {
    async take(waitMs: number): Promise<boolean> {
      if (free > 0) {
        free -= 1
        return true
      }
      if (line.length >= count * 5) return false
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          line.splice(line.indexOf(got), 1)
          resolve(false)
        }, waitMs)
        const got = () => {
          clearTimeout(timer)
          resolve(true)
        }
        line.push(got)
      })
    },
    give(): void {
      const next = line.shift()
      if (next) next(true)
      else free += 1
    },
  }
}

/** Sources that are remembered for sure; past it, who came least lately is forgotten. */
const mostSources = 10_000

/** Tokens that fill up with time. Answers how many milliseconds to wait, 0 where one was taken. */
export function bucket({ perSecond, burst, clock }: { perSecond: number; burst: number; clock: Clock }) {
  type Level = { tokens: number; at: number }
  /** Who came lately, and who came before them. Forgetting all of the elder at once costs nothing, while a map whose oldest is taken out at each turn is slower the more was taken. */
  let late = new Map<string, Level>()
  let earlier = new Map<string, Level>()
  return {
    take(key: string): number {
      const now = clock.now()
      const last = late.get(key) ?? earlier.get(key) ?? { tokens: burst, at: now }
      const tokens = Math.min(burst, last.tokens + ((now - last.at) / 1000) * perSecond)
      if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1000)
      late.set(key, { tokens: tokens - 1, at: now })
      if (late.size > mostSources) {
        earlier = late
        late = new Map()
      }
      return 0
    },
  }
}

const isRead = (request: FastifyRequest) => request.method === 'GET' || request.method === 'HEAD'
const held = Symbol('place')

export function limit(app: FastifyInstance, { limits, clock, random }: { limits: Limits; clock: Clock; random: () => number }): void {
  const room = places(limits.inFlight)
  const writes = bucket({ perSecond: limits.writesPerSecond, burst: limits.writeBurst, clock })
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  let lagging = false
  const look = setInterval(() => {
    lagging = delay.mean / 1e6 > limits.delayMs
    delay.reset()
  }, 1_000)
  look.unref()

  const enter = async (request: FastifyRequest): Promise<void> => {
    const { operation, hasOwnQueue } = request.routeOptions.config
    // A stream takes no place: it would hold it for minutes.
    if (!operation || hasOwnQueue || operation.media === 'text/event-stream') return
    if (!(await room.take(limits.waitMs))) throw busy(random)
    ;(request as unknown as Record<symbol, boolean>)[held] = true
  }
  app.addHook('onRequest', async (request) => {
    if (!isRead(request) || !request.routeOptions.config.operation) return
    if (lagging) throw busy(random)
    await enter(request)
  })
  // A write only once its body is here: bodies that drip in must not keep everybody else out.
  app.addHook('preValidation', async (request) => {
    if (!isRead(request)) await enter(request)
  })
  app.addHook('preParsing', async (request) => {
    if (isRead(request) || request.caller.kind !== 'user') return
    const waitMs = writes.take(request.caller.sessionId)
    if (waitMs > 0) throw new Problem('throttled', 'Too many changes at once. Please wait a moment.', undefined, waitMs / 1000)
  })
  const release = (request: FastifyRequest) => {
    const marked = request as unknown as Record<symbol, boolean>
    if (!marked[held]) return
    marked[held] = false
    room.give()
  }
  app.addHook('onResponse', async (request) => release(request))
  app.addHook('onRequestAbort', async (request) => release(request))
  app.addHook('onClose', async () => {
    clearInterval(look)
    delay.disable()
  })
}
