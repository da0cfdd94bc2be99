/**
 * Holds: objects that no reconciler may touch. After a restore each cluster is held until a user
 * resumes it, because the database may be in an older state than the machines. Claiming an object
 * checks for holds, so the check covers every reconciler.
 */
import type { Db, Tx } from '../db/db.ts'
import type { Taken, Work } from './job.ts'

/**
 * The object that a user resumes: a cluster with its servers, or an operation that belongs to no
 * cluster.
 */
export type HoldOwner = { readonly kind: 'cluster' | 'operation'; readonly id: string }

/** The reason why nothing is started on a held object. */
export const heldSentence = (name: string): string =>
  `${name} is in the older state that the database was restored to: nothing is sent to it until somebody has checked and resumed it`

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The leading id of a wake-up key: `<cluster id>/<node id>`, `<server id>`. Null for other keys.
 */
const subjectOf = (key: string): string | null => {
  const first = key.split('/', 1)[0]!
  return uuid.test(first) ? first : null
}

export async function holdOf(on: Db | Tx, key: string): Promise<HoldOwner | undefined> {
  const subject = subjectOf(key)
  return subject === null
    ? undefined
    : on.selectFrom('hold').select(['kind', 'id']).where('subject', '=', subject).executeTakeFirst()
}

/** Numbers of held clusters and of other held operations. */
export async function heldCounts(on: Db | Tx): Promise<Record<HoldOwner['kind'], number>> {
  const owners = await on.selectFrom('hold').select(['kind', 'id']).distinct().execute()
  const count = (kind: HoldOwner['kind']) => owners.filter((o) => o.kind === kind).length
  return { cluster: count('cluster'), operation: count('operation') }
}

/**
 * If the object is held, defers its claimed wake-up until the release and returns true. The lock on
 * the hold's row delays a concurrent release, so that the release finds the deferred wake-up.
 */
export async function putAside(tx: Tx, { queue, key, fence }: Taken): Promise<boolean> {
  const subject = subjectOf(key)
  if (subject === null) return false
  const held = await tx
    .selectFrom('hold')
    .select('subject')
    .where('subject', '=', subject)
    .forShare()
    .executeTakeFirst()
  if (!held) return false
  const aside = { owner: null, beat_at: null, due_at: null, held: true }
  await tx
    .updateTable('wake_up')
    .set(aside)
    .where('queue', '=', queue)
    .where('key', '=', key)
    .where('fence', '=', fence)
    .execute()
  return true
}

/** Ends the holds of an owner. Returns their subjects and the deferred wake-ups. */
export async function endHold(
  tx: Tx,
  { kind, id }: HoldOwner,
): Promise<{ subjects: string[]; aside: Work[] }> {
  const ended = await tx
    .deleteFrom('hold')
    .where('kind', '=', kind)
    .where('id', '=', id)
    .returning('subject')
    .execute()
  const subjects = new Set(ended.map((row) => row.subject))
  const rows = await tx
    .selectFrom('wake_up')
    .select(['queue', 'key'])
    .where('held', '=', true)
    .execute()
  const aside = rows.filter(({ key }) => subjects.has(subjectOf(key) ?? ''))
  for (const { queue, key } of aside)
    await tx
      .updateTable('wake_up')
      .set({ held: false })
      .where('queue', '=', queue)
      .where('key', '=', key)
      .execute()
  return { subjects: [...subjects], aside }
}
