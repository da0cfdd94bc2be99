import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { clusterServerFailure } from '#contract/clusters/clusters.ts'
import { serverLogs } from '#contract/servers/servers.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { exact } from '../../lib/time/time.ts'
import { clock } from '../../lib/time/clock.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { logLine } from './matrices.ts'
import css from './Operation.module.css'

interface HeldUpProps {
  clusterId: string
  server: { node_id: string; name: string }
  failed: boolean
  /** Whether the server has received its configuration, so that its log may contain the cause. */
  sent: boolean
  children: ReactNode
}

/**
 * The log of the server that a phase waits for: live while the server responds, else from the time
 * of the failure.
 */
export function HeldUp({ clusterId, server, failed, sent, children }: HeldUpProps) {
  return (
    <>
      {failed ? (
        <KeptLog clusterId={clusterId} server={server} sent={sent} />
      ) : (
        <LiveLog server={server} />
      )}
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

/**
 * The last log lines of the server that a phase waits for. A server that is installing Talos
 * doesn't respond, so no lines are shown.
 */
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
function KeptLog({
  clusterId,
  server,
  sent,
}: {
  clusterId: string
  server: { node_id: string; name: string }
  sent: boolean
}) {
  const { data, error } = useQuery(
    query(clusterServerFailure, { params: { id: clusterId, node_id: server.node_id } }),
  )
  if (data === undefined) return error ? <div className="t2">{reasonOf(error)}</div> : null
  if (data.log === null && !sent) return null
  if (data.log === null)
    return (
      <div className="t2">
        The log of the failure is lost: Talos keeps logs in memory, and this one could not be read
        before the server restarted.
      </div>
    )
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

function Lines({
  name,
  lines,
  children,
}: {
  name: string
  lines: readonly string[]
  children: ReactNode
}) {
  return (
    <>
      <div className={css['loghead']}>
        <b>{name}</b> <span className="t3">kernel</span>
        <span className="right">{children}</span>
      </div>
      <pre
        className={css['log']}
        tabIndex={0}
        aria-label={`Last log lines of ${name}`}
        ref={atItsEnd}
      >
        {lines.map(logLine).join('\n')}
      </pre>
    </>
  )
}
