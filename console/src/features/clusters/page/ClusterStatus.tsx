import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { findingsOfCluster } from '../../../layout/findings/ObjectFindings.tsx'
import { pageOfFinding } from '../../../layout/findings/remedies.ts'
import { findingTones } from '../../../ui/feedback/finding-tones.ts'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { clusterSaid, isUnderWay } from '../cluster-state.ts'

/** The worst of what is wrong with the cluster and with its servers, and else the cluster's status. */
export function ClusterStatus({ cluster }: { cluster: Cluster }) {
  const { data, isError } = useQuery(findingsOfCluster(cluster.id))
  const worst = isUnderWay(cluster) ? undefined : data?.items[0]
  if (worst !== undefined && worst.object.id !== cluster.id)
    return (
      <StatusDot
        tone={findingTones[worst.severity]}
        whole
        why={
          <>
            <a href={pageOfFinding(worst)}>{worst.object.name}</a>: {worst.reason}
          </>
        }
      >
        {findingKinds[worst.kind].word}
      </StatusDot>
    )
  const { tone, word } = clusterSaid(cluster)
  const isUnread = isError && data === undefined
  return (
    <StatusDot
      tone={tone}
      whole
      why={cluster.reason ?? (isUnread ? 'The findings of its servers could not be loaded' : null)}
    >
      {word}
    </StatusDot>
  )
}
