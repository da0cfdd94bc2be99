/** What runs where in a cluster: its pods, read from its Kubernetes API during the call. */
import * as z from 'zod/mini'
import { operation } from '../operation.ts'
import { time } from '../page.ts'

/**
 * What a drain of the pod's server does with it, as `kubectl drain --ignore-daemonsets` does:
 * `moved`, its controller creates it again elsewhere; `stays`, a pod of a DaemonSet or a static
 * pod; `lost`, nothing creates it again; `ended`, it has ended already.
 */
const drainEffects = ['moved', 'stays', 'lost', 'ended'] as const
export type DrainEffect = (typeof drainEffects)[number]

const ClusterPod = z.object({
  namespace: z.string(),
  name: z.string(),
  /** Name of its node in Kubernetes; null until the pod is scheduled. */
  node: z.nullable(z.string()),
  /** The server of the cluster with that name; null if there is none. */
  node_id: z.nullable(z.uuid()),
  /**
   * What creates the pod, such as Deployment and its name; null for a pod that nothing creates
   * again.
   */
  owner: z.nullable(z.object({ kind: z.string(), name: z.string() })),
  /**
   * As `kubectl get pods` shows it: the phase, or why a container waits or has ended, such as
   * CrashLoopBackOff.
   */
  state: z.string(),
  /** Every container is ready (condition Ready), or the pod has ended with success. */
  ready: z.boolean(),
  /**
   * Why it is not ready, in the words of Kubernetes; null if it is ready or Kubernetes gives no
   * reason.
   */
  reason: z.nullable(z.string()),
  containers_ready: z.int(),
  containers: z.int(),
  /** Restarts of its containers, added up. */
  restarts: z.int(),
  started_at: z.nullable(time),
  on_drain: z.enum(drainEffects),
})
export type ClusterPod = z.infer<typeof ClusterPod>

/**
 * Maximum number of pods in one answer. The pods that are not ready come first, so they are the
 * last to be left out.
 */
export const mostListedPods = 1000

const ClusterPods = z.object({
  items: z.array(ClusterPod),
  /** Number of pods that match, with those that are left out. */
  total: z.int(),
  /** Number of matching pods that are not ready. */
  not_ready: z.int(),
})
export type ClusterPods = z.infer<typeof ClusterPods>

export const clusterPods = operation('clusterPods', 'GET /v1/clusters/{id}/pods', 'clusters:read', {
  summary: `The pods of a cluster, read now from its Kubernetes API: those that are not ready first, at most ${mostListedPods}.`,
  query: z.strictObject({
    /** Only pods on this server. */
    node_id: z.optional(z.uuid()),
    /**
     * Only pods whose namespace/name or owner contains this text; upper and lower case are the
     * same.
     */
    q: z.optional(z.string().check(z.maxLength(200))),
  }),
  answer: ClusterPods,
  errors: ['cluster_not_ready', 'server_unreachable'],
})
