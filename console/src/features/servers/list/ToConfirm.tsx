import { claimedBy, type ListedServer } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { confirmHardware } from '../dialogs/dialogs.ts'

const nameOf = (servers: readonly ListedServer[]): string =>
  servers.length === 1 ? servers[0]!.name : counted(servers.length, 'server')

/**
 * Notice above the list: servers whose hardware must be confirmed before Steelyard sends them
 * anything.
 */
export default function ToConfirm({ servers: inDoubt }: { servers: readonly ListedServer[] }) {
  const changed = inDoubt.filter((s) => s.identity.state === 'changed')
  const claimed = inDoubt.filter(claimedBy)
  const waiting = inDoubt.filter((s) => !changed.includes(s) && !claimed.includes(s))
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
          <b>Other hardware answered at {nameOf(changed)}.</b> Nothing is sent to a server in doubt
          until a user decides which machine it is.
        </Alert>
      )}
      {claimed.length > 0 && (
        <Alert tone="warn" action={review(claimed)}>
          <b>A machine that has proved nothing answered as {nameOf(claimed)}.</b> Nothing has
          changed there: look which machine it is.
        </Alert>
      )}
      {waiting.length > 0 && (
        <Alert tone="warn" action={review(waiting)}>
          {waiting.length === 1
            ? `${waiting[0]!.name} waits`
            : `${counted(waiting.length, 'server')} wait`}{' '}
          for a user to confirm the hardware.
        </Alert>
      )}
    </div>
  )
}
