import { useMemo } from 'react'
import { tableOf } from '#contract/list.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { showing } from '../../lib/list-search.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { onceOpened } from '../../ui/part.tsx'
import { useCommands } from '../search/commands.ts'
import type { ViewsState } from './ViewsMenu.tsx'

const ViewsMenu = onceOpened(() => import('./ViewsMenu.tsx'), { centred: false })

/** The button of a list's views, and the saved ones in ⌘K. */
export function SavedViews({ state }: { state: ViewsState }) {
  const { list, setSearch } = state
  const { views } = useTablePreferences(tableOf(list))
  useCommands(
    'Saved views',
    useMemo(
      () =>
        views.map((view) => ({
          label: view.name,
          run: () => setSearch(showing(list, view.search), { push: true }),
          icon: 'bookmark',
          hint: 'saved view',
        })),
      [views, list, setSearch],
    ),
  )
  return (
    <Menu
      label="Saved views"
      trigger={<Button aria-label="Saved views">Views</Button>}
      render={(menu) => <ViewsMenu {...menu} state={state} />}
    />
  )
}
