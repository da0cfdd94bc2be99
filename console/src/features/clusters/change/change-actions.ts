/** Actions that change a running cluster, for its page, ⌘K and the lines of its health. Each opens the page of its form. */
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { HealthTopic } from '#contract/clusters/health.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { type Action, both } from '../../../ui/actions.ts'
import { kindOf, shownKinds } from './change-kinds.ts'

const isRunning = ({ status }: Pick<Cluster, 'status'>): Verdict =>
  status === 'ready' || status === 'degraded' ? yes : no(status === 'deleting' ? 'The cluster is being deleted' : 'The cluster is not ready yet')

/** `topic`: only the changes that improve this topic of the cluster's health. */
export const changeActions = (cluster: Cluster, topic?: HealthTopic): Action[] =>
  shownKinds.flatMap((kind): Action[] => {
    const { label, icon, for: topics } = kindOf(kind)
    if (topic !== undefined && !topics.includes(topic)) return []
    return [{ label, icon, can: both(allowed(clusterChange), isRunning(cluster)), to: paths.changeCluster(cluster.id, kind) }]
  })
