import { useQuery } from '@tanstack/react-query'
import { findingKinds, findingSeverities, kindsOfFindings } from '#contract/findings/kinds.ts'
import { everyCluster, everyDatacenter } from '../../api/every.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { Many } from './Many.tsx'
import type { MatchersTyped } from './rule-form.ts'

const { Custom } = fieldsFor<MatchersTyped>()

const severities = findingSeverities.map((value) => ({
  value,
  text: { down: 'Down', degraded: 'Degraded', attention: 'Attention' }[value],
}))
const kinds = kindsOfFindings.map((value) => ({ value, text: findingKinds[value].title }))

/** What a rule or a silence is about. A group without a choice restricts nothing. */
export function MatcherFields({
  values,
  set,
}: {
  values: MatchersTyped
  set: (change: Partial<MatchersTyped>) => void
}) {
  const clusters = useQuery(everyCluster)
  const datacenters = useQuery(everyDatacenter)
  const sites = (datacenters.data?.items ?? []).map((d) => ({ value: d.id, text: d.code }))
  const groups = (clusters.data?.items ?? []).map((c) => ({ value: c.id, text: c.name }))
  return (
    <>
      <Custom name="severities" label="Severities">
        <Many
          label="Severities"
          options={severities}
          chosen={values.severities}
          onChoose={(chosen) => set({ severities: chosen })}
        />
      </Custom>
      <Unread what="The clusters" of={clusters} />
      {groups.length > 0 && (
        <Custom name="cluster_ids" label="Clusters" hint="Without a choice: all">
          <Many
            label="Clusters"
            options={groups}
            chosen={values.cluster_ids}
            onChoose={(chosen) => set({ cluster_ids: chosen })}
          />
        </Custom>
      )}
      <Unread what="The datacenters" of={datacenters} />
      {sites.length > 0 && (
        <Custom name="datacenter_ids" label="Datacenters" hint="Without a choice: all">
          <Many
            label="Datacenters"
            options={sites}
            chosen={values.datacenter_ids}
            onChoose={(chosen) => set({ datacenter_ids: chosen })}
          />
        </Custom>
      )}
      <Custom name="kinds" label="Findings" hint="Without a choice: all">
        <Many
          label="Findings"
          options={kinds}
          chosen={values.kinds}
          onChoose={(chosen) => set({ kinds: chosen })}
        />
      </Custom>
    </>
  )
}
