/** What the preview of a cluster found: what keeps it from being created, and what is allowed but unwise. */
import type { clusterPreview } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { reasonOf } from '../../lib/reason.ts'

type Preview = Answer<typeof clusterPreview>

export interface Findings {
  /** The cluster can't be created: sentences. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** Each sentence once: the same may be true of several servers. */
const unique = (sentences: readonly string[]): string[] => [...new Set(sentences)]

/** Whether a disk was confirmed is asked on the page itself. */
export const findingsOf = ({ checks, servers }: Pick<Preview, 'checks' | 'servers'>): Findings => ({
  errors: unique(checks.filter((c) => !c.ok && c.check !== 'confirmed_disks').map((c) => c.message)),
  warnings: unique([
    ...checks.filter((c) => c.ok && c.check === 'warning').map((c) => c.message),
    ...servers.flatMap((s) => s.warnings.map((w) => `${s.name}: ${w}`)),
  ]),
})

/** Whether what was previewed may be created; a no says why, as the button does. */
export function previewVerdict({ data, error }: { data: Pick<Preview, 'checks' | 'servers'> | undefined; error: unknown }): Verdict {
  if (data === undefined) return no(error ? `It could not be checked: ${reasonOf(error)}` : 'It is being checked')
  const { errors } = findingsOf(data)
  if (errors.length === 0) return yes
  return no(errors.length === 1 ? errors[0]! : `${errors[0]!} (and ${errors.length - 1} more)`)
}
