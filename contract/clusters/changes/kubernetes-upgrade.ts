/** The upgrade of a cluster's Kubernetes. */
import * as z from 'zod/mini'
import { kubernetesVersionText } from '../../versions.ts'
import { snapshotFirst } from './snapshot-first.ts'

export const UpgradeKubernetes = z.strictObject({
  kind: z.literal('upgradeKubernetes'),
  /** At most one minor release ahead. */
  version: kubernetesVersionText,
  /**
   * True: move the workload off each server before its kubelet is updated. Talos doesn't require
   * it, because containers keep running while a kubelet restarts.
   */
  drain: z._default(z.boolean(), false),
  /** True: upgrade even if programs still use APIs that the new version no longer serves. */
  accept_removed_apis: z._default(z.boolean(), false),
  ...snapshotFirst,
})
