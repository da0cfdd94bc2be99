import { Problem } from '#contract/errors.ts'
import type { Disk, DiskFacts } from '#contract/disks/disks.ts'
import type { Tx } from '../../db/db.ts'
import { heldSentence, holdOf } from '../../engine/holds.ts'

/** @throws Problem operation_running for a held object */
export async function demandFree(tx: Tx, key: string, name: string): Promise<void> {
  if (await holdOf(tx, key)) throw new Problem('operation_running', heldSentence(name))
}

/** The identifying fields of a disk. */
export const shownDisk = ({
  id,
  size,
  type,
  model,
  serial,
  wwid,
  transport,
  readonly,
  content,
}: DiskFacts): Disk =>
  Object.fromEntries(
    Object.entries({ id, size, type, model, serial, wwid, transport, readonly, content }).filter(
      ([, value]) => value !== null && value !== undefined && value !== '',
    ),
  ) as Disk
