import type { Operation } from '#contract/operations.ts'
import { duration, exact, moment } from '../../lib/time.ts'
import { Meter } from '../../ui/Meter.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Badge } from '../../ui/Status.tsx'
import { useNow } from '../../ui/Timeline.tsx'
import css from './Overview.module.css'

const verbs: Record<Operation['kind'], string> = {
  serverAdd: 'Add servers',
  serverReboot: 'Reboot',
  serverShutdown: 'Shut down',
  serverReset: 'Reset',
  clusterCreate: 'Create cluster',
  clusterDelete: 'Delete cluster',
  clusterServerReplace: 'Replace a server of',
}

/** "Create cluster poz-edge-04". */
const titleOf = (o: Operation) => `${verbs[o.kind]} ${o.target.name}`

/** Where an operation is told of: its cluster, its server, or the list it filled. */
function placeOf({ target }: Operation): string {
  if (target.id !== null && target.kind === 'cluster') return `/infra/clusters/${target.id}?tab=timeline`
  if (target.id !== null && target.kind === 'server') return `/infra/servers/${target.id}`
  return '/infra/servers'
}

const finished = (o: Operation) => o.steps.filter((s) => s.status === 'done' || s.status === 'skipped').length
const current = (o: Operation) => o.steps.find((s) => s.status === 'running' || s.status === 'waiting') ?? o.steps.find((s) => s.status === 'todo')

/** What runs now, how far it is, and what it waits for. */
export function RunningPanel({ operations }: { operations: readonly Operation[] }) {
  const now = useNow(operations.length > 0, 5000)
  return (
    <Panel title="Running operations" flush note={operations.length > 0 && <Badge tone="accent">{operations.length}</Badge>}>
      {operations.length === 0 ? (
        <p className={css['quiet']}>Nothing is running.</p>
      ) : (
        <ul className={css['list']}>
          {operations.map((o) => {
            const step = current(o)
            return (
              <li key={o.id}>
                <div className={css['head']}>
                  <a href={placeOf(o)}>{titleOf(o)}</a>
                  <span className="t3 num right">{duration(now - Date.parse(o.started_at ?? o.created_at))}</span>
                </div>
                <Meter value={finished(o)} of={Math.max(1, o.steps.length)} label={`Steps of ${titleOf(o)} that are done`} />
                <p>
                  <span className={css['step']}>
                    {finished(o)} of {o.steps.length}
                  </span>
                  {step ? `${step.title}. ` : ''}
                  {o.reason ?? step?.reason ?? ''}
                </p>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}

/** What failed last, and why. */
export function FailuresPanel({ operations }: { operations: readonly Operation[] }) {
  return (
    <Panel title="Last failures" flush>
      {operations.length === 0 ? (
        <p className={css['quiet']}>Nothing has failed.</p>
      ) : (
        <ul className={css['failures']}>
          {operations.map((o) => {
            const at = o.ended_at ?? o.created_at
            return (
              <li key={o.id}>
                <time className="t3 num" dateTime={at} title={exact(at)}>
                  {moment(at)}
                </time>
                <div>
                  <span className="strong">{titleOf(o)}</span>
                  <p>{o.reason ?? o.steps.find((s) => s.status === 'failed')?.reason ?? 'No reason was given'}</p>
                </div>
                <a href={placeOf(o)} aria-label={`Open ${titleOf(o)}`}>
                  Open
                </a>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}
