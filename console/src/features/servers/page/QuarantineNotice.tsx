import type { Server } from '#contract/servers/servers.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { quarantineAction } from '../server-actions.ts'
import css from './ServerPage.module.css'

/** Who has put the server into quarantine, since when and why, with the way to lift it. */
export function QuarantineNotice({ server }: { server: Server }) {
  const { quarantine = null, cluster, status } = server
  if (quarantine === null || status === 'deleted') return null
  return (
    <Alert
      tone="warn"
      className={css['notice'] ?? ''}
      action={<ActionButton {...quarantineAction(server)} icon={undefined} size="small" />}
    >
      <b>In quarantine</b> since <Time at={quarantine.since} /> by {quarantine.by}:{' '}
      {quarantine.reason.replace(/\.$/, '')}.{' '}
      {cluster ? `It stays in ${cluster.name}, and no other` : 'No'} cluster gets it.
    </Alert>
  )
}
