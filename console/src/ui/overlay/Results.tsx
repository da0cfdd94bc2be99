import { StatusDot } from '../feedback/Status.tsx'
import { Button } from '../inputs/Button.tsx'
import { Dialog } from './Dialog.tsx'
import { useDialog } from './dialogs.ts'
import css from './Results.module.css'

/** The result of an action on one of several things. */
export interface Result {
  name: string
  ok: boolean
  /** Why the action was not done. */
  reason: string | null
}

/**
 * The results of an action on several things, failures first. `done` is the word for a success:
 * "Removed".
 */
export default function Results({
  title,
  results,
  done,
}: {
  title: string
  results: readonly Result[]
  done: string
}) {
  const { close } = useDialog()
  const inOrder = results.toSorted((a, b) => Number(a.ok) - Number(b.ok))
  return (
    <Dialog
      width="34rem"
      title={title}
      footer={
        <Button kind="primary" onClick={() => close()}>
          Close
        </Button>
      }
    >
      <ul
        className={css['results']}
        aria-label="Results"
        {...(inOrder.length > 8 && { tabIndex: 0 })}
      >
        {inOrder.map((r) => (
          <li key={r.name}>
            <b className="strong">{r.name}</b>
            <span>
              {r.ok ? (
                <StatusDot tone="ok">{done}</StatusDot>
              ) : (
                <StatusDot tone="danger">Not done</StatusDot>
              )}
              {r.reason !== null && <p className="fs12 t2">{r.reason}</p>}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
