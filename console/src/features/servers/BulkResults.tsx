import { StatusDot } from '../../ui/Status.tsx'
import css from './BulkResults.module.css'
import type { ItemResult } from './bulk.ts'

/** What became of each of a selection: what was not done comes first, with its reason. `done` is the word for what was: "Removed". */
export function BulkResults({ results, done, label }: { results: readonly ItemResult[]; done: string; label: string }) {
  const inOrder = results.toSorted((a, b) => Number(a.ok) - Number(b.ok))
  return (
    <ul className={css['results']} aria-label={label} {...(inOrder.length > 8 && { tabIndex: 0 })}>
      {inOrder.map((r) => (
        <li key={r.id}>
          <b className="strong">{r.name}</b>
          <span>
            {r.ok ? <StatusDot tone="ok">{done}</StatusDot> : <StatusDot tone="danger">Not done</StatusDot>}
            {r.reason !== null && <p className="fs12 t2">{r.reason}</p>}
          </span>
        </li>
      ))}
    </ul>
  )
}
