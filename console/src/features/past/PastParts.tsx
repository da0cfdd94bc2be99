/** Parts that the pages of the past share. */
import type { WorstFinding } from '#contract/findings/findings.ts'
import { no } from '#contract/rule.ts'
import { moment } from '../../lib/time/time.ts'
import type { Action } from '../../ui/actions.ts'
import { FindingMark } from '../../ui/feedback/FindingMark.tsx'
import { Button } from '../../ui/inputs/Button.tsx'

/** Why nothing can be done in the past. */
export const isPast = no('This is the past. Go back to now to act.')

/** The acts of a page, drawn but not to be pressed. */
export const Acts = ({ labels }: { labels: readonly string[] }) => (
  <>
    {labels.map((label) => (
      <Button key={label} can={isPast}>
        {label}
      </Button>
    ))}
  </>
)

export const acts = (...labels: readonly string[]): readonly Action[] =>
  labels.map((label) => ({ label, can: isPast, run: () => undefined }))

/** The words for what the history doesn't record. */
export const notRecorded = <span className="t3">Not recorded</span>

export const orNotRecorded = (value: string | number | null | undefined) =>
  value === null || value === undefined || value === '' ? notRecorded : value

export const FindingThen = ({ finding }: { finding: WorstFinding }) => (
  <>
    <FindingMark finding={finding} /> <span className="t3">since {moment(finding.since)}</span>
  </>
)

/** What of an object isn't recorded, in one line at the end of its page. */
export const Unrecorded = ({ fields }: { fields: readonly string[] }) => (
  <p className="fs12 t3">
    The history doesn’t record:{' '}
    {[...new Set(fields.map((f) => f.split('.').at(-1)!.replaceAll('_', ' ')))].join(', ')}.
  </p>
)
