/**
 * Keeps the process responsive: concurrent requests are limited in total, per user and per source;
 * reads are refused when the event loop lags; each user's writes have a rate limit.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../clock.ts'
import { countedSource } from '../network.ts'
import type { Platform } from '../platform.ts'
import { type Share, shares, type Taken } from './load/shares.ts'
import { cutStalled, stalledMs } from './load/sockets.ts'

export type Limits = typeof defaultLimits

export const defaultLimits = {
  /** Concurrent requests; further ones wait up to `waitMs` for a place. */
  inFlight: 200,
  waitMs: 1_000,
  /** Concurrent requests per user, and per source (an address, or an IPv6 /64). */
  inFlightOfPerson: 50,
  inFlightOfSource: 100,
  /** Responses per user that the client has not read yet, including requests in flight. */
  unreadOfPerson: 100,
  /** Concurrent CPU-intensive calls, such as previews: in total, and per user. */
  heavy: 6,
  heavyOfPerson: 2,
  /** How long a client may read nothing of a response before its connection is cut, in ms. */
  stalledMs,
  /** Event-loop delay above which reads are refused. */
  delayMs: 200,
  /** Writes per second and user, and the size of a burst. */
  writesPerSecond: 20,
  writeBurst: 60,
}

const busy = (random: () => number) =>
  new Problem(
    'unavailable',
    'Server busy. Please try again.',
    undefined,
    1 + Math.floor(random() * 5),
  )

/**
 * Interval of the measurements of the event loop's delay, in ms. Node.js counts it as part of the
 * delay: with an idle loop, each delay is this long.
 */
const measureMs = 100

/**
 * At least this number of sources has its own bucket, of which the least recent ones are dropped
 * first. Also the limit of addresses whose source is remembered.
 */
const mostSources = 10_000

/**
 * Token bucket. `take` returns the milliseconds to wait, or 0 after taking a token; `demand` throws
 * the sentence instead. @throws Problem throttled
 */
export function bucket({
  perSecond,
  burst,
  clock,
}: {
  perSecond: number
  burst: number
  clock: Clock
}) {
  type Level = { tokens: number; at: number }
  /**
   * Two maps of the buckets' levels by key. The older map is dropped as a whole, because deleting
   * the oldest entry of a map gets slower with each deletion.
   */
  let late = new Map<string, Level>()
  let earlier = new Map<string, Level>()
  const take = (key: string): number => {
    const now = clock.monotonic()
    const last = late.get(key) ?? earlier.get(key) ?? { tokens: burst, at: now }
    const tokens = Math.min(burst, last.tokens + ((now - last.at) / 1000) * perSecond)
    if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1000)
    late.set(key, { tokens: tokens - 1, at: now })
    if (late.size > mostSources) {
      earlier = late
      late = new Map()
    }
    return 0
  }
  return {
    take,
    demand(key: string, sentence: string): void {
      const waitMs = take(key)
      if (waitMs > 0) throw new Problem('throttled', sentence, undefined, waitMs / 1000)
    },
  }
}

const isRead = (request: FastifyRequest) => request.method === 'GET' || request.method === 'HEAD'

/**
 * Runs a call's handler while the call counts as in flight. The call ends when the response was
 * passed to the socket, even if the client doesn't read it.
 */
export type InPlace = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<T>,
) => Promise<T>

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Source address for limits; undefined if many users share the address (see `countedSource`).
     */
    source: string | undefined
  }
  interface FastifyInstance {
    inPlace: InPlace
  }
  interface FastifyContextConfig {
    /** The call is CPU-intensive, so each user may have only few at once. */
    heavy?: boolean
  }
}

const tooMany = () =>
  new Problem('throttled', 'Too many requests at once. Please wait a moment.', undefined, 1)

export function limit(
  app: FastifyInstance,
  { config, clock, random, limits }: Platform & { limits: Limits },
): void {
  const all = shares(limits.inFlight)
  const heavy = shares(limits.heavy)
  const unread = new Map<string, number>()
  const writes = bucket({ perSecond: limits.writesPerSecond, burst: limits.writeBurst, clock })
  const delay = monitorEventLoopDelay({ resolution: measureMs })
  delay.enable()
  let lagging = false
  const look = setInterval(() => {
    lagging = delay.mean / 1e6 - measureMs > limits.delayMs
    delay.reset()
  }, 1_000)
  look.unref()

  /** A source is an address or a network and a user's id is a UUID, so the keys differ. */
  const sharesOf = ({ source, caller }: FastifyRequest): Share[] => [
    ...(source === undefined ? [] : [{ key: source, most: limits.inFlightOfSource }]),
    ...(caller.kind === 'user' ? [{ key: caller.userId, most: limits.inFlightOfPerson }] : []),
  ]
  /** @throws Problem unavailable, throttled */
  const placeOf = (taken: Taken): (() => void) => {
    if (taken === 'full') throw busy(random)
    if (taken === 'own') throw tooMany()
    return taken.give
  }
  const inPlace: InPlace = async (request, reply, act) => {
    const gives: (() => void)[] = []
    if (request.routeOptions.config.hasOwnQueue) return act()
    try {
      if (request.routeOptions.config.heavy && request.caller.kind === 'user')
        gives.push(
          placeOf(
            await heavy.take(
              [{ key: request.caller.userId, most: limits.heavyOfPerson }],
              limits.waitMs,
            ),
          ),
        )
      const taken = all.take(sharesOf(request), limits.waitMs)
      gives.push(placeOf(taken instanceof Promise ? await taken : taken))
      // Nothing is done for a client that disconnected while it waited.
      if (reply.raw.destroyed) throw new Problem('bad_request', 'The client has disconnected')
      return await act()
    } finally {
      for (const give of gives) give()
    }
  }
  app.decorate('inPlace', inPlace)

  /**
   * Sources by address: most requests come from few addresses, and parsing an address takes longer
   * than the other limits.
   */
  const sources = new Map<string, string | undefined>()
  app.decorateRequest('source', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    const { ip } = request
    if (!sources.has(ip)) {
      if (sources.size >= mostSources) sources.clear()
      sources.set(ip, countedSource(ip, config.trustedProxies))
    }
    request.source = sources.get(ip)
    done(
      lagging && isRead(request) && request.routeOptions.config.operation
        ? busy(random)
        : undefined,
    )
  })
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { caller } = request
    if (caller.kind !== 'user') return done()
    const before = unread.get(caller.userId) ?? 0
    if (before >= limits.unreadOfPerson) throw tooMany()
    unread.set(caller.userId, before + 1)
    reply.raw.once('close', () => {
      const left = unread.get(caller.userId)! - 1
      if (left === 0) unread.delete(caller.userId)
      else unread.set(caller.userId, left)
    })
    if (isRead(request)) return done()
    writes.demand(caller.userId, 'Too many changes at once. Please wait a moment.')
    done()
  })
  const stopCutting = cutStalled(app.server, limits.stalledMs)
  app.addHook('onClose', async () => {
    stopCutting()
    clearInterval(look)
    delay.disable()
  })
}
