import { useEffect, useEffectEvent } from 'react'
import { type AnyList, tableOf } from '#contract/list.ts'
import { sharedViewGet } from '#contract/people/shared-views.ts'
import { call } from '../../api/client.ts'
import { type ListSearch, showing } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import type { SetSearch } from '../../lib/router.ts'
import { toast } from '../../ui/feedback/toast.ts'

/** Shows the shared view that the URL names, in place of its name: `?view=ID`. */
export default function OpenSharedView({
  state: { list, setSearch },
  id,
}: {
  state: { list: AnyList; setSearch: SetSearch<ListSearch> }
  id: string
}) {
  const show = useEffectEvent((search: Readonly<Record<string, string>>) =>
    setSearch({ ...showing(list, search), view: undefined }),
  )
  const refuse = useEffectEvent((reason: string) => {
    toast.error(`The shared view could not be opened: ${reason}`)
    setSearch({ view: undefined })
  })
  useEffect(() => {
    const ended = new AbortController()
    call(sharedViewGet, { params: { id } }, ended.signal).then(
      (view) =>
        ended.signal.aborted
          ? undefined
          : view.list === tableOf(list)
            ? show(view.search)
            : refuse(`${view.name} is a view of the list ${view.list}`),
      (error: unknown) => (ended.signal.aborted ? undefined : refuse(reasonOf(error))),
    )
    return () => ended.abort()
  }, [id, list])
  return null
}
