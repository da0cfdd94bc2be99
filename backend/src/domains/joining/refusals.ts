/**
 * Records refused announcements without filling the audit log: per source and minute, one entry for the first refusal and one at the end with the
 * number of further refusals. Sources past a limit are counted together. Entries are written in batches, one batch at a time; no request waits for them.
 */
import { randomUUID } from 'node:crypto'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Announcement } from './announcement.ts'
import * as store from './store.ts'

export interface Refusal {
  /** `join.failed`: the token is valid, but the announcing machine can't be dialled. */
  readonly action: 'join.refused' | 'join.failed'
  readonly reason: string
  /** Source address of the request. */
  readonly ip: string
  readonly requestId: string
  /** Set if the token exists. */
  readonly token?: { readonly id: string; readonly name: string } | undefined
  readonly announcement?: Announcement | undefined
}

export type Refusals = ReturnType<typeof refusals>

const windowMs = 60_000
/** Maximum number of sources with separate entries within a window. */
const mostSources = 250
/** Maximum number of entries kept while the database is unavailable. Past this limit the oldest are dropped, and their number is logged. */
const mostWaiting = 1_000
/** Maximum number of refused arrivals that are shown for a token. */
const mostShown = 250
const perBatch = 100

interface Entry {
  readonly refusal: Refusal
  readonly count: number
}

export function refusals({ db, clock, log, record }: Pick<Platform, 'db' | 'clock' | 'log' | 'record'>) {
  /** Refusals in the current window: their number per source, without the first one. `others` counts all sources past the limit. */
  let open: Map<string, { last: Refusal; more: number }> | undefined
  let others: { last: Refusal; more: number } | undefined
  const stop = new AbortController()
  let waiting: Entry[] = []
  let writing: Promise<void> | undefined

  const write = async (tx: Tx, { refusal, count }: Entry): Promise<void> => {
    const { action, reason, ip, requestId, token, announcement } = refusal
    const caller: Caller = { kind: 'anonymous', ip, requestId }
    await record(tx, caller, {
      action,
      target: token ? { kind: 'join_token', id: token.id, name: token.name } : { kind: 'address', id: ip, name: ip },
      result: action === 'join.failed' ? 'dial_refused' : 'forbidden',
      after: { reason, address: ip, count, uuid: announcement?.uuid ?? null, serial: announcement?.serial ?? null, mac: announcement?.mac ?? null },
    })
    if (action !== 'join.refused' || !token || !announcement) return
    const id = randomUUID()
    const { uuid, serial, mac } = announcement
    const row = {
      id,
      token_id: token.id,
      uuid,
      serial,
      mac,
      address: ip,
      at: new Date(clock.now()),
      result: 'refused',
      reason,
      shard: store.shardOf(id),
    } as const
    await store.writeRefused(tx, { ...row, host_name: null, server_id: null }, mostShown)
  }

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, perBatch)
      try {
        await inTransaction(db, async (tx) => {
          // Locks the tokens, as an admission does, so that writes about one machine are serialised and can't dead-lock.
          const ids = new Set(batch.flatMap(({ refusal }) => refusal.token?.id ?? []))
          if (ids.size > 0) await store.lockTokens(tx, [...ids])
          for (const entry of batch) await write(tx, entry)
        })
        waiting = waiting.slice(batch.length)
      } catch (error) {
        log.warn('join.refusals_waiting', { count: waiting.length, error })
        return
      }
    }
  }

  const add = (entries: readonly Entry[]): void => {
    waiting.push(...entries)
    if (waiting.length > mostWaiting) {
      log.warn('join.refusals_dropped', { count: waiting.length - mostWaiting })
      waiting = waiting.slice(-mostWaiting)
    }
    writing ??= writeAll().finally(() => (writing = undefined))
  }

  /** Ends the window: records the number of refusals after the first of each source. */
  const closeWindow = (): void => {
    const rest = [...(open?.values() ?? []), ...(others ? [others] : [])].filter((s) => s.more > 0)
    open = undefined
    others = undefined
    if (rest.length > 0 || waiting.length > 0) add(rest.map(({ last, more }) => ({ refusal: last, count: more })))
  }

  return {
    note(refusal: Refusal): void {
      if (!open) {
        open = new Map()
        // `sleep` rejects when the program stops; `close` then closes the window.
        void clock.sleep(windowMs, stop.signal).then(closeWindow, () => undefined)
      }
      const source = `${refusal.action} ${refusal.token?.id ?? ''} ${sourceOf(refusal.ip)}`
      const known = open.get(source)
      if (known) {
        known.more++
        known.last = refusal
      } else if (open.size < mostSources) {
        open.set(source, { last: refusal, more: 0 })
        add([{ refusal, count: 1 }])
      } else {
        others = { last: { ...refusal, reason: `${refusal.reason} (and other addresses, too many to list)` }, more: (others?.more ?? 0) + 1 }
      }
    },
    /** Writes all entries that aren't written yet; called when the program stops. */
    async close(): Promise<void> {
      stop.abort(new Error('Steelyard is stopping'))
      closeWindow()
      await writing
    },
  }
}
