/**
 * Keeps the highest position of the database (`position.ts`), in memory and in the data folder. The
 * database is compared with it once a minute, and after the listener has reconnected; new
 * connections of the pool are compared as well.
 */
import { isDatabaseAway } from '../causes/causes.ts'
import type { Log } from '../log.ts'
import { type Database } from './db.ts'
import type { Listener } from './listen.ts'
import { type Position, type positionFile } from './position.ts'

const checkMs = 60_000
/** Events within this time are kept together, in ms. */
const gatherMs = 1_000

interface Parts {
  readonly database: Pick<Database, 'check' | 'saw'>
  readonly listener: Pick<Listener, 'on'>
  /** The channel that receives the number of each newest event. */
  readonly channel: string
  readonly file: ReturnType<typeof positionFile>
  readonly log: Log
}

/** Returns a function that stops it and keeps the last position. */
export function keepPosition({
  database,
  listener,
  channel,
  file,
  log,
}: Parts): () => Promise<void> {
  let kept: Position | undefined
  let gathering: NodeJS.Timeout | undefined
  const check = async (): Promise<void> => {
    try {
      const position = await database.check()
      if (position === undefined || position === kept) return
      file.write(position)
      kept = position
    } catch (error) {
      if (!isDatabaseAway(error)) log.error('database.position_failed', { error })
    }
  }
  const soon = () => {
    gathering ??= setTimeout(() => {
      gathering = undefined
      void check()
    }, gatherMs)
  }
  const unlisten = listener.on(channel, (payload) => {
    if (payload === '') void check()
    else {
      database.saw({ event: Number(payload) })
      soon()
    }
  })
  const timer = setInterval(() => void check(), checkMs)
  return async () => {
    unlisten()
    clearInterval(timer)
    clearTimeout(gathering)
    await check()
  }
}
