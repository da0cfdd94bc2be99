import { type AnyList } from '#contract/list.ts'
import { type SavedView, viewLimits } from '#contract/people/preferences.ts'
import { no } from '#contract/rule.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { sameView, showing, tableOf, viewOf } from '../../lib/list-search.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import type { MenuItem } from '../../ui/overlay/Menu.tsx'
import MenuView, { type MenuViewProps } from '../../ui/overlay/MenuView.tsx'
import { canExport, type Exported, exportList } from './export-list.ts'
import type { ListState } from './use-list.tsx'

const saveView = dialog<{ taken: readonly string[]; onSave: (name: string) => void }>(
  () => import('./SaveView.tsx'),
)

export type ViewsState = Exported & Pick<ListState<AnyList>, 'setSearch'>

/** The menu of a list's views: opens, saves and deletes them, and exports what is shown. */
export default function ViewsMenu({
  state,
  ...menu
}: Omit<MenuViewProps, 'items'> & { state: ViewsState }) {
  const { list, search, setSearch } = state
  const { views, setViews } = useTablePreferences(tableOf(list))
  const now = viewOf(list, search)
  const shown = views.find((view) => sameView(view.search, now))
  const forget = (view: SavedView) => {
    setViews((kept) => kept.filter((one) => one.name !== view.name))
    toast.success(`The view ${view.name} was deleted`, {
      undo: () => setViews((kept) => [...kept.filter((one) => one.name !== view.name), view]),
    })
  }
  const items: MenuItem[] = [
    ...views.map((view) => ({
      label: view.name,
      run: () => setSearch(showing(list, view.search), { push: true }),
      checked: view === shown,
    })),
    ...(views.length > 0 ? (['rule'] as const) : []),
    {
      label: 'Save this view',
      icon: 'add',
      ...(shown !== undefined
        ? { can: no(`This view is saved as ${shown.name}`) }
        : Object.keys(now).length === 0
          ? { can: no('Filter or sort the list first') }
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
    ...(canExport(list)
      ? ([
          'rule',
          { label: 'Export as CSV', icon: 'download', run: () => exportList(state) },
        ] as const)
      : []),
  ]
  return <MenuView {...menu} items={items} />
}
