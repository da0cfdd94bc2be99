import { silenceCreate } from '#contract/alerts/silences.ts'
import { type Finding, findingAcknowledge } from '#contract/findings/findings.ts'
import { findingObjects } from '#contract/findings/kinds.ts'
import { permits } from '#contract/permissions.ts'
import { no, yes } from '#contract/rule.ts'
import { allowed, heldScopes } from '../../api/session.ts'
import { type Action, both } from '../../ui/actions.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'

const acknowledgeFinding = dialog<{ finding: Finding }>(() => import('./AcknowledgeFinding.tsx'))
const silenceFinding = dialog<{ finding: Finding }>(() => import('./SilenceFinding.tsx'))

/** What a user does about an open finding, beside its remedies. */
export const findingActions = (finding: Finding): Action[] => {
  const isOpen = finding.ended_at === null ? yes : no('The finding has ended already')
  return [
    {
      label: 'Acknowledge',
      icon: 'check',
      can: both(
        allowed(findingAcknowledge),
        permits(heldScopes() ?? [], findingObjects[finding.object.kind].write),
        isOpen,
      ),
      run: () => acknowledgeFinding({ finding }),
    },
    {
      label: 'Silence',
      icon: 'eye-off',
      can: both(allowed(silenceCreate), isOpen),
      run: () => silenceFinding({ finding }),
    },
  ]
}
