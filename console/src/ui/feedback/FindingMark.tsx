import type { WorstFinding } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { findingTones } from './finding-tones.ts'
import { StatusDot } from './Status.tsx'

/** The word of a finding beside the name of its object, and its whole sentence. */
export const FindingMark = ({
  finding: { kind, severity, reason },
}: {
  finding: Pick<WorstFinding, 'kind' | 'severity' | 'reason'>
}) => (
  <StatusDot tone={findingTones[severity]} why={reason} whole>
    {findingKinds[kind].word}
  </StatusDot>
)
