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
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { findingActions } from './finding-actions.ts'
import { FindingMenu } from './FindingMenu.tsx'
import css from './ObjectFindings.module.css'
import { pageOfFinding, remediesFrom } from './remedies.ts'

/** `of`: the object of the page, whose name is not repeated. */
const One = ({ finding, of }: { finding: Finding; of: string }) => (
  <li>
    <StatusDot tone={findingTones[finding.severity]}>
      {finding.object.id === of ? (
        findingKinds[finding.kind].title
      ) : (
        <a href={pageOfFinding(finding)}>{finding.object.name}</a>
      )}
    </StatusDot>
    <span className={css['why']}>
      {capital(finding.reason)}
      {finding.acknowledged !== null && ` ${finding.acknowledged.by} takes care of it.`}
    </span>
    <span className={css['acts']}>
      <FindingMenu finding={finding} here={paths.cluster(of)} />
    </span>
  </li>
)

/** The first findings of a cluster and of its servers, the worst first. */
export const findingsOfCluster = (id: string) =>
  query(findingList, { query: { cluster: id, per_page: 5, page: 1 } })

/** Whether the head of an object's page has the sentence of its finding, and what mends it. */
export const isInHead = ({ finding }: Pick<Cluster, 'finding'>): boolean =>
  Boolean(finding) && finding!.severity !== 'attention'

/** The findings of a cluster and of its servers, without the one that the head has. */
export function ClusterFindings({
  cluster,
}: {
  cluster: Pick<Cluster, 'id' | 'name' | 'finding'>
}) {
  const answer = useQuery(findingsOfCluster(cluster.id))
  const { data } = answer
  if (data === undefined) return <Unread what={`The findings of ${cluster.name}`} of={answer} />
  const others = data.items.filter(({ id }) => !isInHead(cluster) || id !== cluster.finding?.id)
  const more = data.total - data.items.length
  if (others.length === 0 && more === 0) return null
  return (
    <Panel
      title="Needs somebody"
      flush
      label={`Findings of ${cluster.name}`}
      actions={
        more > 0 && (
          <a href={paths.findings({ cluster: cluster.name })}>
            {count(more)} more {more === 1 ? 'finding' : 'findings'}
          </a>
        )
      }
    >
      <ul className={css['all']}>
        {others.map((finding) => (
          <One key={finding.id} finding={finding} of={cluster.id} />
        ))}
      </ul>
    </Panel>
  )
}

/** Findings that the page of a server shows with more detail. */
const shownElsewhere: ReadonlySet<FindingKind> = new Set(['server_in_doubt', 'server_drifted'])

/** The worst finding of a server, which may be one about several servers. */
function useWorst({ finding }: Pick<Server, 'finding'>): Finding | undefined {
  const id = finding && !shownElsewhere.has(finding.kind) ? finding.id : null
  const { data } = useQuery({
    ...query(findingGet, { params: { id: id ?? '' } }),
    enabled: id !== null,
    retry: false,
  })
  return id === null || data?.ended_at !== null ? undefined : data
}

/**
 * What mends the object of a page: a button beside the sentence in the head, and the others.
 * `here`: the page.
 */
export function Remedies({ of, here }: { of: Pick<Server, 'finding'>; here: string }) {
  const finding = useWorst(of)
  if (finding === undefined) return null
  const [first, ...more] = remediesFrom(here, finding)
  const label = 'Other remedies'
  return (
    <>
      {first && <ActionButton {...first} kind="primary" />}
      <Menu
        label={label}
        trigger={<IconButton icon="chevron-down" label={label} />}
        items={() => [...more, ...findingActions(finding)]}
      />
    </>
  )
}

/** Who takes care of the server's worst finding, and a link to its other findings. */
export function MoreFindings({ server }: { server: Pick<Server, 'id' | 'name' | 'finding'> }) {
  const { finding } = server
  const worst = useWorst(server)
  const all = useQuery({
    ...query(findingList, { query: { object: server.id, per_page: 1, page: 1 } }),
    enabled: Boolean(finding),
  })
  if (!finding) return null
  // The finding whose sentence is in the head may be one about several servers.
  const isOwn = worst === undefined || worst.object.id === server.id
  const more = (all.data?.total ?? 0) - Number(isOwn)
  const by = worst?.acknowledged?.by
  if (by === undefined && more <= 0) return null
  return (
    <p className="fs13 t3">
      {by !== undefined && `${by} takes care of it. `}
      {more > 0 && (
        <a href={paths.findings({ object: server.id })}>
          {count(more)} more {more === 1 ? 'finding' : 'findings'}
        </a>
      )}
    </p>
  )
}
