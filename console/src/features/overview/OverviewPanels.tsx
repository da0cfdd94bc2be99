import { type Operation, operationTitle } from '#contract/operations.ts'
import { mostOperations } from '#contract/overview.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import { utilisation } from '#contract/network/subnet-rules.ts'
import { Running } from '../../layout/navigation/OperationsInList.tsx'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { Badge } from '../../ui/feedback/Status.tsx'
import { fillTone, Meter } from '../../ui/pictures/Meter.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Overview.module.css'

/** Running operations, their progress, and what they wait for. */
export function RunningPanel({ operations }: { operations: readonly Operation[] }) {
  return (
    <Panel
      title="Running"
      note={
        operations.length > 0 && (
          <Badge tone="accent">
            {operations.length}
            {operations.length === mostOperations && ' or more'}
          </Badge>
        )
      }
      actions={<a href={paths.operations()}>All operations</a>}
    >
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
    <Panel
      title="Last failures"
      flush={operations.length > 0}
      actions={
        <>
          {operations.length > 0 && (
            <a href={paths.operations({ status: 'failed' })}>All failures</a>
          )}
        </>
      }
    >
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
                  <p>
                    {o.reason ??
                      o.steps.find((s) => s.status === 'failed')?.reason ??
                      'No reason was given'}
                  </p>
                </div>
                <a href={paths.operation(o.id)} aria-label={`Open ${title}`}>
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

/** The subnets with the fewest free addresses. Each links to its address map. */
export function SubnetsPanel({ subnets }: { subnets: readonly Subnet[] }) {
  return (
    <Panel
      title="Fullest subnets"
      actions={<a href={paths.network({ sort: '-used' })}>Network</a>}
      flush={subnets.length > 0}
    >
      {subnets.length === 0 ? (
        <p className={css['quiet']}>No cluster has reported its addresses in use yet.</p>
      ) : (
        <ul className={css['subnets']}>
          {subnets.map((s) => (
            <li key={s.id}>
              <a className="strong clip" href={paths.network({ q: s.name, open: s.id })}>
                {s.name}
              </a>
              <span className="mono fs12 t2 clip">{s.cidr}</span>
              {s.used !== null && s.total !== null && (
                <span title={utilisation(s.used, s.total) ?? undefined}>
                  <Meter
                    value={s.used}
                    of={s.total}
                    tone={fillTone(s.used, s.total)}
                    label={`Addresses of ${s.name} in use`}
                    text={`${count(s.used)} of ${count(s.total)}`}
                  />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
