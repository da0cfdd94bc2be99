import { useQuery } from '@tanstack/react-query'
import type { ComponentProps, ReactNode } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterServerFailure, clusterServerReplace } from '#contract/clusters/clusters.ts'
import {
  canCancelOperation,
  canRetryOperation,
  hasEnded,
  type Operation,
  operationCancel,
  operationRetry,
  operationRetryDisks,
  operationTitle,
} from '#contract/operations.ts'
import { no, yes } from '#contract/rule.ts'
import { serverLogs } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { paths } from '../../../lib/paths.ts'
import { type Phase, phaseCount, phasesOf } from '../../../lib/phases.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { clock, duration, exact, moment } from '../../../lib/time.ts'
import { useNow } from '../../../lib/use-now.ts'
import { both, confirm } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { Matrices, Matrix, Timeline } from '../../../ui/feedback/Timeline.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import css from './ClusterPage.module.css'
import { showKeys } from '../cluster-actions.ts'
import { operationOne, operationsOf } from '../cluster-queries.ts'
import type ReplaceServer from './ReplaceServer.tsx'
import type RetryDisks from './RetryDisks.tsx'
import { logLine, matricesOf } from './timeline.ts'

const replaceServer = dialog<ComponentProps<typeof ReplaceServer>>(() => import('./ReplaceServer.tsx'))
const retryWithDisks = dialog<ComponentProps<typeof RetryDisks>>(() => import('./RetryDisks.tsx'))

/** An operation on the cluster, live, and a list of all operations. Shows the operation `chosen` from the URL, else the running one, else the last one. */
export function ClusterTimeline({ cluster, chosen }: { cluster: Cluster; chosen: string | undefined }) {
  const all = useQuery(operationsOf(cluster.id))
  const id = chosen ?? all.data?.items.find((o) => !hasEnded(o))?.id ?? cluster.operation_id ?? all.data?.items[0]?.id
  if (id === undefined) {
    return all.data ? <Empty boxed title="No operation has run on this cluster" /> : <Pending of={all} />
  }
  return (
    <OperationView key={id} id={id} cluster={cluster}>
      {all.data && all.data.total > 1 && <AllOperations cluster={cluster} current={id} operations={all.data.items} total={all.data.total} />}
    </OperationView>
  )
}

const goneOn = 'A later operation has continued this operation'
const endWord = { done: 'done', failed: 'failed', cancelled: 'cancelled' } as Record<string, string>

