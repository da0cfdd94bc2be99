import { silenceCreate } from '#contract/alerts/silences.ts'
import { type Finding, findingAcknowledge } from '#contract/findings/findings.ts'
import { type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { allowed } from '../../api/session.ts'
import { type Action, both } from '../../ui/actions.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'

const acknowledgeFinding = dialog<{ finding: Finding }>(() => import('./AcknowledgeFinding.tsx'))
const silenceFinding = dialog<{ finding: Finding }>(() => import('./SilenceFinding.tsx'))

/** Whether the user may change an object, and so say what is done about its findings. */
export const mayChangeObject = (object: { readonly kind: FindingObject } | null): Verdict =>
  object === null ? yes : allowed({ scope: findingObjects[object.kind].write })

/** What a user does about an open finding, beside its remedies. */
export const findingActions = (finding: Finding): Action[] => {
  const isOpen = finding.ended_at === null ? yes : no('The finding has ended already')
  return [
    {
      label: 'Acknowledge',
      icon: 'check',
      can: both(allowed(findingAcknowledge), mayChangeObject(finding.object), isOpen),
      run: () => acknowledgeFinding({ finding }),
    },
    {
      label: 'Silence',
      icon: 'eye-off',
      can: both(allowed(silenceCreate), mayChangeObject(finding.object), isOpen),
      run: () => silenceFinding({ finding }),
    },
  ]
}
