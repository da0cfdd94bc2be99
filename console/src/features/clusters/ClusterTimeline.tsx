import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Cluster } from '#contract/clusters.ts'
import { clusterServerReplace } from '#contract/clusters.ts'
import { canCancelOperation, canRetryOperation, hasEnded, type Operation, operationCancel, operationRetry } from '#contract/operations.ts'
import { serverLogs } from '#contract/servers.ts'
import { operationTitle } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { duration, exact, moment } from '../../lib/time.ts'
import { useNow } from '../../lib/use-now.ts'
import { both, confirm } from '../../ui/actions.ts'
import { Button } from '../../ui/Button.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx'
import { Alert, StatusDot } from '../../ui/Status.tsx'
import { Matrix, Timeline } from '../../ui/Timeline.tsx'
import { toast } from '../../ui/toast.ts'
import css from './ClusterPage.module.css'
import { operationOne, operationsOf, refreshClusters } from './cluster-queries.ts'
import { ReplaceServer } from './ReplaceServer.tsx'
import { matrixOf, type Phase, phaseCount, phasesOf, logLine } from './timeline.ts'

const canReplace = both(allowed(clusterServerReplace))

/** The operation on the cluster, step by step as it happens; the last one where nothing is under way. */
export function ClusterTimeline({ cluster }: { cluster: Cluster }) {
  const all = useQuery(operationsOf(cluster.id))
  const id = all.data?.items.find((o) => !hasEnded(o))?.id ?? cluster.operation_id ?? all.data?.items[0]?.id
  if (id === undefined) {
    if (all.error) return <ErrorState boxed error={all.error} onRetry={() => void all.refetch()} />
    return all.data ? <Empty boxed title="Nothing has been done to this cluster" /> : <SkeletonRows rows={8} />
  }
  return (
    <>
      <OperationView key={id} id={id} cluster={cluster} />
      <Earlier operations={(all.data?.items ?? []).filter((o) => o.id !== id)} />
    </>
  )
}

const endWord = { done: 'done', failed: 'failed', cancelled: 'cancelled' } as Record<string, string>

function OperationView({ id, cluster }: { id: string; cluster: Cluster }) {
  const { data: operation, error, refetch } = useQuery(operationOne(id))
  const running = operation !== undefined && !hasEnded(operation)
  const now = useNow(running)
  const client = useQueryClient()
  const [replacing, setReplacing] = useState<{ node_id: string; name: string } | null>(null)
  if (operation === undefined) return error ? <ErrorState boxed error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={10} />

  const list = phasesOf(operation.steps, cluster.servers, !running)
  const { at, of } = phaseCount(list)
  const began = Date.parse(operation.started_at ?? operation.created_at)
  const took = duration((operation.ended_at ? Date.parse(operation.ended_at) : now) - began)
  const failed = list.find((p) => p.state === 'failed')
  const matrix = matrixOf(operation, cluster.servers, !running)
  const retry = async () => {
    try {
      await call(operationRetry, { params: { id } })
      await refreshClusters(client)
    } catch (problem) {
      toast.error(reasonOf(problem))
    }
  }
  const cancel = () =>
    confirm({
      title: `Cancel: ${operationTitle(operation)}?`,
      label: 'Cancel operation',
      out: 'Let it go on',
      text:
        operation.kind === 'clusterSubnetsAssign'
          ? 'What is not done yet is turned back: the cluster keeps the subnets that it had.'
          : 'It stops at the next safe point. Servers that got no configuration yet are free at once; the others are reset first, which wipes what was installed.',
      danger: true,
      act: async () => {
        await call(operationCancel, { params: { id } })
        await refreshClusters(client)
      },
    })
  const buttons = (
    <>
      {operation.status === 'failed' && (
        <Button kind="primary" size="small" icon="refresh" can={both(allowed(operationRetry), canRetryOperation(operation))} onClick={() => void retry()}>
          Retry
        </Button>
      )}
      {running && operation.kind !== 'clusterDelete' && (
        <Button kind="danger" size="small" can={both(allowed(operationCancel), canCancelOperation(operation))} onClick={() => void cancel()}>
          Cancel
        </Button>
      )}
    </>
  )
  return (
    <>
      {operation.status === 'failed' && (
        <Alert tone="danger" className={css['alert'] ?? ''}>
          <b>{operationTitle(operation)} failed.</b> {operation.reason ?? failed?.reason}
        </Alert>
      )}
      <div className={css['cols']}>
        <Panel
          title={operationTitle(operation)}
          note={<span className="num">{running ? `step ${at} of ${of}, ${took} so far` : `${endWord[operation.status]} in ${took}`}</span>}
          actions={buttons}
        >
          <Timeline
            label={operationTitle(operation)}
            steps={list.map((phase) => ({
              key: phase.key,
              title: phase.title,
              state: phase.state,
              startedAt: phase.startedAt,
              endedAt: phase.endedAt,
              attempt: phase.attempt,
              reason: whyOf(phase),
              ...(phase.progress !== null && { progress: phase.progress }),
              ...(phase.held !== null &&
                (phase.state === 'failed' || phase.state === 'waiting') && {
                  more: (
                    <HeldUp server={phase.held} live={running}>
                      {phase.state === 'failed' && operation.kind !== 'clusterDelete' && (
                        <Button size="small" icon="swap" can={canReplace} onClick={() => setReplacing(phase.held)}>
                          Replace server
                        </Button>
                      )}
                    </HeldUp>
                  ),
                }),
            }))}
          />
        </Panel>
        {matrix.rows.length > 0 && (
          <Panel title="Every server, every step">
            <Matrix
              label="Every server, every step"
              columns={matrix.columns}
              rows={matrix.rows.map(({ member, cells, hot }) => ({
                key: member.node_id,
                title: (
                  <>
                    <a href={paths.server(member.node_id)}>{member.name}</a>
                    {member.role === 'control_plane' && <span className="t3 fs12"> cp</span>}
                  </>
                ),
                cells,
                hot,
              }))}
            />
          </Panel>
        )}
      </div>
      {replacing && <ReplaceServer cluster={cluster} server={replacing} onClose={() => setReplacing(null)} />}
    </>
  )
}

