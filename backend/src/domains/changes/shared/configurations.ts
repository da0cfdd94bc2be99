/** The configurations that members would get if the settings of their cluster changed. */
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import type { Blueprint } from '../../configurations/api.ts'
import { joined } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { type ChangeView } from '../frame.ts'
import { check } from '../../control-planes/api.ts'

/**
 * Check: with its patches, every member can have the configuration that the change gives it. Only
 * what the change brings counts.
 */
export async function checkConfigurations(
  { parts, state }: Pick<ChangeView, 'parts' | 'state'>,
  members: readonly MemberRow[],
  change: (now: Blueprint) => Blueprint,
): Promise<{ readonly check: PlanCheck; readonly warnings: readonly string[] }> {
  const refused: string[] = []
  const warnings: string[] = []
  // One after another, because each waits in the queue of the reader.
  for (const m of members) {
    const judged = await parts.configurations.judgeAfter(state.row.id, m.node_id, change)
    refused.push(...judged.refused)
    warnings.push(...judged.warnings)
  }
  return {
    check: check(
      'configurations',
      refused.length === 0,
      refused.length === 0
        ? 'Every server can have its configuration, with its patches'
        : `${joined(refused)}. Change the patches first`,
    ),
    warnings,
  }
}
