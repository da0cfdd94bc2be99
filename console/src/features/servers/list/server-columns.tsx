import { matchedText, type ListedServer, serverList } from '#contract/servers/servers.ts'
import { ccTones } from '../../../ui/feedback/cc-tones.ts'
import { paths } from '../../../lib/paths.ts'
import { useStore } from '../../../lib/store.ts'
import { sentence } from '../../../lib/text.ts'
import { nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../../ui/table/list-columns.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { Contact } from './Contact.tsx'
import css from './server-columns.module.css'
import { statusOf } from '../server-state.ts'
import { newServers } from './arrivals.ts'

/**
 * A server's status, with the current problem or, in a quieter colour, with what the server is
 * doing or can be used for. In a list with a narrow column the reason is below the status.
 */
export function ServerStatus({
  server,
  inList = false,
}: {
  server: ListedServer
  inList?: boolean
}) {
  const { tone, word, why, more, trouble } = statusOf(server)
  const alarm = server.identity.state === 'changed' && server.status !== 'deleted'
  const said = more === null ? why : `${why}: ${more}`
  return (
    <StatusDot
      tone={tone}
      whole={!inList}
      why={
        why !== null && (alarm || more !== null) ? (
          <span className={alarm ? 'c-danger' : undefined} title={said ?? undefined}>
            {why}
            {more !== null && <span className={inList ? css['more'] : undefined}>: {more}</span>}
          </span>
        ) : (
          why
        )
      }
    >
      {word}
      {trouble !== null && (
        <>
          {' '}
          <span className={css['trouble']}>{trouble.word}</span>
        </>
      )}
    </StatusDot>
  )
}

/**
 * A server's name, marked for a while if the server joined while the list was open. If the search
 * matched other text than the name, shows that text too.
 */
function Name({ server: s }: { server: ListedServer }) {
  const isNew = useStore(newServers).has(s.id)
  const name = isNew ? (
    <span className={css['new']} title="Joined just now">
      {s.name}
    </span>
  ) : (
    s.name
  )
  const matched = matchedText(s)
  if (matched === null) return name
  return (
    <span className={css['found']}>
      {name}
      <small title={matched}>{matched}</small>
    </span>
  )
}

export const serverColumns = listColumns(serverList.list, {
  name: {
    fixed: true,
    width: (from) => (from.md ? nameWidth : 136),
    card: 'name',
    cell: (s) => <Name server={s} />,
  },
  datacenter: {
    fits: true,
    width: (from) => (from.xl ? 124 : 96),
    from: 'md',
    cell: ({ datacenter }, from) =>
      datacenter && from.xl ? (
        <span className="row">
          <Flag code={datacenter.code.slice(0, 2)} />
          {datacenter.code}
        </span>
      ) : (
        (datacenter?.code ?? none)
      ),
  },
  cluster: {
    width: (from) => (from.xl ? 168 : 124),
    from: 'md',
    cell: (s) =>
      s.cluster ? (
        <a className="t2" href={paths.cluster(s.cluster.id)}>
          {s.cluster.name}
        </a>
      ) : (
        none
      ),
  },
  cc: {
    fits: true,
    width: (from) => (from.xl ? 132 : 96),
    from: 'md',
    cell: ({ capacity_commitment: cc }) =>
      cc ? (
        <a className="t2" href={paths.cc(cc.id)} title={sentence(cc.status)}>
          <StatusDot tone={ccTones[cc.status]}>{sentence(cc.status)}</StatusDot>
        </a>
      ) : (
        none
      ),
  },
  type: {
    fits: true,
    width: 106,
    from: 'md',
    cell: (s) =>
      s.type === 'unknown' ? <span className="t3">{sentence(s.type)}</span> : sentence(s.type),
  },
  status: {
    fits: true,
    card: 'state',
    cell: (s) => (
      <span className={css['state']}>
        <ServerStatus server={s} inList />
      </span>
    ),
  },
  contact: {
    fits: true,
    card: 'fact',
    width: (from) => (from.xl ? 200 : from.md ? 172 : 150),
    cell: (s, from) =>
      from.md || s.datacenter === null ? (
        <Contact server={s} />
      ) : (
        <span className={css['contact']}>
          <span className={css['site']}>
            {s.datacenter.code}
            <span className={css['comma']}>,</span>
          </span>
          <Contact server={s} />
        </span>
      ),
  },
})
