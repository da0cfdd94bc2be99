import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { CallError } from '../../../api/client.ts'
import { paths } from '../../../lib/paths.ts'
import { NotFound, Pending } from '../../../ui/feedback/PageStates.tsx'
import { Empty, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { ClusterNotFound } from '../ClusterNotFound.tsx'
import { clusterOne } from '../cluster-queries.ts'
import { isUnderWay } from '../cluster-state.ts'
import { changeForms } from './change-forms.ts'
import { type ChangeFormProps, isShownKind, kindOf } from './change-kinds.ts'

/** A link of a finding leads here too: a server can fail while its cluster is created. */
const NotYet = ({ cluster: { id, name, status }, label }: { cluster: Cluster; label: string }) => (
  <>
    <h1 className="sr">
      {label}: {name}
    </h1>
    <Empty
      boxed
      title={status === 'deleting' ? `${name} is being deleted` : `${name} is not created yet`}
      text={
        status === 'deleting'
          ? 'It can’t be changed any more. Its timeline shows how far the deletion is.'
          : 'It can be changed once it is created. A server that has failed in the creation is retried or replaced on the timeline.'
      }
      actions={
        <ActionButton label="Open its timeline" to={paths.cluster(id, 'timeline')} kind="primary" />
      }
    />
  </>
)

/** The form of one kind of change of a running cluster, with the plan of the change. */
export function ChangePage({
  id,
  kind,
  ...given
}: { id: string; kind: string } & Omit<ChangeFormProps, 'cluster'>) {
  const answer = useQuery(clusterOne(id))
  const { data: cluster, error } = answer
  if (error instanceof CallError && error.status === 404)
    return <ClusterNotFound title={error.message} />
  if (!isShownKind(kind))
    return (
      <NotFound
        noun="Change"
        title="There is no such change"
        text="Clusters have no change of this kind."
        back={{ label: 'The cluster', to: paths.cluster(id) }}
      />
    )
  if (cluster === undefined) return <Pending of={answer} rows={6} />
  const { label } = kindOf(kind)
  if (isUnderWay(cluster)) return <NotYet cluster={cluster} label={label} />
  const Form = changeForms[kind]
  return (
    <>
      <h1 className="sr">
        {label}: {cluster.name}
      </h1>
      <Suspense fallback={<SkeletonRows rows={6} />}>
        <Form key={kind} cluster={cluster} {...given} />
      </Suspense>
    </>
  )
}
