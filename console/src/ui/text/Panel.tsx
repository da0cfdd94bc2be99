import type { ReactNode } from 'react'
import { IconButton } from '../inputs/Button.tsx'
import { useCopy } from './Copyable.tsx'
import css from './Panel.module.css'
import { cx } from '../cx.ts'

interface PanelProps {
  title?: ReactNode
  note?: ReactNode
  actions?: ReactNode
  flush?: boolean
  className?: string | undefined
  children: ReactNode
  label?: string
}

/** A box. Boxes are never nested. `flush` removes the padding, for instance for a table. */
export function Panel({
  title,
  note,
  actions,
  flush = false,
  className,
  children,
  label,
}: PanelProps) {
  return (
    <section className={cx(css['panel'], className)} aria-label={label}>
      {title !== undefined && (
        <header className={css['head']}>
          <h2 className="h2">{title}</h2>
          {note !== undefined && <span className={css['note']}>{note}</span>}
          {actions !== undefined && <div className={css['actions']}>{actions}</div>}
        </header>
      )}
      {flush ? children : <div className={css['body']}>{children}</div>}
    </section>
  )
}

interface FactsProps {
  rows: readonly (readonly [label: ReactNode, value: ReactNode] | false | null | undefined)[]
  className?: string
}

/**
 * Facts in two columns: label and value. An absent value is an en dash, an unknown value the word
 * "Unknown".
 */
export const KeyValue = ({ rows, className }: FactsProps) => (
  <Pairs rows={rows} className={cx(css['kv'], className)} />
)

/** A strip of the most important facts below an object's name. */
export const Facts = ({ rows }: FactsProps) => <Pairs rows={rows} className={cx(css['facts'])} />

const Pairs = ({ rows, className }: FactsProps) => (
  <dl className={className}>
    {rows.map(
      (row, i) =>
        row && (
          <div key={typeof row[0] === 'string' ? row[0] : i}>
            <dt>{row[0]}</dt>
            <dd>
              {row[1] === null || row[1] === undefined || row[1] === '' ? (
                <span className="t3">–</span>
              ) : (
                row[1]
              )}
            </dd>
          </div>
        ),
    )}
  </dl>
)

/**
 * The header of an object's page: its name with a copy button, its word, its actions, and below them
 * the one sentence that says how it is.
 */
export function PageHeader({
  name,
  status,
  actions,
  sentence,
  children,
}: {
  name: string
  status?: ReactNode
  actions?: ReactNode
  sentence?: ReactNode
  children?: ReactNode
}) {
  const { copied, copy } = useCopy()
  return (
    <header className={css['page']}>
      <div className={css['title']}>
        <div className={css['name']}>
          <h1>{name}</h1>
          <IconButton
            icon={copied ? 'check' : 'copy'}
            iconSize={12}
            size="small"
            label={copied ? 'Copied' : 'Copy name'}
            onClick={() => copy(name)}
          />
        </div>
        {status !== undefined && <div className={css['status']}>{status}</div>}
        {actions !== undefined && (
          <div className={css['page-actions']} data-acts="">
            {actions}
          </div>
        )}
      </div>
      {sentence !== undefined && sentence !== null && <p className={css['why']}>{sentence}</p>}
      {children}
    </header>
  )
}
