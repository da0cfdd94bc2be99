import { isStale } from '../../api/asking/fresh-version.ts'
import { whyOf } from '../../api/http.ts'
import type { KeptDraft } from '../../api/use-draft.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DraftNotice } from '../../ui/feedback/DraftNotice.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './PatchEditor.module.css'

interface NoticesProps {
  /** Begins the sentence about why saving failed. */
  notSaved: string
  /** Who saved the newer patch, if that is known. */
  by?: string | null
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
  notSaved,
  by = null,
  restored,
  newer,
  failure,
  onDiscard,
  onNewest,
  onOverwrite,
}: NoticesProps) {
  const stale = isStale(failure)
  const loadNewer = <ActionButton label="Load the new version" size="small" run={onNewest} />
  return (
    <div className={css['alerts']}>
      {restored !== null && <DraftNotice what="patch" {...restored} onDiscard={onDiscard} />}
      {newer && !stale && (
        <Alert tone="warn" action={loadNewer}>
          {by ?? 'Somebody else'} has changed this patch since you opened it.
        </Alert>
      )}
      {stale && (
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
          <b>{by ?? 'Somebody else'} changed this patch since you opened it.</b> Nothing was saved.
          What you typed is still here.
        </Alert>
      )}
      {failure !== null && !stale && (
        <Alert tone="danger">
          <b>{notSaved}</b> {whyOf(failure)}
        </Alert>
      )}
    </div>
  )
}
