/** Texts of findings, which stand before the status of servers and clusters. */
import type { WorstFinding } from '#contract/findings/findings.ts'
import { findingKinds, type FindingSeverity } from '#contract/findings/kinds.ts'
import type { Colour } from './terminal.ts'
import { localTime } from './text.ts'

export const findingColours: Readonly<Record<FindingSeverity, Colour | null>> = {
  down: 'red',
  degraded: 'yellow',
  attention: null,
}

export const findingWord = ({ kind }: Pick<WorstFinding, 'kind'>): string => findingKinds[kind].word

/** "Unreachable since 2026-11-20 13:41: No answer since …" */
export const findingLine = (finding: WorstFinding): string =>
  `${findingWord(finding)} since ${localTime(finding.since)}: ${finding.reason}`
