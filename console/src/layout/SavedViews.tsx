import { useMemo } from 'react'
import { type SavedView, viewLimits } from '#contract/sessions.ts'
import { no } from '#contract/rule.ts'
import { useTablePreferences } from '../api/preferences.ts'
import { sameView, showing, viewOf } from './views.ts'
import { IconButton } from '../ui/inputs/Button.tsx'
import { dialog } from '../ui/overlay/dialogs.ts'
import { Menu, type MenuItem } from '../ui/overlay/Menu.tsx'
import { toast } from '../ui/feedback/toast.ts'
import { useCommands } from './commands.ts'

const saveView = dialog<{ taken: readonly string[]; onSave: (name: string) => void }>(() => import('./SaveView.tsx'))

/** The saved views of a list: open one, save the current one, delete one. `keys` are the search params that make a view. */
export function SavedViews({
  table,
  search,
  keys,
  onView,
}: {
  table: string
  search: Readonly<Record<string, string | undefined>>
  keys: readonly string[]
  onView: (change: Record<string, string | undefined>, how: { push: boolean }) => void
}) {
  const { views, setViews } = useTablePreferences(table)
  const now = viewOf(search, keys)
  const shown = views.find((view) => sameView(view.search, now))
  const forget = (view: SavedView) => {
    setViews((kept) => kept.filter((one) => one.name !== view.name))
    toast.success(`The view ${view.name} was forgotten`, { undo: () => setViews((kept) => [...kept.filter((one) => one.name !== view.name), view]) })
  }
  const commands = useMemo(
    () =>
      views.map((view) => ({ label: view.name, icon: 'bookmark' as const, hint: 'saved view', run: () => onView(showing(view.search, keys), { push: true }) })),
    [views, keys, onView],
  )
  useCommands('Saved views', commands)
  const items: MenuItem[] = [
    ...views.map((view) => ({ label: view.name, checked: view === shown, run: () => onView(showing(view.search, keys), { push: true }) })),
    ...(views.length > 0 ? (['rule'] as const) : []),
    {
      label: 'Save this view',
      icon: 'add',
      ...(shown !== undefined
        ? { can: no(`It is saved as ${shown.name}`) }
        : Object.keys(now).length === 0
          ? { can: no('Filter or sort the list first') }
          : views.length >= viewLimits.views && { can: no(`You have ${viewLimits.views} views of this list: forget one first`) }),
      run: () => saveView({ taken: views.map((view) => view.name), onSave: (name) => setViews((kept) => [...kept, { name, search: now }]) }),
    },
    ...(shown === undefined ? [] : [{ label: `Forget ${shown.name}`, icon: 'trash' as const, run: () => forget(shown) }]),
  ]
  return <Menu label="Saved views" trigger={<IconButton icon="bookmark" label="Saved views" />} items={items} />
}