function OperationView({ id, cluster, children }: { id: string; cluster: Cluster; children: ReactNode }) {
  const answer = useQuery(operationOne(id))
  const { data: operation } = answer
  const running = operation !== undefined && !hasEnded(operation)
  const now = useNow(running)
  if (operation === undefined || operation.target.id !== cluster.id) {
    return (
      <div className={css['cols']}>
        <div>{operation ? <Empty boxed title="This operation does not belong to this cluster" /> : <Pending of={answer} rows={10} />}</div>
        <div className={css['side']}>{children}</div>
      </div>
    )
  }

  const members = [...cluster.servers, ...cluster.former_servers]
  const list = phasesOf(operation.steps, members, !running, operation.created_at)
  const { at, of } = phaseCount(list)
  const began = Date.parse(operation.started_at ?? operation.created_at)
  const took = duration((operation.ended_at ? Date.parse(operation.ended_at) : now) - began)
  const failed = list.find((p) => p.state === 'failed')
  const matrices = matricesOf(operation, members, !running)
  // Whether this operation can be retried. If a newer operation continues a failed creation, only the newer operation can be retried.
  const isCurrent = operation.kind === 'clusterSubnetsAssign' || operation.id === cluster.operation_id
  const retry = async () => {
    try {
      const { items } = await call(operationRetryDisks, { params: { id } })
      if (items.length > 0) return await retryWithDisks({ operation, disks: items })
      await call(operationRetry, { params: { id }, body: {} })
      await refreshClusters()
    } catch (problem) {
      toast.error(reasonOf(problem))
    }
    return undefined
  }
  const cancel = () =>
    confirm({
      title: `Cancel: ${operationTitle(operation)}?`,
      label: 'Cancel operation',
      out: 'Let it continue',
      text:
        operation.kind === 'clusterSubnetsAssign'
          ? 'Changes that are not complete are undone: the cluster keeps the subnets that it had.'
          : 'The operation stops at the next safe point. Servers that got no configuration yet are free at once; the others are reset first, which wipes what was installed.',
      danger: true,
      act: async () => {
        await call(operationCancel, { params: { id } })
        await refreshClusters()
      },
    })
  const buttons = (
    <>
      {operation.status === 'done' && operation.kind === 'clusterCreate' && (
        <ActionButton label="Show cluster key" size="small" icon="key" run={() => showKeys([cluster])} />
      )}
      {operation.status === 'failed' && (
        <ActionButton
          label="Retry"
          kind="primary"
          size="small"
          icon="refresh"
          can={both(allowed(operationRetry), canRetryOperation(operation), isCurrent ? yes : no(goneOn))}
          run={() => retry()}
        />
      )}
      {running && operation.kind !== 'clusterDelete' && (
        <ActionButton label="Cancel" kind="danger" size="small" can={both(allowed(operationCancel), canCancelOperation(operation))} run={() => cancel()} />
      )}
    </>
  )
  return (
    <>
      {/* Shows the reason unless the page's header or a phase already shows it. */}
      {running && operation.reason !== null && operation.reason !== cluster.reason && !list.some((p) => p.reason === operation.reason) && (
        <Alert tone="warn" className={css['alert'] ?? ''}>
          {operation.reason}
        </Alert>
      )}
      {operation.status === 'failed' &&
        (isCurrent ? (
          operation.reason !== cluster.reason && (
            <Alert tone="danger" className={css['alert'] ?? ''}>
              <b>{operationTitle(operation)} failed.</b> {operation.reason ?? failed?.reason}
            </Alert>
          )
        ) : (
          <Alert tone="info" className={css['alert'] ?? ''}>
            {goneOn}. The steps are shown as they were at the failure.
          </Alert>
        ))}
      <div className={css['cols']}>
        <Panel
          title={operationTitle(operation)}
          note={
            <span className="num">
              {running ? `step ${at} of ${of}, ${took} so far` : `${endWord[operation.status]} in ${took}, ${moment(operation.created_at)}`}
            </span>
          }
          actions={buttons}
        >
          <Timeline
            label={operationTitle(operation)}
            steps={list.map(({ progress, ...phase }) => ({
              ...phase,
              reason: whyOf(phase),
              ...(progress !== null && { progress }),
              ...(phase.held !== null &&
                (phase.state === 'failed' || phase.state === 'waiting') && {
                  more: (
                    <HeldUp clusterId={cluster.id} server={phase.held} failed={phase.state === 'failed'} sent={!/\/(?:config|apply)$/.test(phase.key)}>
                      {phase.state === 'failed' && isCurrent && operation.kind !== 'clusterDelete' && (
                        <ActionButton
                          label="Replace server"
                          size="small"
                          icon="swap"
                          can={allowed(clusterServerReplace)}
                          run={() => phase.held && void replaceServer({ cluster, server: phase.held })}
                        />
                      )}
                    </HeldUp>
                  ),
                }),
            }))}
          />
        </Panel>
        <div className={css['side']}>
          {matrices.length > 0 && (
            <Panel title="Every server, every step">
              <Matrices>
                {matrices.map(({ columns, rows }) => (
                  <Matrix
                    key={columns[0]}
                    label={`Every server, every step: ${columns.join(', ')}`}
                    columns={columns}
                    rows={rows.map(({ member, cells, hot }) => ({
                      key: member.node_id,
                      title: (
                        <a href={paths.server(member.node_id)} title={member.name}>
                          {member.name}
                        </a>
                      ),
                      note: member.role === 'control_plane' ? 'cp' : undefined,
                      cells,
                      hot,
                    }))}
                  />
                ))}
              </Matrices>
            </Panel>
          )}
          {children}
        </div>
      </div>
    </>
  )
}

/** The reason of a wait or a failure, with its server. */
function whyOf({ held, reason, state }: Pick<Phase, 'held' | 'reason' | 'state'>): ReactNode {
  if (reason === null || state === 'todo') return undefined
  if (held === null) return reason
  // Many reasons already contain the server's name.
  const at = ` ${reason}`.indexOf(` ${held.name} `)
  return (
    <>
      {reason.slice(0, Math.max(0, at))}
      <a href={paths.server(held.node_id)}>{held.name}</a>
      {at < 0 ? `: ${reason}` : reason.slice(at + held.name.length)}
    </>
  )
}

