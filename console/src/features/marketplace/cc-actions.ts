/** Actions on a commitment, for row menu, page and ⌘K. */
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import {
  canChangeCcTerms,
  canMoveCc,
  type CapacityCommitment,
  ccCommitProblems,
  type CcStatus,
  ccUpdate,
} from '#contract/marketplace/ccs.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import { call } from '../../api/client.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { sentence } from '../../lib/text.ts'
import { exact } from '../../lib/time/time.ts'
import { type Action, confirm, type Confirmation, only } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { refreshCcs } from './cc-queries.ts'
import { serverNow } from '../../lib/time/server-time.ts'

/** Adds a commitment, or edits a draft. */
export const editCc = dialog<{ edit: CapacityCommitment | null }>(() => import('./CcDialog.tsx'))
/** Marks a commitment as failed, or removes it, with a reason. */
const endCc = dialog<{ cc: CapacityCommitment; to: 'failed' | 'removed' }>(
  () => import('./EndDialog.tsx'),
)

const changed = (cc: CapacityCommitment, to: CcStatus) => ({
  act: async () => {
    await call(ccUpdate, { params: { id: cc.id }, body: { status: to } }, { version: cc.version })
    await refreshCcs()
    toast.success(`${cc.server.name}: ${sentence(to).toLowerCase()}`)
  },
})

/**
 * Whether the terms are complete. The form opens from the same row, so the sentence only names what
 * is missing.
 */
function complete(cc: CapacityCommitment, now: number): Verdict {
  const [problem] = Object.values(ccCommitProblems(cc, now))
  return cc.status === 'not_committed' && problem !== undefined ? no(problem) : yes
}

const termsOf = ({ price, starts_at, expires_at }: CapacityCommitment): string =>
  [
    price && priceShown(price),
    starts_at === null ? 'from the confirmation of the delegation' : `from ${exact(starts_at)}`,
    expires_at && `to ${exact(expires_at)}`,
  ]
    .filter(Boolean)
    .join(', ')

/** `on`: the list, or the commitment's own page. */
export function ccActions(cc: CapacityCommitment, on: 'list' | 'page'): Action[] {
  const now = serverNow()
  const can = (to: CcStatus): Verdict => all(allowed(ccUpdate), canMoveCc(cc, to, now))
  const step = (
    to: CcStatus,
    label: string,
    confirmation: Omit<Confirmation, 'act'>,
    more: Partial<Action> = {},
  ): Action => ({
    label,
    can: can(to),
    run: () => confirm({ label, ...confirmation, ...changed(cc, to) }),
    ...more,
  })
  const { name } = cc.server
  return [
    ...only(on === 'list', { label: 'Open', icon: 'arrow-right', to: paths.cc(cc.id) }),
    {
      label: 'Edit terms',
      icon: 'edit',
      can: all(allowed(ccUpdate), canChangeCcTerms(cc)),
      run: () => editCc({ edit: cc }),
    },
    step(
      'waiting_delegation',
      'Commit capacity',
      {
        title: `Commit the capacity of ${name}?`,
        text: `${termsOf(cc)}. The terms can’t be changed afterwards.`,
      },
      { icon: 'lock', can: all(can('waiting_delegation'), complete(cc, now)) },
    ),
    step(
      'waiting_start',
      'Confirm delegation',
      {
        title: `Confirm the delegation for ${name}?`,
        text:
          cc.starts_at === null
            ? 'The commitment starts at once.'
            : `Steelyard starts the commitment on ${exact(cc.starts_at)}.`,
      },
      { icon: 'check' },
    ),
    step('active', 'Start now', {
      title: `Start the commitment of ${name} now?`,
      text: 'It starts before its time and keeps its end. This can’t be undone.',
    }),
    step('completed', 'Complete now', {
      title: `Complete the commitment of ${name} now?`,
      text: `Steelyard completes it by itself${cc.expires_at === null ? '' : ` on ${exact(cc.expires_at)}`}. Completing it earlier can’t be undone.`,
    }),
    {
      label: 'Mark as failed',
      icon: 'alert',
      danger: true,
      can: can('failed'),
      run: () => endCc({ cc, to: 'failed' }),
    },
    {
      label: 'Remove',
      icon: 'trash',
      danger: true,
      can: can('removed'),
      run: () => endCc({ cc, to: 'removed' }),
    },
  ]
}
