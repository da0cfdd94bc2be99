/** The open findings on the page of what they are about. */
import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type Finding, findingGet, findingList } from '#contract/findings/findings.ts'
import { findingKinds, type FindingKind } from '#contract/findings/kinds.ts'
import type { Server } from '#contract/servers/servers.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { capital } from '../../lib/text.ts'
import { count } from '../../lib/units.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { Time } from '../../ui/table/list-columns.tsx'
import { FindingMenu } from './FindingMenu.tsx'
import css from './ObjectFindings.module.css'
import { pageOfFinding } from './remedies.ts'

/** `of`: the object of the page, whose name is not repeated. */
const One = ({ finding, of }: { finding: Finding; of: string }) => (
  <Alert tone={finding.severity === 'down' ? 'danger' : 'warn'}>
    <span className={css['one']}>
      <span>
        {finding.object.id !== of && (
          <>
            <a href={pageOfFinding(finding)}>{finding.object.name}</a>:{' '}
          </>
        )}
        <b>{findingKinds[finding.kind].title}</b> since <Time at={finding.since} />.{' '}
        {capital(finding.reason)}
        {finding.acknowledged !== null && ` ${finding.acknowledged.by} takes care of it.`}
      </span>
      <span className={css['acts']}>
        <FindingMenu finding={finding} />
      </span>
    </span>
  </Alert>
)

/** The first findings of a cluster and of its servers, the worst first. */
export const findingsOfCluster = (id: string) =>
  query(findingList, { query: { cluster: id, per_page: 5, page: 1 } })

/** The findings of a cluster and of its servers. */
export function ClusterFindings({ cluster }: { cluster: Cluster }) {
  const answer = useQuery(findingsOfCluster(cluster.id))
  const { data } = answer
  if (data === undefined) return <Unread what={`The findings of ${cluster.name}`} of={answer} />
  if (data.total === 0) return null
  const more = data.total - data.items.length
  return (
    <section className={css['all']} aria-label={`Findings of ${cluster.name}`}>
      {data.items.map((finding) => (
        <One key={finding.id} finding={finding} of={cluster.id} />
      ))}
      {more > 0 && (
        <a href={paths.findings({ cluster: cluster.name })}>
          {count(more)} more {more === 1 ? 'finding' : 'findings'}
        </a>
      )}
    </section>
  )
}

/** Findings that the page of a server shows with more detail. */
const shownElsewhere: ReadonlySet<FindingKind> = new Set(['server_in_doubt', 'server_drifted'])

/** The worst finding about a server, which may be one about several servers. */
export function ServerFinding({ server }: { server: Pick<Server, 'id' | 'name' | 'finding'> }) {
  const { finding } = server
  const id = finding && !shownElsewhere.has(finding.kind) ? finding.id : null
  const { data } = useQuery({
    ...query(findingGet, { params: { id: id ?? '' } }),
    enabled: id !== null,
    retry: false,
  })
  const isShown = id !== null && data !== undefined && data.ended_at === null
  const all = useQuery({
    ...query(findingList, { query: { object: server.id, per_page: 1, page: 1 } }),
    enabled: Boolean(finding),
  })
  // The finding that is shown here or elsewhere may be one about several servers.
  const isOwn = id === null || data?.object.id === server.id
  const more = (all.data?.total ?? 0) - Number(isOwn)
  if (!finding || (id !== null && !isShown) || (!isShown && more <= 0)) return null
  return (
    <section className={css['all']} aria-label={`Finding about ${server.name}`}>
      {isShown && <One finding={data} of={server.id} />}
      {more > 0 && (
        <a href={paths.findings({ object: server.id })}>
          {count(more)} more {more === 1 ? 'finding' : 'findings'}
        </a>
      )}
    </section>
  )
}
