/** One connection per process that listens for the database's notifications. When it breaks it is made again, and everybody is woken once: something may have been missed. */
import pg from 'pg'
import type { Log } from '../log.ts'

export interface Listener {
  /** Calls `heard` for each notification on the channel, and once after each reconnection. Answers how to stop. */
  on(channel: string, heard: (payload: string) => void): () => void
  start(): void
  stop(): Promise<void>
}

const firstRetryMs = 200
const longestRetryMs = 5_000

export function listener({ connection, log }: { connection: pg.ClientConfig; log: Log }): Listener {
  const heard = new Map<string, Set<(payload: string) => void>>()
  let client: pg.Client | undefined
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  let retryMs = firstRetryMs

  const tellAll = () => heard.forEach((each) => each.forEach((tell) => tell('')))

  const connect = async (): Promise<void> => {
    const mine = new pg.Client({ ...connection, application_name: 'steelyard listener', keepAlive: true })
    let lost = false
    const lose = (error?: Error) => {
      if (lost) return
      lost = true
      if (client === mine) client = undefined
      if (stopped) return
      if (error) log.debug('listener.lost', { error })
      mine.end().catch(() => undefined)
      retry = setTimeout(() => void connect(), retryMs)
      retryMs = Math.min(longestRetryMs, retryMs * 2)
    }
    mine.on('error', lose)
    mine.on('end', () => lose())
    mine.on('notification', ({ channel, payload }) => heard.get(channel)?.forEach((tell) => tell(payload ?? '')))
    try {
      await mine.connect()
      for (const channel of heard.keys()) await mine.query(`listen ${pg.escapeIdentifier(channel)}`)
      if (stopped) return void (await mine.end())
      client = mine
      retryMs = firstRetryMs
      tellAll()
    } catch (error) {
      lose(error instanceof Error ? error : new Error(String(error)))
    }
  }

  return {
    on(channel, tell) {
      const all = heard.get(channel) ?? new Set()
      if (!heard.has(channel)) {
        heard.set(channel, all)
        client?.query(`listen ${pg.escapeIdentifier(channel)}`).catch(() => undefined)
      }
      all.add(tell)
      return () => void all.delete(tell)
    },
    start: () => void connect(),
    async stop() {
      stopped = true
      clearTimeout(retry)
      const last = client
      client = undefined
      await last?.end().catch(() => undefined)
    },
  }
}
