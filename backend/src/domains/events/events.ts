/**
 * The live stream: published events in the order of their numbers. Each reader gets only the events
 * that it may read.
 */
import { Problem } from '#contract/errors.ts'
import { eventStream, heartbeatMs } from '#contract/events.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serveStream, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Events } from './api.ts'
import { eventChannel } from './publisher.ts'

const keptMs = 24 * 3600_000
/** Maximum number of events that wait for one reader; past this limit the reader gets `resync`. */
const mostWaiting = 256
const mostReplayed = 1_000
/**
 * The poll finds events whose notification was lost, and notices a silent database. Without readers
 * nobody waits for either.
 */
const pollMs = 1_000
const unreadPollMs = 5_000
const readBatch = 1_000
/**
 * A stream ends after the database has been silent for this time, because no events can arrive; its
 * reader then polls.
 */
const silentMs = 5_000

interface Reader {
  readonly may: (scope: string | null) => boolean
  waiting: string[]
  overflown: boolean
  ended: boolean
  wake: () => void
}

const textOf = (id: number, name: string, data: object): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`

export function events({
  db,
  clock,
  listener,
  log,
}: Pick<Platform, 'db' | 'clock' | 'listener' | 'log'>): Events & Domain {
  const readers = new Set<Reader>()
  let last = 0
  let ready = false
  let reading = false
  let again = false
  let goneSince: number | undefined
  let timer: NodeJS.Timeout | undefined
  let polls = 0
  let unlisten: () => void = () => undefined

  /**
   * Events after `from`. `text` is the event in the stream's wire format, serialised once and
   * shared by all readers.
   */
  const after = async (from: number, limit: number) => {
    const rows = await db
      .selectFrom('event')
      .selectAll()
      .where('id', '>', from)
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(({ id, at, name, scope, data }) => ({
      id,
      scope,
      text: textOf(id, name, { id, at: at.toISOString(), ...data }),
    }))
  }

  const give = (event: { scope: string | null; text: string }) => {
    for (const reader of readers) {
      if (!reader.may(event.scope)) continue
      if (reader.waiting.length >= mostWaiting) {
        reader.overflown = true
        reader.waiting = []
      }
      if (!reader.overflown) reader.waiting.push(event.text)
      reader.wake()
    }
  }

  const isSilent = () => goneSince !== undefined && clock.monotonic() - goneSince >= silentMs
  const end = (reader: Reader) => {
    reader.ended = true
    reader.wake()
  }

  /** Reads new events, one read at a time, and passes them to every reader of this process. */
  const read = async (): Promise<void> => {
    again = true
    if (reading) return
    reading = true
    try {
      while (again) {
        again = false
        const found = await after(last, readBatch)
        for (const event of found) give(event)
        last = found.at(-1)?.id ?? last
        if (found.length === readBatch) again = true
      }
      if (goneSince !== undefined)
        log.info('database.answers', { duration_ms: clock.monotonic() - goneSince })
      goneSince = undefined
    } catch (error) {
      if (!isDatabaseAway(error)) log.error('events.read_failed', { error })
      else if (goneSince === undefined)
        log.error('database.silent', {
          reason: error instanceof Error ? error.message : String(error),
        })
      goneSince ??= clock.monotonic()
      if (isSilent()) for (const reader of readers) end(reader)
    } finally {
      reading = false
    }
  }

  const poll = (): void => {
    polls += 1
    if (readers.size > 0 || goneSince !== undefined || polls % (unreadPollMs / pollMs) === 0)
      void read()
  }

  const head = async (): Promise<number> =>
    (await db.selectFrom('publication').select('last_event').executeTakeFirstOrThrow()).last_event
  const resync = (id: number): string =>
    textOf(id, 'resync', { id, at: new Date(clock.now()).toISOString() })

  /** The events after `lastId`; undefined if some of them are no longer stored. */
  const replay = async (
    lastId: number,
    upTo: number,
    may: Reader['may'],
  ): Promise<string[] | undefined> => {
    if (lastId > upTo) return undefined
    if (lastId === upTo) return []
    const found = await after(lastId, mostReplayed + 1)
    // If the first found event doesn't follow `lastId` directly, the events in between were
    // removed.
    if (found.length > mostReplayed || found[0]?.id !== lastId + 1) return undefined
    return found.filter((event) => event.id <= upTo && may(event.scope)).map((event) => event.text)
  }

  async function* stream(
    caller: UserCaller,
    lastId: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const may = (scope: string | null) =>
      scope === null || (caller.scopes as readonly string[]).includes(scope)
    const reader: Reader = {
      may,
      waiting: [],
      overflown: false,
      ended: false,
      wake: () => undefined,
    }
    if (isSilent())
      throw new Problem(
        'unavailable',
        'The database cannot be reached: live updates continue after it is back.',
      )
    readers.add(reader)
    const stop = () => reader.wake()
    signal.addEventListener('abort', stop, { once: true })
    try {
      // The reader is already registered, so new events wait in its queue. `last` is the newest
      // event that was passed to all readers.
      const upTo = ready ? last : await head()
      const missed = lastId === undefined ? [] : await replay(lastId, upTo, may)
      yield `retry: 2000\n: Steelyard events, from ${lastId ?? upTo} on\n\n`
      if (missed === undefined) yield resync(upTo)
      else yield* missed
      while (!signal.aborted && !reader.ended) {
        if (reader.overflown) {
          reader.overflown = false
          reader.waiting = []
          yield resync(last)
        }
        const texts = reader.waiting.splice(0)
        if (texts.length > 0) {
          yield texts.join('')
          continue
        }
        const isBeat = await new Promise<boolean>((resolve) => {
          const beat = setTimeout(() => resolve(true), heartbeatMs)
          reader.wake = () => {
            clearTimeout(beat)
            resolve(false)
          }
          if (signal.aborted || reader.overflown || reader.ended) reader.wake()
        })
        if (isBeat) yield ': \n\n'
      }
    } finally {
      signal.removeEventListener('abort', stop)
      readers.delete(reader)
    }
  }

  return {
    name: 'events',
    routes: (app) =>
      serveStream(app)(eventStream, ({ caller, lastEventId, signal }) =>
        stream(signedIn(caller), lastEventId, signal),
      ),
    stream,
    last: () => (ready ? last : undefined),

    async open() {
      last = await head()
      ready = true
      unlisten = listener.on(eventChannel, () => void read())
      timer = setInterval(poll, pollMs)
    },

    close() {
      clearInterval(timer)
      unlisten()
    },

    /** Streams can no longer resume from the removed events. */
    async removeOld() {
      await db
        .deleteFrom('event')
        .where('at', '<', new Date(clock.now() - keptMs))
        .execute()
    },
  }
}
