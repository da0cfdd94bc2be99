import type { CSSProperties, ReactNode } from 'react'
import { sentence } from '../../lib/text.ts'
import { duration } from '../../lib/time/time.ts'
import { clock } from '../../lib/time/clock.ts'
import { useNow } from '../../lib/time/use-now.ts'
import css from './Timeline.module.css'
import { cx } from '../cx.ts'
import { Icon, type IconName } from '../pictures/Icon.tsx'

export type StepState = 'todo' | 'running' | 'waiting' | 'done' | 'failed' | 'skipped'

export interface TimelineStep {
  key: string
  title: ReactNode
  state: StepState
  /** ISO 8601. */
  startedAt?: string | null
  endedAt?: string | null
  attempt?: number
  /** The line that explains a wait or a failure. */
  reason?: ReactNode
  /** Shown instead of the duration: "5 of 7". */
  progress?: string
  /** Shown under the step: a log, buttons. */
  more?: ReactNode
}

/**
 * Steps of an operation, live: start, duration, attempt, and what each step waits for. `first`:
 * number of the first shown step, if earlier ones are hidden.
 */
export function Timeline({
  steps,
  label,
  first = 1,
}: {
  steps: readonly TimelineStep[]
  label: string
  first?: number
}) {
  const now = useNow(steps.some((s) => s.state === 'running' || s.state === 'waiting'))
  return (
    <ol className={css['timeline']} aria-label={label}>
      {steps.map((step, i) => {
        const live = step.state === 'running' || step.state === 'waiting'
        const began = step.startedAt ? Date.parse(step.startedAt) : null
        const ended = step.endedAt ? Date.parse(step.endedAt) : live ? now : null
        const icon = icons[step.state]
        return (
          <li
            key={step.key}
            className={cx(css['step'], css[step.state])}
            aria-current={live ? 'step' : undefined}
          >
            <span className={css['i']}>
              {icon === undefined ? i + first : <Icon name={icon} size={12} />}
            </span>
            <span className={css['title']}>
              {step.title}
              <span className="sr">, {word[step.state]}</span>
              {step.attempt !== undefined && step.attempt > 1 && (
                <span className={css['attempt']}>attempt {step.attempt}</span>
              )}
            </span>
            <span className={css['time']}>
              {step.progress ?? (began !== null && ended !== null ? duration(ended - began) : '')}
            </span>
            <time className={cx(css['time'], css['at'])} dateTime={step.startedAt ?? undefined}>
              {step.startedAt ? clock(step.startedAt) : ''}
            </time>
            {(step.reason || step.more) && (
              <div className={css['more']}>
                {step.reason && <p>{step.reason}</p>}
                {step.more}
              </div>
            )}
          </li>
        )
      })}
    </ol>
  )
}

/** A step without an icon shows its number. */
const icons: Partial<Record<StepState, IconName>> = {
  done: 'check',
  failed: 'close',
  skipped: 'minus',
}
const word: Record<StepState, string> = {
  todo: 'to do',
  running: 'running',
  waiting: 'waiting',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
}

export interface MatrixRow {
  key: string
  title: ReactNode
  /** One per column, in order; undefined if the step does not apply to the row. */
  cells: readonly ({ state: StepState; reason?: string | null } | undefined)[]
  /** Shown in a quieter colour after the title. */
  note?: string | undefined
  hot?: 'failed' | 'waiting' | undefined
}

/** Several matrices with one legend. */
export const Matrices = ({ children }: { children: ReactNode }) => (
  <div className={css['matrices']}>
    {children}
    <ul className={css['legend']} aria-hidden="true">
      {(['done', 'running', 'waiting', 'failed', 'todo'] as const).map((state) => (
        <li key={state}>
          <i className={cx(css['cell'], css[`cell-${state}`])} />
          {sentence(word[state])}
        </li>
      ))}
    </ul>
  </div>
)

/** Servers as rows, steps as columns. */
export function Matrix({
  columns,
  rows,
  label,
}: {
  columns: readonly string[]
  rows: readonly MatrixRow[]
  label: string
}) {
  return (
    <table className={css['matrix']} style={{ '--columns': columns.length } as CSSProperties}>
      <caption className="sr">{label}</caption>
      <thead>
        <tr>
          <td />
          {columns.map((c) => (
            <th key={c} scope="col">
              {c}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row" className={row.hot && css[`hot-${row.hot}`]}>
              <span className={css['who']}>
                {row.title}
                {row.note !== undefined && <span className={css['note']}>{row.note}</span>}
              </span>
            </th>
            {row.cells.map((cell, i) => {
              const said =
                cell === undefined
                  ? 'not needed'
                  : cell.reason
                    ? `${word[cell.state]}: ${cell.reason}`
                    : word[cell.state]
              return (
                <td key={columns[i]} title={`${columns[i]}: ${said}`}>
                  <span
                    className={cx(
                      css['cell'],
                      cell && css[`cell-${cell.state}`],
                      !cell && css['cell-none'],
                    )}
                  >
                    <span className="sr">{said}</span>
                  </span>
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
