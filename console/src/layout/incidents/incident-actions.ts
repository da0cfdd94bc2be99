/** What a user does about an incident, beside its remedies. */
import {
  type Incident,
  incidentAssign,
  incidentGet,
  incidentList,
  incidentUpdate,
} from '#contract/incidents/incidents.ts'
import { no, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { type Action, both } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { mayChangeObject } from '../findings/finding-actions.ts'

const editNote = dialog<{ incident: Incident }>(() => import('./EditNote.tsx'))

async function assign(i: Incident, user_id?: null): Promise<void> {
  try {
    await call(incidentAssign, {
      params: { id: i.id },
      body: user_id === undefined ? {} : { user_id },
    })
    await Promise.all([invalidate(incidentList), invalidate(incidentGet)])
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const isOpen = (i: Incident) => (i.ended_at === null ? yes : no('The incident has ended already'))

/** Says that the user takes care of an incident. */
export const assignToMe = (i: Incident): Action => ({
  label: 'Assign to me',
  icon: 'check',
  can: both(allowed(incidentAssign), mayChangeObject(i.object), isOpen(i)),
  run: () => assign(i),
})

export const incidentActions = (i: Incident): Action[] => [
  i.assigned === null
    ? assignToMe(i)
    : { ...assignToMe(i), label: 'Give it up', icon: 'close', run: () => assign(i, null) },
  {
    label: i.note === null ? 'Add a note' : 'Change the note',
    icon: 'edit',
    can: both(allowed(incidentUpdate), mayChangeObject(i.object)),
    run: () => editNote({ incident: i }),
  },
  {
    label: `Its ${counted(i.parts.count, 'finding')}`,
    icon: 'grip',
    to: paths.findings({ incident: i.id, ...(i.ended_at !== null && { ended: 'true' }) }),
  },
]
