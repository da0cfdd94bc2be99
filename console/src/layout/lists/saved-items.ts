import { useQuery } from '@tanstack/react-query'
import { tableOf } from '#contract/list.ts'
import { type SavedView, viewLimits } from '#contract/people/preferences.ts'
import { mostSharedViews, sharedViewList } from '#contract/people/shared-views.ts'
import { no, yes } from '#contract/rule.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { query } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { sameView, showing, viewOf } from '../../lib/list-search.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import type { MenuItem } from '../../ui/overlay/Menu.tsx'
import { canExport, type Exported, exportList } from './export-list.ts'
import { sharedItems } from './shared-views.ts'
import type { SetSearch } from '../../lib/router.ts'
import type { ListSearch } from '../../lib/list-search.ts'

const saveView = dialog<{ taken: readonly string[]; onSave: (name: string) => void }>(
  () => import('./SaveView.tsx'),
)

/** A list, with what is shown of it. */
export interface SavedState extends Exported {
  readonly setSearch: SetSearch<ListSearch>
}

/** The user's own views and those that users share, to be opened, saved and deleted. */
export function useSavedItems(state: SavedState): MenuItem[] {
  const { list, search, setSearch } = state
  const table = tableOf(list)
  const { views, setViews } = useTablePreferences(table)
  const { data, error } = useQuery(
    query(sharedViewList, { query: { list: table, per_page: mostSharedViews } }),
  )
  const userId = useUser()?.id
  const now = viewOf(list, search)
  const worth = Object.keys(now).length === 0 ? no('Filter or sort the list first') : yes
  const shown = views.find((view) => sameView(view.search, now))
  const forget = (view: SavedView) => {
    setViews((kept) => kept.filter((one) => one.name !== view.name))
    toast.success(`The view ${view.name} was deleted`, {
      undo: () => setViews((kept) => [...kept.filter((one) => one.name !== view.name), view]),
    })
  }
  const shared = sharedItems(state, { now, views: data?.items, error, userId, worth })
  return [
    ...views.map((view) => ({
      label: view.name,
      run: () => setSearch(showing(list, view.search), { push: true }),
      checked: view === shown,
    })),
    ...shared.open,
    ...(views.length > 0 || shared.open.length > 0 ? (['rule'] as const) : []),
    {
      label: 'Save this view',
      icon: 'add',
      ...(shown !== undefined
        ? { can: no(`This view is saved as ${shown.name}`) }
        : !worth.ok
          ? { can: worth }
          : views.length >= viewLimits.views && {
              can: no(`You have ${viewLimits.views} views of this list: delete one first`),
            }),
      run: () =>
        saveView({
          taken: views.map((view) => view.name),
          onSave: (name) => setViews((kept) => [...kept, { name, search: now }]),
        }),
    },
    ...(shown === undefined
      ? []
      : [{ label: `Delete ${shown.name}`, icon: 'trash' as const, run: () => forget(shown) }]),
    ...shared.acts,
    ...(canExport(list)
      ? [{ label: 'Export as CSV', icon: 'download' as const, run: () => exportList(state) }]
      : []),
  ]
}
