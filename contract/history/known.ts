/** What was known of a server or cluster when its history began, in words. */
import { stageSaid } from '../servers/server.ts'
import { counted } from '../words.ts'
import type { ClusterState, HistoryValues, kindsOfState, ServerState } from './kinds.ts'

type Parts = readonly (string | false | null | undefined)[]
const said = (parts: Parts): string => parts.filter(Boolean).join(', ')

const ofServer = (s: Partial<ServerState>): string =>
  said([
    s.stage !== undefined && stageSaid(s.stage),
    s.address !== undefined && `at ${s.address}`,
    s.datacenter && `in ${s.datacenter}`,
    s.placement && `at ${s.placement}`,
    s.cluster === null
      ? 'in no cluster'
      : s.cluster && `in the cluster ${s.cluster.name} as ${s.role?.replaceAll('_', ' ')}`,
    s.talos_version && `with Talos ${s.talos_version}`,
    s.hardware &&
      `with ${counted(s.hardware.length, 'part')} of hardware: ${s.hardware.join('; ')}`,
    s.reachable === false && 'without an answer',
    s.failure && `failed: ${s.failure}`,
  ])

const ofCluster = (c: Partial<ClusterState>): string =>
  said([
    c.status?.replaceAll('_', ' '),
    c.kubernetes_version && `with Kubernetes ${c.kubernetes_version}`,
    c.talos_version && `on Talos ${c.talos_version}`,
    c.endpoint && `at ${c.endpoint}`,
    c.problem && `with the problem ${c.problem.replaceAll('_', ' ')}`,
  ])

/** The state in words, for "It was …"; null if it says nothing. */
export const knownSaid = (kind: keyof typeof kindsOfState, state: HistoryValues): string | null =>
  (kind === 'server' ? ofServer(state) : ofCluster(state)) || null
