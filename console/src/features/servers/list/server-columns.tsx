import { matchedText, type ListedServer, serverList } from '#contract/servers/servers.ts'
import { ccTones } from '../../../ui/feedback/cc-tones.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../../lib/paths.ts'
import { useStore } from '../../../lib/store.ts'
import { sentence } from '../../../lib/text.ts'
import { disk, memory } from '../../../lib/units.ts'
import { nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../../ui/table/list-columns.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Badge, StatusDot, StatusReason } from '../../../ui/feedback/Status.tsx'
import { Contact } from './Contact.tsx'
import css from './server-columns.module.css'
import { statusOf } from '../server-state.ts'
import { newServers } from './arrivals.ts'

/**
 * A server's status: the worst first, then since when and why, or what the server is doing or can
 * be used for. In a list it has one line, and only the reason may be cut. On the server's page a
 * long reason wraps, and the status that a problem hides follows.
 */
export function ServerStatus({
  server,
  inList = false,
}: {
  server: ListedServer
  inList?: boolean
}) {
  const { tone, word, why, status } = statusOf(server)
  if (inList) return <StatusReason tone={tone} word={word} why={why} />
  return (
    <>
      <StatusDot tone={tone} why={why} whole>
        {word}
      </StatusDot>
      {status !== null && <Badge>{status}</Badge>}
    </>
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

const roleOf = (s: ListedServer): string =>
  s.type === 'unknown' ? '' : ` · ${sentence(s.type).toLowerCase()}`

/** "PowerEdge R650 · 64 cores · 512 GiB · 15.4 TB". Unknown parts are left out. */
export function hardwareLine({ hardware: h }: Pick<ListedServer, 'hardware'>): string | null {
  const known = [
    h.model,
    h.cores === null ? null : counted(h.cores, 'core'),
    h.memory_bytes === null ? null : memory(h.memory_bytes),
    h.disk_bytes === null ? null : disk(h.disk_bytes),
  ].filter((part) => part !== null)
  return known.length === 0 ? null : known.join(' · ')
}

/**
 * The columns. Those of the narrower screens leave the column of the status the width of
 * "Unreachable since 17:38 · connection refused".
 */
const columns = listColumns(serverList.list, {
  name: {
    fixed: true,
    width: (from) => (from.xl ? nameWidth : from.md ? 160 : 136),
    card: 'name',
    cell: (s) => <Name server={s} />,
  },
  status: {
    fits: true,
    card: 'state',
    cell: (s) => <ServerStatus server={s} inList />,
  },
  cluster: {
    fits: true,
    width: (from) => (from.xl ? 232 : 166),
    from: 'md',
    cell: (s) =>
      s.cluster ? (
        <span className={css['cluster']}>
          <a className="t2" href={paths.cluster(s.cluster.id)}>
            {s.cluster.name}
          </a>
          <span className="t3">{roleOf(s)}</span>
        </span>
      ) : (
        none
      ),
  },
  hardware: {
    width: (from) => (from.xl ? 310 : 150),
    from: 'md',
    cell: (s) => hardwareLine(s) ?? <span className="t3">Unknown</span>,
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
  cc: {
    fits: true,
    width: 152,
    from: 'md',
    cell: ({ capacity_commitment: cc }) =>
      cc ? (
        <a className="t2" href={paths.cc(cc.id)}>
          <StatusDot tone={ccTones[cc.status]}>{sentence(cc.status)}</StatusDot>
        </a>
      ) : (
        none
      ),
  },
  contact: {
    fits: true,
    card: 'fact',
    width: (from) => (from.xl ? 200 : 112),
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

/** Without commitments among the servers, their column is hidden until a user turns it on. */
export const serverColumns = columns.map((c) => (c.id === 'cc' ? { ...c, hidden: true } : c))
/** With commitments. Their column takes the place of the hardware's on narrower screens. */
export const committedColumns = columns.map((c) =>
  c.id === 'hardware' ? { ...c, from: 'xl' as const } : c,
)
