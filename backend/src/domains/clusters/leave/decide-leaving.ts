/** Whether etcd can lose a member. Pure functions of what the control planes report. */
import { no, type Verdict, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { listed } from '../sentences.ts'

export interface EtcdMembers {
  /** Learners have no vote and don't count towards a majority. */
  readonly members: readonly { readonly id: string; readonly name: string; readonly learner: boolean }[]
  /** Names of members with a healthy etcd. */
  readonly healthy: ReadonlySet<string>
}

const majorityOf = (members: number): number => Math.floor(members / 2) + 1

/**
 * Two majorities are needed (etcd, "Runtime reconfiguration"): of the current members, because the removal is a vote, and
 * of the remaining members, or the cluster loses its quorum.
 */
export function canLeaveEtcd({ members, healthy }: EtcdMembers, name: string, cluster: string): Verdict {
  const voters = members.filter((m) => !m.learner)
  if (!voters.some((m) => m.name === name)) return yes
  const staying = voters.filter((m) => m.name !== name)
  if (staying.length === 0) return no(`${name} is the only member of etcd of ${cluster}: delete the cluster instead`)
  const ill = staying.filter((m) => !healthy.has(m.name))
  const healthyStaying = staying.length - ill.length
  const first = `Bring ${listed(ill.map((m) => m.name))} back first`
  if (healthyStaying < majorityOf(staying.length))
    return no(
      `Without ${name}, etcd of ${cluster} has ${counted(staying.length, 'member')} and needs ${majorityOf(staying.length)} of them healthy, but only ${healthyStaying} ${healthyStaying === 1 ? 'is' : 'are'}. ${first}`,
    )
  const healthyNow = healthyStaying + (healthy.has(name) ? 1 : 0)
  if (healthyNow < majorityOf(voters.length))
    return no(
      `etcd of ${cluster} has no majority, so no member can be taken out of it: ${healthyNow} of ${voters.length} are healthy and ${majorityOf(voters.length)} are needed. Bring ${name}${ill.length > 0 ? ` or ${listed(ill.map((m) => m.name))}` : ''} back, or delete the cluster`,
    )
  return yes
}
