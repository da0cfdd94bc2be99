/**
 * Records refused announcements, some one by one and the others counted, because anybody can cause
 * any number of them. No request waits for these writes.
 */
import { randomUUID } from 'node:crypto'
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import { type Entry, repeated } from '../audit/api.ts'
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

const limits = { windowMs: 60_000, burst: 250, perHour: 60 } as const
/** Of announcements with an existing token, which a stranger can't guess. */
const limitsOfTokens = { ...limits, perHour: 600 } as const
/** Maximum number of refused arrivals that are shown for a token. */
const mostShown = 250

export function refusals({
  db,
  clock,
  log,
  record,
}: Pick<Platform, 'db' | 'clock' | 'log' | 'record'>) {
  const write = async (tx: Tx, { item: refusal, several }: Entry<Refusal>): Promise<void> => {
    const { action, reason, ip, requestId, token, announcement } = refusal
    const caller: Caller = { kind: 'anonymous', ip, requestId }
    await record(tx, caller, {
      action,
      target: token
        ? { kind: 'join_token', id: token.id, name: token.name }
        : { kind: 'address', id: ip, name: ip },
      result: action === 'join.failed' ? 'dial_refused' : 'forbidden',
      after: {
        reason,
        address: ip,
        count: 1,
        ...several,
        uuid: announcement?.uuid ?? null,
        serial: announcement?.serial ?? null,
        mac: announcement?.mac ?? null,
      },
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

  const parts = {
    db,
    clock,
    log,
    async write(tx: Tx, batch: readonly Entry<Refusal>[]): Promise<void> {
      // Locks the tokens, as an admission does, so that writes about one machine are serialised and
      // can't dead-lock.
      const ids = new Set(batch.flatMap(({ item }) => item.token?.id ?? []))
      if (ids.size > 0) await store.lockTokens(tx, [...ids])
      for (const entry of batch) await write(tx, entry)
    },
    merged: ({ token: _token, announcement: _announcement, ...refusal }: Refusal): Refusal => ({
      ...refusal,
      reason: `${refusal.reason} (and other addresses, too many to list)`,
    }),
    groupOf: ({ action }: Refusal) => action,
  }
  const strangers = repeated<Refusal>(parts, limits)
  const holders = repeated<Refusal>(parts, limitsOfTokens)

  return {
    note(refusal: Refusal): void {
      const { action, token, ip } = refusal
      void (token ? holders : strangers).note(
        `${action} ${token?.id ?? ''} ${sourceOf(ip)}`,
        refusal,
        { ip },
      )
    },
    /** Writes all entries that aren't written yet; called when the program stops. */
    close: () => Promise.all([strangers.close(), holders.close()]).then(() => undefined),
  }
}
