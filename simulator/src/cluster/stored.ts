/** What the simulator stores of an etcd cluster and its data. */
import type { LoadBalancer } from '../kubernetes/balancing/definitions.ts'

/** A member of an etcd cluster. */
export interface Member {
  /** 64 bits as hexadecimal. */
  id: string
  /**
   * Number of the machine in the fleet. A machine that was wiped and joined again is a new member.
   */
  machine: number
  name: string
  address: string
  learner: boolean
  /** Size of the member's database file if it differs from the size of its content. */
  dbBytes?: number
}

export interface KubernetesState {
  /** The load balancer of Services; undefined until a load balancer has first run. */
  loadBalancer?: LoadBalancer
  resourceVersion: number
  deprecatedApis?: DeprecatedApi[]
  /** Objects by storage key, `group/plural/namespace/name`. */
  objects: Record<string, StoredObject>
}

/** A deprecated API that a client has called. */
export interface DeprecatedApi {
  group: string
  version: string
  resource: string
  subresource: string
  /** The Kubernetes release without this API, such as `1.37`. */
  removed_release: string
}

export interface StoredObject {
  body: Record<string, unknown>
  /** Fields by field manager, for server-side apply. */
  managers: Record<string, string[]>
  /**
   * The key with which the API server has encrypted the object: its kind and a hash of it.
   * Undefined: not encrypted.
   */
  key?: string
}

/** The file of an etcd cluster. */
export interface Stored {
  id: string
  talosId: string
  name: string
  caCrt: string
  createdBy: number
  members: Member[]
  term: number
  alarms?: Alarm[]
  /** Whether the cluster was restored from a snapshot. */
  isRecovered?: boolean
  /** The minor of the cluster's version, which only rises: 7 for 3.7. Unset for 3.6. */
  etcdMinor?: number
  counters?: ClusterCounters
  kubernetes: KubernetesState
}

/** An alarm of a member. It stops writes to the whole cluster until it is disarmed. */
export interface Alarm {
  member: string
  alarm: 'nospace' | 'corrupt'
}

/** Counters of problems in a cluster since it was created. */
export interface ClusterCounters {
  /** How often etcd lost its quorum. */
  quorumLosses: number
  /**
   * How often a PodDisruptionBudget had fewer healthy pods than it requires, after it had enough.
   */
  budgetBreaches: number
  /** Largest number of nodes that were not ready at the same time, after they had been ready. */
  mostUnready: number
}
