import { reasonOf } from '../../lib/reason.ts'
import { Button } from '../inputs/Button.tsx'
import { Alert } from './Status.tsx'

/**
 * Shown beside a choice whose options could not be loaded, because a choice without options says
 * that there are none. Nothing is shown while they load, and once they are known.
 */
export const Unread = ({
  what,
  of: { data, error, refetch },
}: {
  /** What could not be loaded: "The stores". */
  what: string
  of: { readonly data: unknown; readonly error: unknown; readonly refetch: () => unknown }
}) =>
  data === undefined &&
  error !== null && (
    <Alert
      tone="danger"
      action={
        <Button size="small" onClick={() => void refetch()}>
          Try again
        </Button>
      }
    >
      {what} could not be loaded: {reasonOf(error)}
    </Alert>
  )
