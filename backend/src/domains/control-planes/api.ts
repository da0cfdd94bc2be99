/**
 * What other domains may call of control planes. This domain observes etcd, Kubernetes and the
 * control planes of a cluster, and says what may be done to them. It keeps nothing of a cluster: the
 * caller gives it a `ClusterView`, which is what the caller knows of the cluster at this moment.
 * Each function is documented where it is written.
 */

/** A cluster as this domain sees it. */
export {
  type ClusterState,
  type ClusterView,
  type ControlPlaneParts,
  factsOf,
  isWanted,
  talosOf,
} from './view.ts'

/** Its Kubernetes, and the marks of Steelyard on its nodes. */
export {
  controlPlanesOf,
  cordonedBy,
  hasOurMark,
  isCordoned,
  isOurCordon,
  kubernetesOf,
  nodePath,
} from './kubernetes.ts'
export {
  askApiServers,
  askControlPlanes,
  askNodes,
  askPods,
  type Heard,
  isOwnDelay,
  mostPods,
  nodesHealth,
} from './ask-kubernetes.ts'
export { type UnreadyPod, unreadyPods } from './pods.ts'
export { drainEffectOf } from './drain-effect.ts'

/** How its control planes are, and whether one of them may be changed now. */
export {
  type Component,
  type ControlPlaneState,
  type Illness,
  type NotReady,
  sentenceOf,
  settled,
  whyNotReady,
  whyOthersForbid,
} from './judge.ts'
export { controlPlanesNow, kubeletNow } from './read.ts'
export { namesLeaving, touching, whyNotRequest } from './touching.ts'

/** Its etcd: how the members are, which may leave, and what settles a problem. */
export {
  checkAlarms,
  checkEtcd,
  etcdRemedies,
  etcdReports,
  etcdTrouble,
  hasMajority,
  isPassing,
  leaderLast,
  type MemberReport,
} from './etcd.ts'
export { askEtcd, etcdHealth } from './ask-etcd.ts'
export { etcdIll, hasGivenUp, isGivenUp } from './given-up.ts'
export { readEtcd } from './read-etcd.ts'
export { whyNotRestart } from './strangers.ts'
export {
  canBeOff,
  canLeaveEtcd,
  type EtcdMembers,
  etcdMembers,
  isHealthyIn,
  removalOfTwins,
  removeFromEtcd,
  removeFromKubernetes,
  whyNotNow,
  whyStay,
} from './removal.ts'

/** Versions of Kubernetes and Talos: which follow which, and which images they have. */
export {
  type ApiServer,
  bare,
  imageFor,
  minorOf,
  pathProblem,
  type StaticPod,
  staticPods,
} from './versions/kubernetes.ts'
export {
  etcdBackProblem,
  etcdJoinProblem,
  passesOf,
  takesPart,
  talosPathProblems,
} from './versions/talos.ts'

/** Checks of plans, and the changes that settle a failed one. */
export { check, forNowIf } from './checks.ts'
export { remedy, remedyForEach, settleFull } from './remedies.ts'
