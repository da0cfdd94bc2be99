import type { Answer } from '#contract/operation.ts'
import type { subnetImport } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'

/** Summary of an import: effects of its rows, or the number of problems. */
export function summaryOf({ rows, problems }: Pick<Answer<typeof subnetImport>, 'rows' | 'problems'>): {
  problems: number
  changes: number
  text: string
  /** Label of the button. */
  verb: string
  /** Message after the import. */
  done: string
} {
  const of = (does: 'create' | 'update' | 'nothing') => rows.filter((row) => row.does === does).length
  const [added, changed, same] = [of('create'), of('update'), of('nothing')]
  const parts = [
    added > 0 && `${counted(added, 'subnet')} to add`,
    changed > 0 && `${counted(changed, 'subnet')} to change`,
    same > 0 && `${same} without a change`,
  ]
  const lines = new Set(problems.map((p) => p.line)).size
  return {
    problems: problems.length,
    changes: added + changed,
    text:
      problems.length > 0
        ? `${counted(problems.length, 'problem')} in ${counted(lines, 'line')}. Nothing was written: correct the text and check it again.`
        : `Every row is right: ${parts.filter(Boolean).join(', ') || 'no rows'}.`,
    verb: added + changed === 0 ? 'Import' : `Import ${counted(added + changed, 'subnet')}`,
    done: [added > 0 && `${counted(added, 'subnet')} added`, changed > 0 && `${counted(changed, 'subnet')} changed`].filter(Boolean).join(', '),
  }
}
