/** What a new cluster has from its first moment, besides its servers and its networks. */
import * as z from 'zod/mini'
import { ExtensionNames, KernelArgs } from '../images/customization.ts'
import { AllLabels } from '../labels/labels.ts'
import { NewSnapshotSchedule } from './changes/snapshot-schedule.ts'
import { MaintenanceWindow } from './changes/window.ts'

export const FirstSettings = z.strictObject({
  labels: z.optional(AllLabels),
  maintenance_window: z.optional(z.nullable(MaintenanceWindow)),
  snapshots: z.optional(z.nullable(NewSnapshotSchedule)),
  /**
   * Extensions and kernel arguments of the image that is installed on every server. Left out: those
   * of the image that the server runs.
   */
  extensions: z.optional(ExtensionNames),
  kernel_args: z.optional(KernelArgs),
  /** Subnets that the cluster has from now on. Its load balancer gets them once it is ready. */
  subnet_ids: z.optional(z.array(z.uuid()).check(z.maxLength(200))),
})
