import { useMemo } from 'react'
import type { AnyList } from '#contract/list.ts'
import { no } from '#contract/rule.ts'
import { type SavedView, viewLimits } from '#contract/people/preferences.ts'
import type { SetSearch } from '../../lib/router.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { type ListSearch, sameView, showing, tableOf, viewOf } from '../../lib/list-search.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { Menu, type MenuItem } from '../../ui/overlay/Menu.tsx'
import { useCommands } from '../search/commands.ts'

const saveView = dialog<{ taken: readonly string[]; onSave: (name: string) => void }>(
  () => import('./SaveView.tsx'),
)

/** Opens, saves and deletes the saved views of a list. */
export function SavedViews({
  list,
  search,
  setSearch,
}: {
  list: AnyList
  search: ListSearch
  setSearch: SetSearch<ListSearch>
}) {
  const { views, setViews } = useTablePreferences(tableOf(list))
  const now = viewOf(list, search)
  const shown = views.find((view) => sameView(view.search, now))
  const forget = (view: SavedView) => {
    setViews((kept) => kept.filter((one) => one.name !== view.name))
    toast.success(`The view ${view.name} was deleted`, {
      undo: () => setViews((kept) => [...kept.filter((one) => one.name !== view.name), view]),
    })
  }
  const opening = useMemo(
    () =>
      views.map((view) => ({
        label: view.name,
        run: () => setSearch(showing(list, view.search), { push: true }),
      })),
    [views, list, setSearch],
  )
  useCommands(
    'Saved views',
    useMemo(
      () => opening.map((command) => ({ ...command, icon: 'bookmark', hint: 'saved view' })),
      [opening],
    ),
  )
  const items: MenuItem[] = [
    ...opening.map((item) => ({ ...item, checked: item.label === shown?.name })),
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
  ]
  return (
    <Menu
      label="Saved views"
      trigger={<Button aria-label="Saved views">Views</Button>}
      items={items}
    />
  )
}
