/** Words for many findings of one kind. */
import { findingKinds } from '#contract/findings/kinds.ts'
import type { Attention } from '#contract/overview.ts'
import { count } from '#contract/words.ts'

const named = 3

/** "Node not Ready in DE-FRA-1: db-1, db-2, db-3 and 37 others". */
export function groupText({
  kind,
  datacenter,
  count: all,
  items,
}: Pick<Attention['groups'][number], 'kind' | 'datacenter' | 'count' | 'items'>): string {
  const names = items.slice(0, named).map(({ object }) => object.name)
  const others = all - names.length
  const place = datacenter === null ? '' : ` in ${datacenter.code}`
  const list = names.join(', ')
  return `${findingKinds[kind].title}${place}: ${others > 0 ? `${list} and ${count(others)} ${others === 1 ? 'other' : 'others'}` : list}`
}
