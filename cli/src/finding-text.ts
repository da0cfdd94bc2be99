/** Texts of findings, which stand before the status of servers and clusters. */
import type { Said, WorstFinding } from '#contract/findings/findings.ts'
import { findingKinds, type FindingSeverity } from '#contract/findings/kinds.ts'
import type { Colour } from './terminal.ts'
import { localTime } from './text.ts'

export const findingColours: Readonly<Record<FindingSeverity, Colour | null>> = {
  down: 'red',
  degraded: 'yellow',
  attention: null,
}

/** The colour of what is said of a cluster or a server; `usual` if nothing is wrong. */
export const saidColour = ({ severity }: Said, usual: Colour | null = null): Colour | null =>
  severity === null || severity === 'attention' ? usual : findingColours[severity]

export const findingWord = ({ kind }: Pick<WorstFinding, 'kind'>): string => findingKinds[kind].word

/** "Unreachable since 2026-11-20 13:41: No answer since …" */
export const findingLine = (finding: WorstFinding): string =>
  `${findingWord(finding)} since ${localTime(finding.since)}: ${finding.reason}`
