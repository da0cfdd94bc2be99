import type { ImportDoes } from '#contract/csv/imports.ts'
import { Badge } from '../../ui/feedback/Status.tsx'

const tones = { create: 'ok', update: 'accent', nothing: 'neutral' } as const
const doing = { create: 'Add', update: 'Change', nothing: 'No change' } as const

/** What a row of an import does. */
export function Does({
  does,
  text = doing[does],
}: {
  does: ImportDoes
  text?: string | undefined
}) {
  return <Badge tone={tones[does]}>{text}</Badge>
}
