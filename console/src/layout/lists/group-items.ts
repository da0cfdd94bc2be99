import { useQuery } from '@tanstack/react-query'
import { byLabel } from '#contract/labels/grouping.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { type AnyList, tableOf } from '#contract/list.ts'
import { query } from '../../api/query.ts'
import { reasonOf } from '../../lib/reason.ts'
import type { MenuItem } from '../../ui/overlay/Menu.tsx'
import { groupingOf } from '../groups/grouping.ts'

/** Keys of labels in the menu itself; the others are in a menu of their own. */
const mostKeys = 8

const labelsOf: Readonly<Record<string, typeof serverLabels | typeof clusterLabels>> = {
  servers: serverLabels,
  clusters: clusterLabels,
}

/** What a list is grouped by; empty for lists that have no groups. */
export function useGroupItems(
  list: AnyList,
  by: string | undefined,
  onBy: (by: string | undefined) => void,
): MenuItem[] {
  const labels = labelsOf[tableOf(list)]
  const { data, error, refetch } = useQuery({
    ...query(labels ?? serverLabels),
    enabled: labels !== undefined,
  })
  if (labels === undefined) return []
  const { filters, groups = [], nouns } = list
  const now = groupingOf(list, by ?? '')
  const used = (data?.items ?? []).map(({ key }) => key)
  const keys = [...new Set(now !== null && 'label' in now ? [now.label, ...used] : used)]
  const choice = (label: string, to: string | undefined): MenuItem => ({
    id: to ?? '',
    label,
    checked: now === null ? to === undefined : to === by,
    run: () => onBy(to),
  })
  const ofLabels = keys.map((key) => choice(key, byLabel(key)))
  return [
    choice('None', undefined),
    ...groups.map((one) => choice(filters[one]!.label, one)),
    'rule',
    {
      heading:
        error !== null && data === undefined
          ? `Labels could not be loaded: ${reasonOf(error)}`
          : data === undefined
            ? 'Labels are loading'
            : keys.length === 0
              ? `No ${nouns[0]} has labels yet`
              : 'Label',
    },
    ...ofLabels.slice(0, mostKeys),
    ...(ofLabels.length > mostKeys
      ? [{ label: 'Other labels', items: ofLabels.slice(mostKeys) }]
      : []),
    ...(error !== null && data === undefined
      ? [{ label: 'Try again', stay: true, run: () => void refetch() }]
      : []),
  ]
}
