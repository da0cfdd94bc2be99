/** Removes a lost server from etcd and Kubernetes. Level-triggered, safe to repeat. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Job } from '../../../engine/engine.ts'
import { canLeaveEtcd } from './decide-leaving.ts'
import type { State } from '../facts.ts'
import { KubernetesError } from '../../../kubernetes/client.ts'
import { nodePath } from '../kubernetes-objects.ts'
import type { Reach } from '../reach.ts'
import type * as store from '../store.ts'

export interface Forgetting {
  /** Null if it is no etcd member (or it is alive and `onlyDead` is set), else why it still is one. */
  fromEtcd(job: Job, state: State, m: store.MemberRow, options?: { onlyDead: boolean }): Promise<string | null>
  /** Null if it is no Kubernetes node, else why it still is one. */
  fromKubernetes(job: Job, state: State, m: store.MemberRow): Promise<string | null>
}

export const forgetting = (reached: Reach): Forgetting => ({
  async fromEtcd(job, state, m, { onlyDead } = { onlyDead: false }) {
    if (m.role !== 'control_plane') return null
    const others = state.members.filter((other) => other.node_id !== m.node_id)
    const etcd = await reached.etcd(state.members, job.signal, onlyDead ? undefined : m.node_id)
    if (!etcd) return `No control plane of ${state.row.name} tells who the members of etcd are`
    const member = etcd.members.find((e) => e.name === m.name)
    if (!member || (onlyDead && etcd.healthy.has(m.name))) return null
    const allowed = canLeaveEtcd(etcd, m.name, state.row.name)
    if (!allowed.ok) return allowed.reason
    try {
      await job.effect(`forget-member/${m.node_id}`, () => reached.removeEtcdMember(others, m.node_id, member.id, job.signal))
      return null
    } catch (error) {
      if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
      return `${m.name} can't be taken out of etcd: ${error.message}`
    }
  },

  async fromKubernetes(job, state, m) {
    try {
      const client = await reached.api(state)
      await job.effect(`forget-node/${m.node_id}`, () => client.remove(nodePath(m.name), job.signal))
      return null
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      return `The Kubernetes API does not answer: ${error.message}`
    }
  },
})
