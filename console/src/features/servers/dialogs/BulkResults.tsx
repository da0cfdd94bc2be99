import { count, counted } from '#contract/words.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import css from './BulkResults.module.css'
import type { ItemResult } from './bulk.ts'

/** What became of each of a selection: what was not done comes first, with its reason. `done` is the word for what was: "Removed". */
function BulkResults({ results, done }: { results: readonly ItemResult[]; done: string }) {
  const inOrder = results.toSorted((a, b) => Number(a.ok) - Number(b.ok))
  return (
    <ul className={css['results']} aria-label="Results" {...(inOrder.length > 8 && { tabIndex: 0 })}>
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

/** Stays where not everything that was asked of a selection could be done. */
export function BulkResultsDialog({ results, done, open, onClose }: { results: readonly ItemResult[]; done: string; open: boolean; onClose: () => void }) {
  const failed = results.filter((r) => !r.ok).length
  return (
    <Dialog
      open={open}
      onClose={onClose}
      width="34rem"
      title={`${count(failed)} of ${counted(results.length, 'server')} not ${done.toLowerCase()}`}
      footer={
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      <BulkResults results={results} done={done} />
    </Dialog>
  )
}
