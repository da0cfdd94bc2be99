import { type Operation, operationTitle } from '#contract/operations.ts'
import { operationPage, Running } from '../../layout/navigation/RunningOperations.tsx'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time.ts'
import { Panel } from '../../ui/text/Panel.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import css from './Overview.module.css'

/** Running operations, their progress, and what they wait for. */
export function RunningPanel({ operations }: { operations: readonly Operation[] }) {
  return (
    <Panel title="Running operations" note={operations.length > 0 && <Badge tone="accent">{operations.length}</Badge>}>
      {operations.length === 0 ? (
        <p className={css['quiet']}>Nothing is running.</p>
      ) : (
        <ul>
          {operations.map((o) => (
            <Running key={o.id} operation={o} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

/** The latest failed operations, with the reason. */
export function FailuresPanel({ operations }: { operations: readonly Operation[] }) {
  return (
    <Panel title="Last failures" flush={operations.length > 0}>
      {operations.length === 0 ? (
        <p className={css['quiet']}>No operation has failed.</p>
      ) : (
        <ul className={css['failures']}>
          {operations.map((o) => {
            const at = o.ended_at ?? o.created_at
            const title = operationTitle(o)
            return (
              <li key={o.id}>
                <time className="t3 num" dateTime={at} title={exact(at)}>
                  {moment(at)}
                </time>
                <div>
                  <span className="strong">{title}</span>
                  <p>{o.reason ?? o.steps.find((s) => s.status === 'failed')?.reason ?? 'No reason was given'}</p>
                </div>
                <a href={operationPage(o) ?? paths.home} aria-label={`Open ${title}`}>
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
