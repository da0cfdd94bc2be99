import { moment } from '../../lib/time.ts'
import { Button } from '../inputs/Button.tsx'
import { Alert } from './Status.tsx'

/** A draft was found and put back. `older`: what it is of has been changed since. */
export function DraftNotice({ what, savedAt, older, onDiscard }: { what: string; savedAt: number; older: boolean; onDiscard: () => void }) {
  return (
    <Alert
      tone={older ? 'warn' : 'info'}
      action={
        <Button size="small" onClick={onDiscard}>
          Discard the draft
        </Button>
      }
    >
      A draft of {moment(new Date(savedAt).toISOString())} was put back. {older && `The ${what} has been changed since: compare before you save.`}
    </Alert>
  )
}
