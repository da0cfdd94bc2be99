import type { Finding } from '#contract/findings/findings.ts'
import type { Overview } from '#contract/overview.ts'

/** The findings that the overview lists, the worst first. */
export const listedFindings = (overview: Overview | undefined): Finding[] =>
  overview?.attention?.groups.flatMap(({ items }) => items) ?? []
