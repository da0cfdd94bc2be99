import type { ListedServer } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { confirmHardware } from '../dialogs/dialogs.ts'

/** "Two machines have the UUID of amber-falcon-204." */
function alarmOf(changed: readonly ListedServer[]): string {
  const one = changed.length === 1 ? changed[0]! : null
  if (one === null)
    return `The identity of ${counted(changed.length, 'server')} is in doubt: other hardware answered, or two machines have the same UUID.`
  return one.identity.seen?.uuid === one.identity.uuid
    ? `Two machines have the UUID of ${one.name}.`
    : `Other hardware answered at ${one.name}.`
}

/**
 * Notice above the list: servers whose hardware must be confirmed before Steelyard sends them
 * anything.
 */
export function ToConfirm({ servers }: { servers: readonly ListedServer[] }) {
  const changed = servers.filter((s) => s.status !== 'deleted' && s.identity.state === 'changed')
  const waiting = servers.filter(
    (s) =>
      s.status !== 'deleted' &&
      (s.identity.state === 'unconfirmed' || s.identity.state === 'announced'),
  )
  const review = (list: readonly ListedServer[]) => (
    <ActionButton
      label="Review"
      size="small"
      run={() => confirmHardware({ ids: list.map((s) => s.id) })}
    />
  )
  if (changed.length + waiting.length === 0) return null
  return (
    <div className="stack stack2">
      {changed.length > 0 && (
        <Alert tone="danger" action={review(changed)}>
          <b>{alarmOf(changed)}</b> Nothing is sent to a server in doubt until a user decides which
          machine it is.
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
