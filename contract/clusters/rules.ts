/** What may be done to a cluster. */
import { forNow, no, type Verdict, yes } from '../rule.ts'
import type { Cluster, ClusterRole } from './clusters.ts'

/** Talos needs 1,698 MiB on a control plane and 874 MiB on a worker (its own checks). */
export const leastMemoryBytes: Readonly<Record<ClusterRole, number>> = {
  control_plane: 1698 * 1024 ** 2,
  worker: 874 * 1024 ** 2,
}

/**
 * A talosconfig works as soon as one server answers, and is needed to debug a creation that hangs.
 */
export const canDownloadTalosconfig = (c: Pick<Cluster, 'talos_answers'>): Verdict =>
  c.talos_answers ? yes : forNow('No server of the cluster answers over its secured API yet')

/** A kubeconfig can be issued after the control plane has answered. */
export const canDownloadKubeconfig = (c: Pick<Cluster, 'status'>): Verdict =>
  c.status === 'ready' || c.status === 'degraded' ? yes : forNow('The cluster is not ready yet')

export const canDeleteCluster = (c: Pick<Cluster, 'status'>): Verdict =>
  c.status === 'deleting' ? no('The cluster is being deleted already') : yes
