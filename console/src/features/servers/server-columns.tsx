import type { Server } from '#contract/servers.ts'
import { paths } from '../../lib/paths.ts'
import { sentence } from '../../lib/text.ts'
import { columns } from '../../ui/DataTable.tsx'
import { StatusDot, type Tone } from '../../ui/Status.tsx'
import { Contact } from './Contact.tsx'
import { statusOf } from './server-state.ts'

export const contactHelp = "Time of the last answer from this server's Talos API"

const none = (
  <span className="t3" title="None">
    –
  </span>
)

/** Of a capacity commitment; a word that is not known here gets no colour. */
const commitmentTones: Readonly<Record<string, Tone>> = {
  active: 'ok',
  completed: 'off',
  not_committed: 'off',
  removed: 'off',
  waiting_delegation: 'idle',
  waiting_start: 'idle',
  failed: 'danger',
}

/** What a server is to us, and beside it, quietly, what it is doing or what it is good for. */
export function ServerStatus({ server }: { server: Server }) {
  const said = statusOf(server)
  const alarm = server.identity.state === 'changed' && server.status !== 'deleted'
  return (
    <StatusDot tone={said.tone} why={alarm ? <span className="c-danger">{said.why}</span> : said.why}>
      {said.word}
    </StatusDot>
  )
}

export const serverColumns = columns<Server>([
  { id: 'name', head: 'Name', sortable: true, fixed: true, width: 190, card: 'name', cell: (s) => s.name },
  { id: 'datacenter', head: 'Datacenter', sortable: true, width: 110, cell: (s) => s.datacenter?.code ?? none },
  {
    id: 'cluster',
    head: 'Cluster',
    sortable: true,
    width: 130,
    cell: (s) =>
      s.cluster ? (
        <a className="t2" href={paths.cluster(s.cluster.id)}>
          {s.cluster.name}
        </a>
      ) : (
        none
      ),
  },
  {
    id: 'cc',
    head: 'CC',
    width: 120,
    cell: ({ capacity_commitment: cc }) => (cc ? <StatusDot tone={commitmentTones[cc.status] ?? 'idle'}>{sentence(cc.status)}</StatusDot> : none),
  },
  {
    id: 'type',
    head: 'Node type',
    sortable: true,
    width: 116,
    cell: (s) => <span className={s.type === 'unknown' ? 't3' : undefined}>{sentence(s.type)}</span>,
  },
  { id: 'status', head: 'Status', sortable: true, card: 'state', cell: (s) => <ServerStatus server={s} /> },
  {
    id: 'contact',
    head: 'Last Talos connection',
    help: contactHelp,
    sortable: true,
    width: 210,
    card: 'fact',
    cell: (s) => (
      <>
        <span className="only-sm">{s.datacenter ? `${s.datacenter.code}, ` : ''}</span>
        <Contact talos={s.talos} />
      </>
    ),
  },
])
