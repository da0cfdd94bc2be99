/** Actions on shared patches. */
import { no } from '#contract/rule.ts'
import {
  canRemoveSharedPatch,
  canRollOutSharedPatch,
  canUndoSharedPatch,
  isSharedPatchIdle,
  type SharedPatchFacts,
  sharedPatchCreate,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { rollOutMinutes, withLosses } from '../../../api/asking/losses.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { type Action, both, confirm } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { refreshSharedPatches } from './shared-queries.ts'

export const rollOutDialog = dialog<{ patch: SharedPatchFacts }>(() => import('./RollOut.tsx'))

export const createAction = (): Action => ({
  label: 'Create shared patch',
  icon: 'add',
  can: allowed(sharedPatchCreate),
  to: paths.createSharedPatch,
})

export const editAction = (patch: SharedPatchFacts): Action => ({
  label: 'Edit',
  icon: 'edit',
  can: both(allowed(sharedPatchUpdate), isSharedPatchIdle(patch)),
  to: paths.editSharedPatch(patch.id),
})

export const rollOutAction = (patch: SharedPatchFacts): Action => ({
  label: 'Roll out',
  icon: 'arrow-right',
  can: both(allowed(sharedPatchRollOut), canRollOutSharedPatch(patch)),
  run: () => rollOutDialog({ patch }),
})

/** Takes the last roll-out back at once: the page says beside the button what it does. */
export const undoAction = (patch: SharedPatchFacts): Action => ({
  label: 'Undo',
  icon: 'refresh',
  can: both(allowed(sharedPatchUndo), canUndoSharedPatch(patch)),
  run: async () => {
    try {
      await withLosses(
        (confirmed) => call(sharedPatchUndo, { params: { id: patch.id }, body: confirmed }),
        rollOutMinutes,
      )
    } catch (error) {
      toast.error(reasonOf(error))
    }
    await refreshSharedPatches()
  },
})

/** @param held number of servers that have any revision of the patch; undefined: not known yet */
export const removeAction = (
  patch: SharedPatchFacts,
  held: number | undefined,
  then: () => void,
): Action => ({
  label: 'Delete',
  icon: 'trash',
  danger: true,
  can: both(
    allowed(sharedPatchRemove),
    isSharedPatchIdle(patch),
    held === undefined
      ? no('Which servers have this patch is not known yet')
      : canRemoveSharedPatch(held),
  ),
  run: () =>
    confirm({
      title: `Delete ${patch.name}?`,
      label: 'Delete',
      text: 'No server has this patch, so nothing is sent. It is deleted for good.',
      danger: true,
      act: async () => {
        await call(sharedPatchRemove, { params: { id: patch.id } }, { version: patch.version })
        await refreshSharedPatches()
        toast.success(`${patch.name} was deleted`)
        then()
      },
    }),
})
