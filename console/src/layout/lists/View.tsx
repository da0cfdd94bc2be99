import { useMemo } from 'react'
import { tableOf } from '#contract/list.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { showing } from '../../lib/list-search.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { onceOpened } from '../../ui/part.tsx'
import { useCommands } from '../search/commands.ts'
import type { ViewState } from './ViewMenu.tsx'

const ViewMenu = onceOpened(() => import('./ViewMenu.tsx'), { centred: false })

/**
 * The button of how a list is shown: saved views, groups, columns. The saved views are in ⌘K as
 * well. `saves`: whether views of the list can be saved.
 */
export function View({ state, saves }: { state: ViewState; saves: boolean }) {
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
      label="View"
      align="start"
      trigger={
        <Button icon="columns" aria-label="View">
          <span className="hide-sm">View</span>
        </Button>
      }
      render={(menu) => <ViewMenu {...menu} state={state} saves={saves} />}
    />
  )
}
