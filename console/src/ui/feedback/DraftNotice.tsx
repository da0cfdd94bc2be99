import { moment } from '../../lib/time/time.ts'
import { Button } from '../inputs/Button.tsx'
import { Alert } from './Status.tsx'

/** Says that a draft was restored. `older`: the object has changed since the draft was made. */
export function DraftNotice({
  what,
  savedAt,
  older,
  onDiscard,
}: {
  what: string
  savedAt: number
  older: boolean
  onDiscard: () => void
}) {
  return (
    <Alert
      tone={older ? 'warn' : 'info'}
      action={
        <Button size="small" onClick={onDiscard}>
          Discard the draft
        </Button>
      }
    >
      A draft from {moment(new Date(savedAt).toISOString())} was restored.{' '}
      {older && `The ${what} has been changed since: compare before you save.`}
    </Alert>
  )
}
