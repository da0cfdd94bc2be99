import type { KeptDraft } from '../../api/use-draft.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { DraftNotice } from '../../ui/feedback/DraftNotice.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './PatchEditor.module.css'

/** Why a patch was not saved. */
export type Refusal = { kind: 'failed'; message: string; fields: Readonly<Record<string, string>> } | { kind: 'stale' }

/** Above the editor: a draft that was put back, a newer patch, and why saving failed. */
export function Notices({
  serverId,
  creating,
  restored,
  newer,
  refusal,
  onDiscard,
  onNewest,
  onOverwrite,
}: {
  serverId: string
  creating: boolean
  restored: KeptDraft<object>['restored']
  newer: boolean
  refusal: Refusal | null
  onDiscard: () => void
  onNewest: () => void
  onOverwrite: () => void
}) {
  const loadNewer = (
    <Button size="small" onClick={onNewest}>
      Load the newer one
    </Button>
  )
  return (
    <div className={css['alerts']}>
      {restored !== null && <DraftNotice what="patch" {...restored} onDiscard={onDiscard} />}
      {newer && refusal?.kind !== 'stale' && (
        <Alert tone="warn" action={loadNewer}>
          Somebody else has changed this patch since you opened it.
        </Alert>
      )}
      {refusal?.kind === 'stale' && (
        <Alert
          tone="warn"
          action={
            <span className="row wrap">
              {loadNewer}
              <Button size="small" kind="danger" onClick={onOverwrite}>
                Save mine over it
              </Button>
            </span>
          }
        >
          <b>Somebody else changed this patch since you opened it.</b> Nothing was saved. What you typed is still here.
        </Alert>
      )}
      {refusal?.kind === 'failed' && (
        <Alert tone="danger">
          <b>{creating ? `Failed to create patch for node ${serverId}` : 'The patch could not be saved'}</b> {refusal.message}
        </Alert>
      )}
    </div>
  )
}