/** The sentence that explains a wait or a failure, with the server it is about. */
function whyOf({ held, reason, state }: Phase): ReactNode {
  if (reason === null || state === 'todo') return undefined
  if (held === null) return reason
  // Many sentences begin with the server that they are about.
  const said = reason.startsWith(`${held.name} `) ? reason.slice(held.name.length) : `: ${reason}`
  return (
    <>
      <a href={paths.server(held.node_id)}>{held.name}</a>
      {said}
    </>
  )
}

const tail = 6

/** The last log lines of the server that holds a phase up, while it can be asked; a server that installs is dark and shows none. */
function HeldUp({ server, live, children }: { server: { node_id: string; name: string }; live: boolean; children: ReactNode }) {
  const { data, isError } = useQuery({
    ...query(serverLogs, { params: { id: server.node_id }, query: { tail, service: 'machined' } }),
    retry: false,
    refetchInterval: live ? 3000 : false,
    staleTime: 0,
  })
  // What it said before it went dark is no longer what it does.
  const lines = isError ? [] : (data ?? '').split('\n').filter(Boolean).slice(-tail)
  return (
    <>
      {lines.length > 0 && (
        <>
          <div className={css['loghead']}>
            <b>{server.name}</b> <span className="t3">machined</span>
            {live && (
              <span className="right">
                <StatusDot tone="busy">Following</StatusDot>
              </span>
            )}
          </div>
          <pre className={css['log']} tabIndex={0} aria-label={`Last log lines of ${server.name}`}>
            {lines.map(logLine).join('\n')}
          </pre>
        </>
      )}
      <div className="row wrap">
        {children}
        <a className="fs13" href={paths.server(server.node_id, 'logs')}>
          All logs
        </a>
      </div>
    </>
  )
}

function Earlier({ operations }: { operations: readonly Operation[] }) {
  if (operations.length === 0) return null
  return (
    <Panel title="Earlier" className={css['earlier'] ?? ''}>
      <ul className={css['plain']}>
        {operations.map((o) => (
          <li key={o.id} className="row">
            <time className="t3 num" dateTime={o.created_at} title={exact(o.created_at)}>
              {moment(o.created_at)}
            </time>
            <span>{operationTitle(o)}</span>
            <StatusDot tone={o.status === 'done' ? 'ok' : o.status === 'failed' ? 'danger' : 'off'} why={o.reason}>
              {endWord[o.status] ?? o.status}
            </StatusDot>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
