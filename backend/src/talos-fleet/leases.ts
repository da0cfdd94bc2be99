/**
 * Assigns servers to the processes that keep contact with them. Servers are split into 64 shards by
 * their id. A process leases a fair share of the shards and loses them after `leaseMs` without
 * renewal. All times are from the database's clock, so the processes' clocks needn't agree.
 */
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { type Db, inTransaction } from '../db/db.ts'

export const shardCount = 64
const leaseMs = 20_000
const renewMs = 5_000

/** The shard of a server, from the first byte of its random UUID. */
export const shardOf = (serverId: string): number =>
  Number.parseInt(serverId.slice(0, 2), 16) % shardCount

const none: ReadonlySet<number> = new Set()

export function leases({
  db,
  clock,
  owner,
  onError,
}: {
  db: Db
  clock: Clock
  owner: string
  onError: (error: unknown) => void
}) {
  let held: ReadonlySet<number> = none
  /**
   * Monotonic time until which the leases are certainly valid, unaffected by changes of the wall
   * clock. Counted from the time before the request to the database was sent.
   */
  let certainUntil = 0

  const lease = sql`${`${leaseMs} milliseconds`}::interval`
  const fairShare = (members: number): number => Math.ceil(shardCount / Math.max(1, members))

  /**
   * Renews this process's leases with a single statement, which is enough as long as no process
   * comes or goes: an idle process does little else. Returns undefined if the shards have to be
   * shared anew.
   */
  const keep = async (): Promise<ReadonlySet<number> | undefined> => {
    // Locked in a fixed order, as in `share`.
    const { rows } = await sql<{
      mine: number[]
      isMember: boolean
      members: number
      hasDead: boolean
      hasFree: boolean
    }>`
      with mine as materialized (select shard from fleet_shard where owner = ${owner} and lease_until >= now() order by shard for update),
      renewed as (update fleet_shard set lease_until = now() + ${lease} where shard in (select shard from mine)),
      beat as (update fleet_member set beat_at = now() where id = ${owner} returning id)
      select array(select shard from mine) as mine, exists(select from beat) as "isMember", (select count(*)::integer from fleet_member) as members,
        exists(select from fleet_member where beat_at < now() - ${lease}) as "hasDead",
        exists(select from fleet_shard where coalesce(lease_until < now(), true) or owner is null) as "hasFree"`.execute(
      db,
    )
    const { mine, isMember, members, hasDead, hasFree } = rows[0]!
    const fair = fairShare(members)
    const isFair = mine.length === fair || (mine.length < fair && !hasFree)
    return isMember && !hasDead && isFair ? new Set(mine) : undefined
  }

  /** Takes a fair share of the shards. */
  const share = (): Promise<ReadonlySet<number>> =>
    inTransaction(db, async (tx) => {
      await sql`insert into fleet_member (id, beat_at) values (${owner}, now()) on conflict (id) do update set beat_at = now()`.execute(
        tx,
      )
      await sql`delete from fleet_member where beat_at < now() - ${lease}`.execute(tx)
      const { rows: members } = await sql`select from fleet_member`.execute(tx)
      const fair = fairShare(members.length)
      // Locked in a fixed order, so that concurrent processes wait for each other instead of
      // deadlocking.
      const { rows: shards } = await sql<{ shard: number; owner: string | null; free: boolean }>`
        select shard, owner, coalesce(lease_until < now(), true) as free from fleet_shard order by shard for update`.execute(
        tx,
      )
      const mine = shards.filter((s) => s.owner === owner && !s.free).map((s) => s.shard)
      const free = shards.filter((s) => s.free || s.owner === null).map((s) => s.shard)
      const wanted = [...mine.slice(0, fair), ...free].slice(0, fair)
      if (wanted.length > 0)
        await sql`update fleet_shard set owner = ${owner}, lease_until = now() + ${lease} where shard = any(${wanted})`.execute(
          tx,
        )
      const surplus = mine.filter((s) => !wanted.includes(s))
      if (surplus.length > 0)
        await tx
          .updateTable('fleet_shard')
          .set({ owner: null, lease_until: null })
          .where('shard', 'in', surplus)
          .execute()
      return new Set(wanted)
    })

  const renew = async (): Promise<void> => {
    const asked = clock.monotonic()
    const given = (await keep()) ?? (await share())
    if (given.symmetricDifference(held).size > 0) held = given
    certainUntil = asked + leaseMs
  }

  return {
    /**
     * The shards that are currently assigned to this process. It is the same object until they
     * change.
     */
    shards: (): ReadonlySet<number> => (clock.monotonic() < certainUntil ? held : none),
    /** Takes, renews and releases leases; called every few seconds by `run`, and by tests. */
    renew,
    /** Renews the leases until aborted, then releases them all. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          await renew()
        } catch (error) {
          onError(error)
        }
        await clock.sleep(renewMs, signal).catch(() => undefined)
      }
      held = none
      try {
        await inTransaction(db, async (tx) => {
          await tx
            .updateTable('fleet_shard')
            .set({ owner: null, lease_until: null })
            .where('owner', '=', owner)
            .execute()
          await tx.deleteFrom('fleet_member').where('id', '=', owner).execute()
        })
      } catch (error) {
        // If the release fails, the leases expire by themselves.
        onError(error)
      }
    },
  }
}
