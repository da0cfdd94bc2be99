import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { CallError } from '../../../api/client.ts'
import { paths } from '../../../lib/paths.ts'
import { NotFound, Pending } from '../../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { ClusterNotFound } from '../ClusterNotFound.tsx'
import { clusterOne } from '../cluster-queries.ts'
import { changeForms } from './change-forms.ts'
import { type ChangeFormProps, isShownKind, kindOf } from './change-kinds.ts'

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
