/**
 * One connection per process that listens for the database's notifications. If the connection
 * breaks, it is reopened and every listener is called once, because notifications may have been
 * missed.
 */
import { Client, escapeIdentifier } from 'pg'
import type { Log } from '../log.ts'
import { clientConfig, type Connection, connectMs } from './connection.ts'

const firstRetryMs = 200
const longestRetryMs = 1_000
/** How often the server is asked for a sign of life, and how long it may take to answer, in ms. */
const usualPatience = { askMs: 5_000, silentMs: 10_000 }

/** Resolves to the value after the time. Keeps no process alive. */
const later = <T>(ms: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), ms).unref())

export type Listener = ReturnType<typeof listener>

/** Closes a connection that may be broken already. */
const drop = (client: Client): Promise<void> => client.end().catch(() => undefined)

export interface ListenerOptions {
  /** Read at each connection: the host may have changed. */
  readonly connection: Connection
  readonly log: Log
  /** Called before each connection after the first: finds the host that accepts writes. */
  readonly find?: () => Promise<void>
  /**
   * Called if the server doesn't answer on an open connection, which then is given up. A machine
   * that has lost its power closes no connection.
   */
  readonly onSilent?: () => void
  readonly patience?: typeof usualPatience
}

export function listener({
  connection,
  log,
  find,
  onSilent,
  patience: { askMs, silentMs } = usualPatience,
}: ListenerOptions) {
  const heard = new Map<string, Set<(payload: string) => void>>()
  let client: Client | undefined
  let stopped = false
  /** The connection that was asked and has not answered yet. */
  let asked: Client | undefined
  let retry: NodeJS.Timeout | undefined
  let retryMs = firstRetryMs
  /** Since when new connections get no answer either, on the monotonic clock; null if they do. */
  let unansweredSince: number | null = null

  const tellAll = () => heard.forEach((each) => each.forEach((tell) => tell('')))

  const again = async (): Promise<void> => {
    await find?.().catch(() => undefined)
    if (!stopped) await connect()
  }

  /** Gives up a connection on which the server doesn't answer. */
  const alive = async (mine: Client, lose: (error: Error) => void): Promise<void> => {
    if (asked === mine) return
    asked = mine
    const answered = mine.query('select 1').then(
      () => true,
      () => true,
    )
    // This process itself may have hung: then the answer has arrived, and was not read yet.
    const isAlive =
      (await Promise.race([answered, later(silentMs, false)])) ||
      (await Promise.race([answered, later(askMs, false)]))
    if (isAlive) asked = undefined
    if (isAlive || client !== mine) return
    lose(new Error('The database has not answered'))
    onSilent?.()
  }

  const connect = async (): Promise<void> => {
    const mine = new Client({
      ...clientConfig(connection),
      application_name: 'steelyard listener',
    })
    let lost = false
    let asking: NodeJS.Timeout | undefined
    const lose = (error?: Error) => {
      if (lost) return
      lost = true
      clearInterval(asking)
      if (client === mine) client = undefined
      if (stopped) return
      if (error) log.debug('listener.lost', { error })
      void drop(mine)
      retry = setTimeout(() => void again(), retryMs)
      retryMs = Math.min(longestRetryMs, retryMs * 2)
    }
    mine.on('error', lose)
    mine.on('end', () => lose())
    mine.on('notification', ({ channel, payload }) =>
      heard.get(channel)?.forEach((tell) => tell(payload ?? '')),
    )
    const began = performance.now()
    try {
      await mine.connect()
      unansweredSince = null
      for (const channel of heard.keys()) await mine.query(`listen ${escapeIdentifier(channel)}`)
      if (stopped) {
        await mine.end()
        return
      }
      client = mine
      asking = onSilent && setInterval(() => void alive(mine, lose), askMs)
      retryMs = firstRetryMs
      tellAll()
    } catch (error) {
      // A server that hangs while nobody listens is noticed by its silence to new connections.
      const now = performance.now()
      unansweredSince = now - began < connectMs ? null : (unansweredSince ?? began)
      if (unansweredSince !== null && now - unansweredSince >= silentMs) {
        unansweredSince = null
        onSilent?.()
      }
      lose(error instanceof Error ? error : new Error(String(error)))
    }
  }

  return {
    /**
     * Calls `tell` for each notification on the channel, and with an empty text after each
     * reconnection. Returns a function that unsubscribes.
     */
    on(channel: string, tell: (payload: string) => void): () => void {
      const all = heard.get(channel) ?? new Set()
      if (!heard.has(channel)) {
        heard.set(channel, all)
        client?.query(`listen ${escapeIdentifier(channel)}`).catch(() => undefined)
      }
      all.add(tell)
      return () => void all.delete(tell)
    },
    start: () => void connect(),
    async stop(): Promise<void> {
      stopped = true
      clearTimeout(retry)
      const last = client
      client = undefined
      if (last) await drop(last)
    },
  }
}
