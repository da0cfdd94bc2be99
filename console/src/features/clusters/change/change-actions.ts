/**
 * Actions that change a running cluster, for its page, ⌘K and the lines of its health. Each opens
 * the page of its form.
 */
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { canMoveToDocuments } from '#contract/clusters/changes/documents.ts'
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { type Action, both } from '../../../ui/actions.ts'
import { kindOf, type ShownKind, shownKinds } from './change-kinds.ts'

const isRunning = ({ status }: Pick<Cluster, 'status'>): Verdict =>
  status === 'ready' || status === 'degraded'
    ? yes
    : no(status === 'deleting' ? 'The cluster is being deleted' : 'The cluster is not ready yet')

/**
 * `kinds`: the kinds of changes, in this order. Default: all. `server`: id of the server that is
 * preselected in the forms.
 */
export const changeActions = (
  cluster: Cluster,
  kinds: readonly ShownKind[] = shownKinds,
  server?: string,
): Action[] =>
  kinds.map((kind) => {
    const { label, icon } = kindOf(kind)
    return {
      label,
      icon,
      can: both(
        allowed(clusterChange),
        isRunning(cluster),
        kind === 'documents' ? canMoveToDocuments(cluster) : yes,
      ),
      to: paths.changeCluster(cluster.id, kind, server === undefined ? {} : { server }),
    }
  })

/** The changes that settle a problem, with the server preselected. */
export const remedyActions = (cluster: Cluster, remedies: readonly Remedy[]): Action[] =>
  remedies.flatMap(({ change, node_id, name }) =>
    changeActions(cluster, [change], node_id ?? undefined).map((action) =>
      change === 'shrink' && node_id !== null
        ? {
            ...action,
            label: `Remove ${name} by force`,
            to: paths.changeCluster(cluster.id, change, { server: node_id, force: 'true' }),
          }
        : action,
    ),
  )
