import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterFilesRelease, heldByFiles } from '#contract/clusters/files.ts'
import { call } from '../../../api/client.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { confirm } from '../../../ui/actions.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'

/** Notice on the page of a cluster that only a set of files changes, with the way to release it. */
export default function HeldByFiles({ cluster }: { cluster: Cluster }) {
  const { id, name, files = null } = cluster
  if (files === null) return null
  const release = () =>
    confirm({
      title: `Release ${name} from its files?`,
      label: 'Release',
      text: `Everybody who may change clusters can then change ${name}. The next apply of the set ${files.set} changes it back to its files, and locks it again if they say so.`,
      act: async () => {
        await call(clusterFilesRelease, { params: { id } })
        await refreshClusters()
      },
    })
  return (
    <Alert tone="info">
      <p>{heldByFiles(name, files)}.</p>
      <ActionButton label="Release" size="small" can={allowed(clusterFilesRelease)} run={release} />
    </Alert>
  )
}
