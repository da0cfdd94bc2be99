import { type ReactNode, useState } from 'react'
import { type Cluster, clusterServerReplace } from '#contract/clusters/clusters.ts'
import {
  hasEnded,
  isScheduled,
  type Operation,
  operationTitle,
  type Step,
} from '#contract/operations.ts'
import { count } from '#contract/words.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { atRest, type Phase, phaseCount, phasesOf } from '../../lib/phases.ts'
import { duration, moment } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import { Matrices, Matrix, Timeline, type TimelineStep } from '../../ui/feedback/Timeline.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { replaceServer } from '../modals.ts'
import { HeldUp } from './HeldUp.tsx'
import { matricesOf } from './matrices.ts'
import { continued, isClusterChange, isCurrent, operationActions } from './operation-actions.ts'
import { hasBegun, operationSaid, tookMs } from './operation-state.ts'
import css from './Operation.module.css'

type Member = Cluster['servers'][number]
type NamedServer = Pick<Member, 'node_id' | 'name'>

interface OperationTimelineProps {
  operation: Operation
  /** The operation's cluster, if it still exists. */
  cluster?: Cluster | undefined
  /** Servers that its steps name. Default: those of the cluster. */
  servers?: readonly NamedServer[] | undefined
  /** A reason that the page already shows. */
  saidAbove?: string | null | undefined
  /** Whether this is the operation's own page, so that the title is no link to it. */
  ownPage?: boolean
  /** Shown beside the timeline. */
  children?: ReactNode
}

/** Steps that are shown at first. An addition of a network has a step per address. */
const shownFirst = 100
/** Steps before the current one that are shown at first. */
const shownBefore = 10
/** Index of the first step that isn't over; 0 if all are. */
const firstOpen = (steps: readonly Step[]): number =>
  Math.max(
    0,
    steps.findIndex((s) => s.status !== 'done' && s.status !== 'skipped'),
  )

/**
 * An operation's steps, live, with its actions. The steps of a cluster's operation are grouped into
 * phases.
 */
export function OperationTimeline({
  operation,
  cluster,
  servers,
  saidAbove,
  ownPage = false,
  children,
}: OperationTimelineProps) {
  const running = !hasEnded(operation)
  const now = useNow(running)
  const [all, setAll] = useState(false)
  const title = operationTitle(operation)
  const members = cluster === undefined ? [] : [...cluster.servers, ...cluster.former_servers]
  // A change runs server by server, so a grouping by phase would hide the order of its steps.
  const inPhases = operation.target.kind === 'cluster' && !isClusterChange(operation.kind)
  const phases = inPhases
    ? phasesOf(operation.steps, members, !running, operation.created_at)
    : null
  const steps =
    phases?.map((phase) => ofPhase(phase, operation, cluster)) ??
    operation.steps.map((step, i, all) =>
      ofStep(step, i === 0 ? operation : all[i - 1]!, !running, servers ?? members),
    )
  const { at, of } = phases === null ? stepCount(operation.steps) : phaseCount(phases)
  const took = duration(tookMs(operation, now))
  const matrices = matricesOf(operation, members, !running)
  const hasSide = matrices.length > 0 || Boolean(children)
  const from =
    all || steps.length <= shownFirst ? 0 : Math.max(0, firstOpen(operation.steps) - shownBefore)
  const shown = all ? steps : steps.slice(from, from + shownFirst)
  const progress = of === 0 ? `${took} so far` : `step ${count(at)} of ${count(of)}, ${took} so far`
  const result = `${operationSaid(operation).word.toLowerCase()}${hasBegun(operation) ? ` in ${took}` : ''}, ${moment(operation.created_at)}`
  return (
    <div className={css['whole']}>
      <Outcome operation={operation} cluster={cluster} saidAbove={saidAbove} />
      <div className={hasSide ? css['cols'] : undefined}>
        <Panel
          title={ownPage ? title : <a href={paths.operation(operation.id)}>{title}</a>}
          note={
            <span className="num">
              {!running ? result : isScheduled(operation) ? 'not started' : progress}
            </span>
          }
          actions={operationActions(operation, cluster).map((action, i) => (
            <ActionButton
              key={action.label}
              {...action}
              size="small"
              {...(operation.status === 'failed' && i === 0 && { kind: 'primary' })}
            />
          ))}
        >
          {steps.length === 0 ? (
            <p className="fs13 t2">This operation has no steps.</p>
          ) : (
            <Timeline label={title} steps={shown} first={from + 1} />
          )}
          {shown.length < steps.length && (
            <Button size="small" kind="ghost" onClick={() => setAll(true)}>
              Show all {count(steps.length)} steps
            </Button>
          )}
        </Panel>
        {hasSide && (
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
        )}
      </div>
    </div>
  )
}

