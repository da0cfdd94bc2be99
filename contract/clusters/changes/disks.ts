/**
 * The workload disks of a server of a running cluster. Workload disks belong to the programs in the
 * cluster, and are wiped when the server leaves it.
 */
import * as z from 'zod/mini'
import { devicePath } from '../../disks/disks.ts'

const disk = z
  .string()
  .check(
    z.trim(),
    z.regex(
      /^(?:\/dev\/)?[a-zA-Z0-9][a-zA-Z0-9/_.:-]{0,119}$/,
      'A disk is given by its id or its device path, such as nvme1n1 or /dev/nvme1n1',
    ),
    z.overwrite(devicePath),
  )
const disks = z._default(z.array(disk).check(z.maxLength(64)), [])

export const ChangeDisks = z.strictObject({
  kind: z.literal('disks'),
  node_id: z.uuid(),
  /** Disks that become workload disks. The change writes nothing to them. */
  add: disks,
  /** Disks that stop being workload disks. */
  remove: disks,
  /** Wipe the removed disks. Talos refuses to wipe a disk that is in use. */
  wipe: z._default(z.boolean(), false),
})
