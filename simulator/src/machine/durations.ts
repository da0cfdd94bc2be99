/**
 * Durations of a healthy simulated server, in simulated milliseconds. Real durations are minutes
 * (talos.dev: one to three for an install), but viewers of a demonstration have seconds: five
 * servers become a cluster in well under a minute at speed 1.
 */
export const TAKES = {
  firmware: 1_500,
  initialize: 700,
  leaveMaintenance: 400,
  pullInstaller: 2_600,
  partition: 700,
  writeImage: 3_200,
  kexec: 500,
  boot: 500,
  cri: 300,
  trustd: 300,
  kubelet: 600,
  etcd: 900,
  etcdPromote: 1_000,
  etcdLook: 500,
  /** Pause before Talos asks etcd again to remove a member that leaves. */
  leaveRetry: 10_000,
  /** Pause of Talos before it starts a service again that has ended. */
  restartService: 5_000,
  defragment: 1_000,
  apiServer: 1_600,
  virtualAddress: 1_000,
  registerNode: 500,
  /** Delay until the load balancer's controller reacts. */
  balance: 400,
  /** Delay until a new Deployment of the program that a cluster can run is started. */
  program: 700,
  nodeReady: 1_500,
  /** Interval of the controllers of workloads. */
  workload: 300,
  podReady: 1_500,
  podStop: 1_000,
  trustdRetry: 700,
  /** Delay until STATE has a configuration that was accepted. */
  storeState: 200,
  stopServices: 400,
  drain: 500,
  wipe: 900,
  /** Limit of Talos for closing volumes, after which a reboot fails. */
  closeVolumes: 300_000,
  /**
   * First pause before Talos retries an image pull. The pauses grow, and Talos gives up after 20
   * minutes.
   */
  pullRetry: 1_000,
  pullPatience: 1_200_000,
  /** Talos waits 10 s before it reboots after a failed sequence. */
  failedSequence: 3_500,
  pullImage: 1_500,
  /** Until a new member of a RAID has its data. */
  rebuildArray: 3_000,
} as const
