import { CallError, whyOf } from '../../api/http.ts'
import { messages } from '../../api/messages.ts'
import type { KeptDraft } from '../../api/use-draft.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DraftNotice } from '../../ui/feedback/DraftNotice.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './PatchEditor.module.css'

interface NoticesProps {
  serverId: string
  creating: boolean
  restored: KeptDraft['restored']
  newer: boolean
  /** Why saving failed, or null. */
  failure: unknown
  onDiscard: () => void
  onNewest: () => void
  onOverwrite: () => void
}

/** Notices above the editor: a restored draft, a newer patch, and why saving failed. */
export function Notices({
  serverId,
  creating,
  restored,
  newer,
  failure,
  onDiscard,
  onNewest,
  onOverwrite,
}: NoticesProps) {
  const isStale = failure instanceof CallError && failure.status === 412
  const loadNewer = <ActionButton label="Load the new version" size="small" run={onNewest} />
  return (
    <div className={css['alerts']}>
      {restored !== null && <DraftNotice what="patch" {...restored} onDiscard={onDiscard} />}
      {newer && !isStale && (
        <Alert tone="warn" action={loadNewer}>
          Somebody else has changed this patch since you opened it.
        </Alert>
      )}
      {isStale && (
        <Alert
          tone="warn"
          action={
            <span className="row wrap">
              {loadNewer}
              <ActionButton
                label="Overwrite with my version"
                size="small"
                kind="danger"
                run={onOverwrite}
              />
            </span>
          }
        >
          <b>Somebody else changed this patch since you opened it.</b> Nothing was saved. What you
          typed is still here.
        </Alert>
      )}
      {failure !== null && !isStale && (
        <Alert tone="danger">
          <b>{creating ? messages.patchNotCreated(serverId) : 'The patch could not be saved'}</b>{' '}
          {whyOf(failure)}
        </Alert>
      )}
    </div>
  )
}
