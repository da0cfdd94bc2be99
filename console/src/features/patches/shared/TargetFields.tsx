import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { serverRows } from '#contract/servers/servers.ts'
import { everyCluster } from '../../../api/every.ts'
import { query } from '../../../api/query.ts'
import { known, textsOf } from '../../../layout/labels/labels.ts'
import { Unread } from '../../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import type { Form } from '../../../ui/form/use-form.ts'
import { ChipsInput } from '../../../ui/inputs/ChipsInput.tsx'
import css from './Shared.module.css'
import { selectorChip, type SharedDraft } from './shared-form.ts'

const { Check, Custom } = fieldsFor<SharedDraft>()

/** The servers that the patch is for. */
export function TargetFields({ form }: { form: Form<SharedDraft> }) {
  const { labels, clusters, servers } = form.values
  const [text, setText] = useState('')
  const { data: labelled } = useQuery(known.server)
  const every = useQuery(everyCluster)
  const q = useDeferredValue(text.trim())
  const { data: found } = useQuery({
    ...query(serverRows, { query: { q, per_page: 20, fields: 'list' } }),
    placeholderData: keepPreviousData,
  })
  return (
    <fieldset className={css['targets']}>
      <legend className="sr">Servers</legend>
      <Unread what="The clusters" of={every} />
      <Custom name="labels" label="Labels" hint="Any of these selectors, such as rack=3,gen!=r640">
        <ChipsInput
          chips={labels}
          onChips={(to) => form.set({ labels: [...to] })}
          suggestions={textsOf(labelled?.items)
            .slice(0, 200)
            .map((one) => ({ value: one, text: one }))}
          // A text that is no selector becomes a chip too, with the sentence that says so.
          read={(typed) => selectorChip(typed) ?? { value: typed, text: typed }}
          placeholder="rack=3"
        />
      </Custom>
      <Custom name="clusters" label="Clusters" hint="Any of these">
        <ChipsInput
          chips={clusters}
          onChips={(to) => form.set({ clusters: [...to] })}
          suggestions={(every.data?.items ?? []).map(({ id, name }) => ({ value: id, text: name }))}
          placeholder="All, and servers in none"
        />
      </Custom>
      <Custom name="servers" label="Servers" hint="Named one by one">
        <ChipsInput
          chips={servers}
          onChips={(to) => form.set({ servers: [...to] })}
          suggestions={(found?.items ?? []).map(({ id, name }) => ({ value: id, text: name }))}
          onText={setText}
          placeholder="All that match the rest"
        />
      </Custom>
      <div className={css['roles']} role="group" aria-label="Roles">
        <span className={css['label']}>Roles</span>
        <Check name="workers" label="Workers" />
        <Check name="control_planes" label="Control planes" />
      </div>
      <p className="fs13 t3">
        Kinds that are filled in must all match. Without any entry the patch is for no server.
      </p>
    </fieldset>
  )
}
