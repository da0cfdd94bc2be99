import { claimedBy, type ListedServer } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { paths } from '../../../lib/paths.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { confirmHardware } from '../dialogs/dialogs.ts'

const nameOf = (servers: readonly ListedServer[]): string =>
  servers.length === 1 ? servers[0]!.name : counted(servers.length, 'server')

interface ToConfirmProps {
  /** The servers of the page that is shown whose hardware is in doubt. */
  servers: readonly ListedServer[]
  /** Whether the page is the whole list. */
  isWhole: boolean
}

/**
 * Notice above the list: servers whose hardware must be confirmed before Steelyard sends them
 * anything. It speaks of the page that is shown, and leads to all if there are other pages.
 */
export default function ToConfirm({ servers: inDoubt, isWhole }: ToConfirmProps) {
  const changed = inDoubt.filter((s) => s.identity.state === 'changed')
  const claimed = inDoubt.filter(claimedBy)
  const waiting = inDoubt.filter((s) => !changed.includes(s) && !claimed.includes(s))
  const where = isWhole ? '' : ' on this page'
  const all = !isWhole && (
    <>
      {' '}
      <a href={paths.servers({ confirmed: 'false' })}>All servers to confirm</a>
    </>
  )
  const review = (list: readonly ListedServer[]) => (
    <ActionButton
      label="Review"
      size="small"
      run={() => confirmHardware({ ids: list.map((s) => s.id) })}
    />
  )
  return (
    <div className="stack stack2">
      {changed.length > 0 && (
        <Alert tone="danger" action={review(changed)}>
          <b>
            Other hardware answered at {nameOf(changed)}
            {where}.
          </b>{' '}
          Nothing is sent to a server in doubt until a user decides which machine it is.{all}
        </Alert>
      )}
      {claimed.length > 0 && (
        <Alert tone="warn" action={review(claimed)}>
          <b>
            A machine that has proved nothing answered as {nameOf(claimed)}
            {where}.
          </b>{' '}
          Nothing has changed there: look which machine it is.{all}
        </Alert>
      )}
      {waiting.length > 0 && (
        <Alert tone="warn" action={review(waiting)}>
          {waiting.length === 1
            ? `${waiting[0]!.name} waits`
            : `${counted(waiting.length, 'server')} wait`}
          {where} for a user to confirm the hardware.{all}
        </Alert>
      )}
    </div>
  )
}
