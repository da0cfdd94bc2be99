/**
 * One connection per process that listens for the database's notifications. If the connection
 * breaks, it is reopened and every listener is called once, because notifications may have been
 * missed.
 */
import { Client, type ClientConfig, escapeIdentifier } from 'pg'
import type { Log } from '../log.ts'

const firstRetryMs = 200
const longestRetryMs = 1_000

export type Listener = ReturnType<typeof listener>

/** Closes a connection that may be broken already. */
const drop = (client: Client): Promise<void> => client.end().catch(() => undefined)

export function listener({ connection, log }: { connection: ClientConfig; log: Log }) {
  const heard = new Map<string, Set<(payload: string) => void>>()
  let client: Client | undefined
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  let retryMs = firstRetryMs

  const tellAll = () => heard.forEach((each) => each.forEach((tell) => tell('')))

  const connect = async (): Promise<void> => {
    const mine = new Client({
      ...connection,
      application_name: 'steelyard listener',
      keepAlive: true,
    })
    let lost = false
    const lose = (error?: Error) => {
      if (lost) return
      lost = true
      if (client === mine) client = undefined
      if (stopped) return
      if (error) log.debug('listener.lost', { error })
      void drop(mine)
      retry = setTimeout(() => void connect(), retryMs)
      retryMs = Math.min(longestRetryMs, retryMs * 2)
    }
    mine.on('error', lose)
    mine.on('end', () => lose())
    mine.on('notification', ({ channel, payload }) =>
      heard.get(channel)?.forEach((tell) => tell(payload ?? '')),
    )
    try {
      await mine.connect()
      for (const channel of heard.keys()) await mine.query(`listen ${escapeIdentifier(channel)}`)
      if (stopped) {
        await mine.end()
        return
      }
      client = mine
      retryMs = firstRetryMs
      tellAll()
    } catch (error) {
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
