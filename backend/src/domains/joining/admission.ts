/**
 * Admits announcements in batches, one transaction at a time, with their tokens locked. Five
 * hundred servers that boot in one second take a few transactions, uses are counted exactly, and a
 * flood waits here instead of taking every connection to the database.
 */
import { randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { canUseJoinToken } from '#contract/join-tokens.ts'
import type { Verdict } from '#contract/rule.ts'
import { isSharedUuid, needsMac } from '#contract/servers/identity.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { type Announcement, oneTimeHostName } from './announcement.ts'
import * as store from './store.ts'
import { statusOf } from './tokens.ts'

interface Asked {
  readonly tokenId: string
  readonly announcement: Announcement
  /**
   * Source address of the announcement in canonical form. `mayDial`: whether that address may be
   * dialled.
   */
  readonly address: string
  readonly mayDial: Verdict
  /** The digest of the image's documents; null: it has none. */
  readonly early: string | null
}

type Admission =
  /**
   * `hostName`: the machine is dialled and has to report this name. Null: the machine can't be
   * dialled, so nothing waits for it.
   */
  | { readonly kind: 'let_in'; readonly hostName: string | null }
  /**
   * `over`: the token has ended or doesn't exist, so every further announcement with it is refused
   * too.
   */
  | { readonly kind: 'refused'; readonly reason: string; readonly over: boolean }

/**
 * Maximum number of waiting announcements. Further machines get a 503, after which Talos retries
 * with back-off.
 */
const mostWaiting = 2_000
const perBatch = 100
/**
 * A machine that announces itself again within this time gets the same response, because it must
 * have lost the first one.
 */
const sameAnswerMs = 30_000
/** Maximum number of addresses that may announce one UUID at the same time. */
const mostTwins = 4

/** Whether two announcements are of one machine, as far as they say. */
const isSameMachine = (a: Announcement, b: Announcement): boolean =>
  a.uuid === b.uuid &&
  (!isSharedUuid(a.uuid) || (a.serial === b.serial && (!needsMac(a) || a.mac === b.mac)))

interface Pending {
  readonly asked: Asked
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: unknown) => void
}

export function admission({
  db,
  clock,
  engine,
  tell,
}: Platform): (asked: Asked) => Promise<Admission> {
  const decide = (
    token: store.TokenRow,
    known: store.ArrivalRow[],
    { announcement, address, mayDial, early }: Asked,
    at: Date,
  ) => {
    const own = known.filter((a) => isSameMachine(a, announcement))
    const isUsed = own.some((a) => a.counted)
    const status = statusOf(token, at.getTime())
    const verdict = canUseJoinToken({ status: status === 'used_up' && isUsed ? 'usable' : status })
    if (!verdict.ok)
      return { kind: 'refused', reason: verdict.reason, over: status !== 'used_up' } as const
    // Reuses a row with the same address, an ended row with the same serial or, past `mostTwins`, a
    // waiting row. Other rows may be of another machine.
    const waiting = own.filter((a) => a.result === 'waiting')
    const row =
      known.find((a) => a.address === address) ??
      own.find((a) => a.result !== 'waiting' && a.serial === announcement.serial) ??
      (waiting.length >= mostTwins ? waiting[0] : undefined)
    const isAgain =
      row?.address === address &&
      row.result === 'waiting' &&
      at.getTime() - row.at.getTime() < sameAnswerMs
    const id = row?.id ?? randomUUID()
    const hostName = !mayDial.ok ? null : isAgain ? row.host_name : oneTimeHostName()
    const written: store.ArrivalRow = {
      id,
      token_id: token.id,
      ...announcement,
      address,
      host_name: hostName,
      early,
      // An announcement from an address that may not be dialled doesn't count as a use of the
      // token.
      counted: isUsed || mayDial.ok,
      at,
      result: mayDial.ok ? 'waiting' : 'failed',
      reason: mayDial.ok ? null : mayDial.reason,
      server_id: (row && own.includes(row) && row.server_id) || null,
      shard: store.shardOf(id),
    }
    return { kind: 'let_in', hostName, written, isNewUse: mayDial.ok && !isUsed } as const
  }

  const decideAll = async (tx: Tx, batch: readonly Pending[]): Promise<Admission[]> => {
    const at = new Date(clock.now())
    const tokens = new Map(
      (await store.lockTokens(tx, [...new Set(batch.map((p) => p.asked.tokenId))])).map((t) => [
        t.id,
        t,
      ]),
    )
    const uuids = [...new Set(batch.map((p) => p.asked.announcement.uuid))]
    const rows = new Map(
      (await store.arrivalsOf(tx, [...tokens.keys()], uuids)).map((a) => [a.id, a]),
    )
    const written = new Map<string, store.ArrivalRow>()
    const touched = new Set<string>()
    const admissions = batch.map(({ asked }): Admission => {
      const token = tokens.get(asked.tokenId)
      if (!token) return { kind: 'refused', reason: 'There is no such join token', over: true }
      const known = [...rows.values()].filter(
        (a) => a.token_id === token.id && a.uuid === asked.announcement.uuid,
      )
      const decided = decide(token, known, asked, at)
      if (decided.kind === 'refused') return decided
      rows.set(decided.written.id, decided.written)
      written.set(decided.written.id, decided.written)
      if (decided.isNewUse) tokens.set(token.id, { ...token, uses: token.uses + 1 })
      touched.add(token.id)
      return { kind: 'let_in', hostName: decided.hostName }
    })
    await store.writeArrivals(tx, [...written.values()])
    for (const id of touched) {
      await store.countUses(tx, id, tokens.get(id)!.uses, at)
      await tell(tx, system, { name: 'join_token.updated', object: { kind: 'join_token', id } })
    }
    const waiting = new Set(
      [...written.values()].filter((a) => a.result === 'waiting').map((a) => a.shard),
    )
    for (const shard of [...waiting].toSorted((a, b) => a - b))
      await engine.wake(tx, store.joinQueue, String(shard))
    return admissions
  }

  let line: Pending[] = []
  let isBusy = false
  const work = async (): Promise<void> => {
    isBusy = true
    for (let batch = line.splice(0, perBatch); batch.length > 0; batch = line.splice(0, perBatch)) {
      try {
        const admissions = await inTransaction(db, (tx) => decideAll(tx, batch))
        for (const [i, { resolve }] of batch.entries()) resolve(admissions[i]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isBusy = false
  }

  return (asked) =>
    new Promise((resolve, reject) => {
      if (line.length >= mostWaiting)
        return reject(
          new Problem(
            'unavailable',
            'Too many servers announce themselves at once. Please come back in a moment.',
            undefined,
            5,
          ),
        )
      line.push({ asked, resolve, reject })
      if (!isBusy) void work()
    })
}
