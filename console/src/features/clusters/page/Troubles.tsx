import type { Cluster } from '#contract/clusters/clusters.ts'
import { paths } from '../../../lib/paths.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import css from './ClusterPage.module.css'

/** What Steelyard can't do with the cluster now, and what of it Steelyard tries again by itself. */
export function Troubles({ troubles }: Pick<Cluster, 'troubles'>) {
  if (troubles.length === 0) return null
  const isAllRetried = troubles.every(({ retried }) => retried === true)
  return (
    <Alert tone="warn" className={css['troubles'] ?? ''}>
      <b>Steelyard cannot complete a task for this cluster.</b>
      {isAllRetried && ' Steelyard tries again by itself.'}
      <ul>
        {troubles.map(({ node_id, message, retried }) => (
          <li key={message}>
            {message} {retried === true && !isAllRetried && '(Steelyard tries again by itself) '}
            {node_id !== null && <a href={paths.server(node_id)}>Open the server</a>}
          </li>
        ))}
      </ul>
    </Alert>
  )
}
