/** What the preview of a new cluster says. */
import type { clusterPreview } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { reasonOf } from '../../../lib/reason.ts'

type Preview = Answer<typeof clusterPreview>

/** Removes duplicates: a sentence may apply to several servers. */
const unique = (sentences: readonly string[]): string[] => [...new Set(sentences)]

/** Checks that the page makes itself, or asks about when the cluster is created. */
const askedLater = new Set(['confirmed_disks', 'confirmed_loss'])

/**
 * The errors and warnings of a preview, without the checks that the page does itself.
 */
export const findingsOf = ({ checks, servers }: Pick<Preview, 'checks' | 'servers'>) => ({
  errors: unique(checks.filter((c) => !c.ok && !askedLater.has(c.check)).map((c) => c.message)),
  warnings: unique([
    ...checks.filter((c) => c.ok && c.check === 'warning').map((c) => c.message),
    ...servers.flatMap((s) => s.warnings.map((w) => `${s.name}: ${w}`)),
  ]),
})

/** Whether the previewed cluster may be created, with the reason for the disabled button. */
export function previewVerdict({
  data,
  error,
}: {
  data: Pick<Preview, 'checks' | 'servers'> | undefined
  error: unknown
}): Verdict {
  if (data === undefined)
    return no(
      error
        ? `The cluster could not be checked: ${reasonOf(error)}`
        : 'The cluster is being checked',
    )
  const { errors } = findingsOf(data)
  if (errors.length === 0) return yes
  return no(errors.length === 1 ? errors[0]! : `${errors[0]!} (and ${errors.length - 1} more)`)
}
