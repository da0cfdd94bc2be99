import { useQuery } from '@tanstack/react-query'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { clusterSecretsImport } from '#contract/clusters/takeover.ts'
import { lockedOutSentences } from '#contract/clusters/foreign-sentences.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './Takeover.module.css'

const importSecrets = dialog<{ cluster: Cluster }>(() => import('./ImportSecrets.tsx'))

/**
 * Notice on a cluster's page while its machines don't accept Steelyard, because somebody else
 * changed the certificate authorities.
 */
export function LockedOut({ clusterId }: { clusterId: string }) {
  const { data: cluster } = useQuery(query(clusterGet, { params: { id: clusterId } }))
  if (!cluster?.locked_out) return null
  const { authority, since } = cluster.locked_out
  return (
    <Alert tone="danger" className={css['alarm']!}>
      {lockedOutSentences[authority]}{' '}
      <span className="t3" title={exact(since)}>
        Since {moment(since)}.
      </span>
      <div className={css['act']}>
        <ActionButton
          label="Import new secrets"
          size="small"
          can={allowed(clusterSecretsImport)}
          run={() => importSecrets({ cluster })}
        />
      </div>
    </Alert>
  )
}
