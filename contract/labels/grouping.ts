/** What the items of a list are grouped by: the value of a filter, or of a label. */
import type { AnyList } from '../list.ts'
import { selectorOf } from './selector.ts'

/** The filter, or the key of the label, that a text such as `rack` or `label:gen` names. */
export type Grouping<By extends string = string> = { readonly by: By } | { readonly label: string }

const prefix = 'label:'
/** The text of a grouping by a label. */
export const byLabel = (key: string): string => prefix + key

/** What a text says to group by; null if it names nothing. */
export function groupingOf<By extends string>(
  named: readonly By[],
  text: string,
): Grouping<By> | null {
  const by = named.find((one) => one === text)
  if (by !== undefined) return { by }
  const label = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  // A selector that only names a key has its syntax.
  const conditions = label === '' ? null : selectorOf(label)
  const [only, ...more] = conditions ?? []
  return only?.key === label && more.length === 0 ? { label } : null
}

/** Says what the items of a list are grouped by, if a text names nothing. */
export const groupingSentence = ({ groups = [] }: Pick<AnyList, 'groups'>): string =>
  `Groups are by ${groups.join(', ')}, or by a label such as ${byLabel('gen')}`