/** The current step, counted from 1, and the number of steps. */
const stepCount = (steps: readonly Step[]) => ({
  at: Math.min(
    steps.length,
    steps.filter((s) => s.status !== 'todo' && s.status !== 'running' && s.status !== 'waiting')
      .length + 1,
  ),
  of: steps.length,
})

/** Why the operation waits, failed or was cancelled, unless the page shows it elsewhere. */
function Outcome({
  operation,
  cluster,
  saidAbove,
}: Pick<OperationTimelineProps, 'operation' | 'cluster' | 'saidAbove'>) {
  const { status, reason, steps } = operation
  const isPast = status === 'failed' && hasBegun(operation) && !isCurrent(operation, cluster)
  if (isPast && !isClusterChange(operation.kind))
    return (
      <Alert tone="info">
        {continued(operation)}. The steps are shown as they were at the failure.
      </Alert>
    )
  if (reason === saidAbove) return null
  if (status === 'failed')
    return (
      <Alert tone="danger">
        <b>{operationTitle(operation)} failed.</b> {operationSaid(operation).why}
        {isPast && <p>{continued(operation)}. The steps are shown as they were at the failure.</p>}
      </Alert>
    )
  if (reason === null || status === 'done') return null
  if (status === 'cancelled')
    return (
      <Alert tone="info">
        <b>The operation was cancelled.</b> {reason}
      </Alert>
    )
  return steps.some((s) => s.reason === reason) ? null : (
    <Alert tone={isScheduled(operation) ? 'info' : 'warn'}>{reason}</Alert>
  )
}

function ofPhase(phase: Phase, operation: Operation, cluster: Cluster | undefined): TimelineStep {
  const { progress, held, ...rest } = phase
  const isHeld =
    held !== null &&
    cluster !== undefined &&
    (phase.state === 'failed' || phase.state === 'waiting')
  return {
    ...rest,
    reason: whyOf(phase),
    ...(progress !== null && { progress }),
    ...(isHeld && {
      more: (
        <HeldUp
          clusterId={cluster.id}
          server={held}
          failed={phase.state === 'failed'}
          sent={!/\/(?:config|apply)$/.test(phase.key)}
        >
          {phase.state === 'failed' &&
            isCurrent(operation, cluster) &&
            operation.kind !== 'clusterDelete' && (
              <ActionButton
                label="Replace server"
                size="small"
                icon="swap"
                can={allowed(clusterServerReplace)}
                run={() => void replaceServer({ cluster, server: held })}
              />
            )}
        </HeldUp>
      ),
    }),
  }
}

/**
 * A step that was skipped has no times, and no reason that was shown before it: a cancel skips many
 * steps. `before`: the previous step, or the operation.
 */
function ofStep(
  s: Step,
  before: Pick<Step, 'reason'>,
  isOver: boolean,
  members: readonly NamedServer[],
): TimelineStep {
  const isSkipped = s.status === 'skipped'
  const isRepeated = isSkipped && before.reason === s.reason
  return {
    key: s.key,
    title: titleOf(s, members),
    state: atRest(s.status, isOver),
    ...(!isSkipped && { startedAt: s.started_at, endedAt: s.ended_at }),
    attempt: s.attempt,
    reason: s.status === 'todo' || isRepeated ? null : s.reason,
  }
}

/** The title of a step, in which the name of its server leads to the server's page. */
function titleOf({ title, node_id }: Step, members: readonly NamedServer[]): ReactNode {
  const name = node_id === null ? undefined : members.find((m) => m.node_id === node_id)?.name
  const at = name === undefined ? -1 : ` ${title} `.indexOf(` ${name} `)
  if (node_id === null || name === undefined || at < 0) return title
  return (
    <>
      {title.slice(0, at)}
      <a href={paths.server(node_id)}>{name}</a>
      {title.slice(at + name.length)}
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