interface HeldUpProps {
  clusterId: string
  server: { node_id: string; name: string }
  failed: boolean
  /** Whether the server has received its configuration, so that its log may contain the cause. */
  sent: boolean
  children: ReactNode
}

/** The log of the server that a phase waits for: live while the server responds, else from the time of the failure. */
function HeldUp({ clusterId, server, failed, sent, children }: HeldUpProps) {
  return (
    <>
      {failed ? <KeptLog clusterId={clusterId} server={server} sent={sent} /> : <LiveLog server={server} />}
      <div className="row wrap">
        {children}
        <a className="fs13" href={paths.server(server.node_id, 'logs')}>
          {failed ? 'Current log' : 'All logs'}
        </a>
      </div>
    </>
  )
}

const tail = 6

/** The last log lines of the server that a phase waits for. A server that is installing Talos doesn't respond, so no lines are shown. */
function LiveLog({ server }: { server: { node_id: string; name: string } }) {
  const { data, isError } = useQuery({
    ...query(serverLogs, { params: { id: server.node_id }, query: { tail, service: 'kernel' } }),
    retry: false,
    refetchInterval: 3000,
    staleTime: 0,
  })
  // Lines from before the server stopped responding are out of date.
  const lines = isError ? [] : (data ?? '').split('\n').filter(Boolean).slice(-tail)
  if (lines.length === 0) return null
  return (
    <Lines name={server.name} lines={lines}>
      <StatusDot tone="busy">Following</StatusDot>
    </Lines>
  )
}

/** The last lines of the boot in which the server failed. Its current log is from a later boot. */
function KeptLog({ clusterId, server, sent }: { clusterId: string; server: { node_id: string; name: string }; sent: boolean }) {
  const { data, error } = useQuery(query(clusterServerFailure, { params: { id: clusterId, node_id: server.node_id } }))
  if (data === undefined) return error ? <div className="t2">{reasonOf(error)}</div> : null
  if (data.log === null && !sent) return null
  if (data.log === null)
    return <div className="t2">The log of the failure is lost: Talos keeps logs in memory, and this one could not be read before the server restarted.</div>
  return (
    <Lines name={server.name} lines={data.log.lines}>
      <span className="t3">
        kept at{' '}
        <time dateTime={data.log.at} title={exact(data.log.at)}>
          {clock(data.log.at)}
        </time>
      </span>
    </Lines>
  )
}

/** Scrolls a log to its end. */
const atItsEnd = (log: HTMLElement | null): void => {
  if (log) log.scrollTop = log.scrollHeight
}

function Lines({ name, lines, children }: { name: string; lines: readonly string[]; children: ReactNode }) {
  return (
    <>
      <div className={css['loghead']}>
        <b>{name}</b> <span className="t3">kernel</span>
        <span className="right">{children}</span>
      </div>
      <pre className={css['log']} tabIndex={0} aria-label={`Last log lines of ${name}`} ref={atItsEnd}>
        {lines.map(logLine).join('\n')}
      </pre>
    </>
  )
}

const operationTone = (o: Operation) => (o.status === 'done' ? 'ok' : o.status === 'failed' ? 'danger' : hasEnded(o) ? 'off' : 'busy')

/** All operations on the cluster, with links to their timelines. */
function AllOperations({ cluster, current, operations, total }: { cluster: Cluster; current: string; operations: readonly Operation[]; total: number }) {
  return (
    <Panel title="Operations" note={operations.length < total ? `the newest ${operations.length} of ${total}` : `${total}`}>
      <ul className={css['operations']}>
        {operations.map((o) => (
          <li key={o.id}>
            <span className="t3">
              <Time at={o.created_at} />
            </span>
            <a href={paths.cluster(cluster.id, 'timeline', o.id)} aria-current={o.id === current ? 'true' : undefined}>
              {operationTitle(o)}
            </a>
            <StatusDot tone={operationTone(o)}>{endWord[o.status] ?? o.status}</StatusDot>
            {o.reason !== null && <p className="t2">{o.reason}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
