import type { ListSearch } from '../../lib/list-search.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { MenuItem } from '../../ui/overlay/Menu.tsx'
import MenuView, { type MenuViewProps } from '../../ui/overlay/MenuView.tsx'
import { isShown } from '../../ui/table/TableHead.tsx'
import { useGroupItems } from './group-items.ts'
import { type SavedState, useSavedItems } from './saved-items.ts'

export interface ViewState extends SavedState {
  readonly set: (change: ListSearch) => void
  readonly sort: string
  readonly setShown: (ids: string[] | undefined) => void
  readonly columns: readonly {
    readonly id: string
    readonly head: string
    readonly fixed?: boolean
    readonly hidden?: boolean
    readonly sortable?: boolean
  }[]
}

/** The columns of a table, to be shown or hidden. */
function columnItems({ columns: all, shown, setShown }: ViewState): MenuItem[] {
  const ids = all.filter((c) => isShown(c, shown)).map((c) => c.id)
  return [
    ...all
      .filter((c) => !c.fixed)
      .map((c) => ({
        label: c.head,
        checked: ids.includes(c.id),
        stay: true,
        run: () =>
          setShown(
            ids.includes(c.id)
              ? ids.filter((id) => id !== c.id)
              : all.map((x) => x.id).filter((id) => id === c.id || ids.includes(id)),
          ),
      })),
    'rule',
    { label: 'Reset columns', run: () => setShown(undefined) },
  ]
}

/** The order, for narrow screens, which have no heading to click. */
const sortItems = ({ columns, sort, set }: ViewState): MenuItem[] =>
  columns
    .filter((c) => c.sortable)
    .map((c) => ({
      label: c.head,
      checked: c.id === sort.replace(/^-/, ''),
      ...(c.id === sort.replace(/^-/, '') && {
        hint: sort.startsWith('-') ? 'descending' : 'ascending',
      }),
      run: () => set({ sort: c.id === sort ? `-${c.id}` : c.id }),
    }))

const submenu = (label: string, items: readonly MenuItem[]): MenuItem[] =>
  items.length === 0 ? [] : [{ label, items }]

/** How a list is shown: its saved views, groups, columns and, on narrow screens, its order. */
export default function ViewMenu({
  state,
  saves,
  ...menu
}: Omit<MenuViewProps, 'items'> & { state: ViewState; saves: boolean }) {
  const narrow = useMedia('below', 'sm')
  const { list, search, setSearch } = state
  const views = useSavedItems(state)
  const groups = useGroupItems(list, search['group'], (group) =>
    setSearch({ group, open: undefined, page: undefined }),
  )
  const ways = [
    ...submenu('Group by', groups),
    ...(narrow ? submenu('Sort by', sortItems(state)) : submenu('Columns', columnItems(state))),
  ]
  return (
    <MenuView
      {...menu}
      items={[
        ...(saves ? [{ heading: 'Saved views' }, ...views] : []),
        ...(saves && ways.length > 0 ? (['rule'] as const) : []),
        ...ways,
      ]}
    />
  )
}
