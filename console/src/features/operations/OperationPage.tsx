import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { hasEnded, type Operation, operationTitle } from '#contract/operations.ts'
import { bulkKindOf, bulkServerName } from '#contract/servers/bulk-acts.ts'
import { sharedPatchServers } from '#contract/shared-patches/shared-patches.ts'
import { CallError } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { allowed, mayManageUsers } from '../../api/session.ts'
import { operationActions } from '../../layout/operations/operation-actions.ts'
import { operationOne } from '../../layout/operations/operation-queries.ts'
import {
  hasBegun,
  operationSaid,
  targetPage,
  tookMs,
} from '../../layout/operations/operation-state.ts'
import { OperationTimeline } from '../../layout/operations/OperationTimeline.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { paths } from '../../lib/paths.ts'
import { duration } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { NotFound, Pending } from '../../ui/feedback/PageStates.tsx'
import { Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { Time } from '../../ui/table/list-columns.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { Facts, PageHeader } from '../../ui/text/Panel.tsx'

/** One operation with its steps, running or past. */
export function OperationPage({ id }: { id: string }) {
  const answer = useQuery(operationOne(id))
  const { data: operation, error, isRefetchError, dataUpdatedAt, refetch } = answer
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Operation"
        title={error.message}
        text="It never existed, or you are not allowed to see what it is about."
        back={{ label: 'All operations', to: paths.operations() }}
      />
    )
  if (operation === undefined) return <Pending of={answer} rows={10} />
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Shown operation={operation} />
    </>
  )
}

function Shown({ operation: o }: { operation: Operation }) {
  const { target } = o
  // After a deletion the cluster is gone, and the steps are shown without its servers.
  const { data: cluster } = useQuery({
    ...query(clusterGet, { params: { id: target.id ?? '' } }),
    enabled: target.kind === 'cluster' && target.id !== null && allowed(clusterGet).ok,
    retry: false,
  })
  const { data: patched } = useQuery({
    ...query(sharedPatchServers, { params: { id: target.id ?? '' } }),
    enabled: target.kind === 'shared_patch' && target.id !== null,
    retry: false,
  })
  const actions = useMemo(() => operationActions(o, cluster), [o, cluster])
  const title = operationTitle(o)
  useCommands(title, actions)
  useEffect(() => {
    document.title = `${title} · Steelyard`
  }, [title])
  const now = useNow(!hasEnded(o))
  const { tone, word } = operationSaid(o)
  const page = targetPage(o)
  return (
    <>
      <PageHeader name={title} status={<StatusDot tone={tone}>{word}</StatusDot>}>
        <Facts
          rows={[
            [
              o.kind === 'serverBulk' ? 'Servers' : kindOf[target.kind],
              page === null ? target.name : <a href={page}>{target.name}</a>,
            ],
            o.kind === 'serverBulk' && [
              'Take part',
              'Only the servers that were chosen. One that gets their labels later does not.',
            ],
            ['Requested by', o.created_by],
            ['Requested', <Time key="at" at={o.created_at} />],
            o.starts_at !== null &&
              o.starts_at !== undefined && ['Begins', <Time key="begin" at={o.starts_at} />],
            o.in_window === true && ['Only', 'In the maintenance window'],
            hasBegun(o) && [hasEnded(o) ? 'Took' : 'Running for', duration(tookMs(o, now))],
            o.ended_at !== null && ['Ended', <Time key="end" at={o.ended_at} />],
            ['Id', <Copyable key="id" value={o.id} what="operation id" />],
            mayManageUsers().ok && [
              'Audit log',
              <a
                key="audit"
                href={paths.audit({
                  target: target.kind === 'datacenter' ? o.id : (target.id ?? o.id),
                })}
              >
                Entries
              </a>,
            ],
          ]}
        />
      </PageHeader>
      <OperationTimeline
        operation={o}
        cluster={cluster}
        servers={
          o.kind === 'serverBulk'
            ? serversOf(o)
            : patched?.items.map(({ server: { id, name } }) => ({ node_id: id, name }))
        }
        ownPage
      />
    </>
  )
}

/** The servers of an act on many. */
const serversOf = (o: Operation) =>
  o.steps.flatMap((step) =>
    step.node_id === null
      ? []
      : [{ node_id: step.node_id, name: bulkServerName(step, bulkKindOf(o)) }],
  )

const kindOf: Readonly<Record<Operation['target']['kind'], string>> = {
  cluster: 'Cluster',
  server: 'Server',
  datacenter: 'Servers',
  shared_patch: 'Shared patch',
}
