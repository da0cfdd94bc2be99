/**
 * Records refused sign-ins in the audit log: some of each account one by one, the others counted,
 * because anybody can cause any number of them.
 */
import type { ErrorCode } from '#contract/errors.ts'
import type { Caller } from '../../http/caller.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import { type Entry, repeated } from '../audit/api.ts'
import type { Tx } from '../../db/db.ts'

export interface Refused {
  readonly caller: Caller
  /** The account; undefined if there is none, or it isn't known. */
  readonly person: { readonly id: string; readonly email: string } | undefined
  readonly ip: string
  /** A device from which the account has signed in before. */
  readonly device?: string | undefined
  readonly result: ErrorCode
}

const windowMs = 10 * 60_000
/**
 * Refusals of a key in a window that get entries of their own. Those of the throttle follow from
 * wrong passwords, which have theirs.
 */
const listed = (result: ErrorCode): number => (result === 'throttled' ? 1 : 10)

/** `isMerged`: stands for refusals at several accounts. */
interface Item extends Refused {
  readonly isMerged?: true
}

export function refusedSignIns({
  db,
  clock,
  log,
  record,
}: Pick<Platform, 'db' | 'clock' | 'log' | 'record'>) {
  const write = async (tx: Tx, batch: readonly Entry<Item>[]): Promise<void> => {
    for (const { item, several: counted } of batch) {
      const { caller, person, result, isMerged } = item
      await record(tx, caller, {
        action: 'session.refused',
        target:
          person && !isMerged
            ? { kind: 'user', id: person.id, name: person.email }
            : { kind: 'user', id: 'unknown' },
        result,
        ...(counted && { after: counted }),
      })
    }
  }
  const parts = {
    db,
    clock,
    log,
    write,
    merged: (item: Item): Item => ({ ...item, isMerged: true }),
    groupOf: ({ result }: Item) => result,
  }
  // Separate, so that guesses at accounts that don't exist use up no entries of real ones, and
  // strangers none of known devices.
  const strangers = repeated<Item>(parts, { windowMs, burst: 60, perHour: 60 })
  const accounts = repeated<Item>(parts, { windowMs, burst: 500, perHour: 600 })
  const devices = repeated<Item>(parts, { windowMs, burst: 500, perHour: 600 })
  return {
    async note(refused: Refused): Promise<void> {
      const { person, ip, device, result } = refused
      const more = { ip, listed: listed(result) }
      if (!person) return strangers.note(`${sourceOf(ip)} ${result}`, refused, more)
      return device === undefined
        ? accounts.note(`${person.id} ${result}`, refused, more)
        : devices.note(`${person.id} ${device} ${result}`, refused, more)
    },
    close: () =>
      Promise.all([strangers, accounts, devices].map((each) => each.close())).then(() => undefined),
  }
}
