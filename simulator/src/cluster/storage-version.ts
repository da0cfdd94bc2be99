import { releaseOf } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import type { EtcdCluster } from './etcd.ts'

/** The oldest etcd that is simulated: 3.6. */
const OLDEST = 6

/** Minor of the etcd 3 that a machine runs. */
export const minorOfEtcd = ({ talosMinor }: Machine): number =>
  Number(releaseOf(talosMinor).etcd.split('.')[1])

/** The version of the cluster and its data, without a patch release. */
export const storageVersionOf = ({ state }: EtcdCluster): string =>
  `3.${state.etcdMinor ?? OLDEST}.0`

/**
 * Raises the cluster's version to that of its oldest member once all members run (etcd:
 * server/etcdserver/version/monitor.go).
 */
export const raiseVersion = (cluster: EtcdCluster): void => {
  const { members, etcdMinor = OLDEST } = cluster.state
  if (!members.every((member) => cluster.isAlive(member))) return
  const minors = members.flatMap((member) => {
    const machine = cluster.machineOf(member)
    return machine ? minorOfEtcd(machine) : []
  })
  const least = Math.min(...minors)
  if (Number.isFinite(least) && least > etcdMinor)
    cluster.change((state) => (state.etcdMinor = least))
}

/**
 * Why a machine's etcd ends at its start, or null: it is older than the cluster (etcd:
 * server/etcdserver/api/membership/downgrade.go).
 */
export const downgradeProblem = (cluster: EtcdCluster, machine: Machine): string | null => {
  const version = releaseOf(machine.talosMinor).etcd.replace(/^v/, '')
  const { etcdMinor = OLDEST } = cluster.state
  return minorOfEtcd(machine) < etcdMinor
    ? `invalid downgrade; server version is lower than determined cluster version: current-server-version ${version}, determined-cluster-version 3.${etcdMinor}`
    : null
}
