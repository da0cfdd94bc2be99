/** The entries of the menu Views for what users share. */
import { type AnyList, tableOf } from '#contract/list.ts'
import {
  canChangeView,
  canShareView,
  type SharedView,
  sharedViewCreate,
  sharedViewList,
  sharedViewRemove,
  sharedViewUpdate,
} from '#contract/people/shared-views.ts'
import { no, type Verdict } from '#contract/rule.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed, heldScopes } from '../../api/session.ts'
import { type ListSearch, sameView, showing } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import type { SetSearch } from '../../lib/router.ts'
import { both, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import type { MenuItem } from '../../ui/overlay/Menu.tsx'
import { copyText } from '../../ui/text/Copyable.tsx'
import type { ShareViewProps } from './ShareView.tsx'

const shareView = dialog<ShareViewProps>(() => import('./ShareView.tsx'))

async function copyLink({ id, name }: SharedView): Promise<void> {
  try {
    await copyText(`${location.origin}${location.pathname}?view=${id}`)
    toast.success(`The link to the view ${name} is copied`)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const remove = (view: SharedView) =>
  confirm({
    title: `Delete the shared view ${view.name}?`,
    label: 'Delete view',
    text: 'Nobody sees the view any more, and links to it lead to the whole list. What is in the list stays.',
    danger: true,
    act: async () => {
      await call(sharedViewRemove, { params: { id: view.id } }, { version: view.version })
      await invalidate(sharedViewList)
      toast.success(`The shared view ${view.name} was deleted`)
    },
  })

const replace = (view: SharedView, search: SharedView['search']) =>
  confirm({
    title: `Replace the shared view ${view.name}?`,
    label: 'Replace view',
    text: 'The view gets the filters and the order that the list has now, for everybody.',
    act: async () => {
      await call(
        sharedViewUpdate,
        { params: { id: view.id }, body: { search } },
        { version: view.version },
      )
      await invalidate(sharedViewList)
      toast.success(`The view ${view.name} was replaced`)
    },
  })

interface Shared {
  /** What is shown now, as a view stores it. */
  readonly now: SharedView['search']
  readonly views: readonly SharedView[] | undefined
  readonly error: Error | null
  readonly userId: string | undefined
  /** Why there is nothing to save; yes if there is. */
  readonly worth: Verdict
}

/** The shared views of a list to open, and what can be done with them. */
export function sharedItems(
  { list, setSearch }: { list: AnyList; setSearch: SetSearch<ListSearch> },
  { now, views, error, userId, worth }: Shared,
): { open: MenuItem[]; acts: MenuItem[] } {
  const known = views ?? []
  const shown = known.find((view) => sameView(view.search, now))
  const mayChange = (view: SharedView, of: typeof sharedViewUpdate | typeof sharedViewRemove) =>
    both(allowed(of), canChangeView(view, { userId, scopes: heldScopes() ?? [] }))
  const open: MenuItem[] = [
    ...(error === null
      ? []
      : [{ heading: `Shared views could not be loaded: ${reasonOf(error)}` }]),
    ...(known.length > 0 ? [{ heading: 'Shared' }] : []),
    ...known.map((view) => ({
      id: view.id,
      label: view.name,
      note: `By ${view.author}`,
      run: () => setSearch(showing(list, view.search), { push: true }),
      checked: view === shown,
    })),
  ]
  const acts: MenuItem[] =
    shown === undefined
      ? [
          {
            label: 'Share this view',
            icon: 'external' as const,
            can: both(
              allowed(sharedViewCreate),
              worth,
              views === undefined
                ? no('Shared views are not loaded yet')
                : canShareView(known.length),
            ),
            run: () => shareView({ list: tableOf(list), search: now }),
          },
          ...(known.length > 0 && worth.ok
            ? [
                {
                  label: 'Replace a shared view',
                  icon: 'edit' as const,
                  items: known.map((view) => ({
                    label: view.name,
                    can: mayChange(view, sharedViewUpdate),
                    run: () => replace(view, now),
                  })),
                },
              ]
            : []),
        ]
      : [
          { label: `Copy the link to ${shown.name}`, icon: 'copy', run: () => copyLink(shown) },
          {
            label: `Rename the shared view ${shown.name}`,
            icon: 'edit',
            can: mayChange(shown, sharedViewUpdate),
            run: () => shareView({ rename: shown }),
          },
          {
            label: `Delete the shared view ${shown.name}`,
            icon: 'trash',
            can: mayChange(shown, sharedViewRemove),
            run: () => remove(shown),
          },
        ]
  return { open, acts }
}
