import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import { Problem } from '../../../ui/feedback/Status.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { contactSaid, nodeSaid } from '../cluster-state.ts'
import css from './Change.module.css'

type Member = Cluster['servers'][number]

export const roleText = (role: Member['role']): string =>
  role === 'control_plane' ? 'control plane' : 'worker'

/**
 * The note beside the name of a server: its role, and its state if it doesn't answer or its node
 * isn't Ready.
 */
export function useServerNotes(cluster: Cluster): (member: Member) => string {
  const { data } = useQuery(query(serverRows, { query: { cluster: cluster.id, fields: 'list' } }))
  return ({ node_id, role }) => {
    const server = data?.items.find((s) => s.id === node_id)
    if (server === undefined) return roleText(role)
    const contact = contactSaid(server)
    if (contact.tone === 'danger')
      return [`${roleText(role)}, unreachable`, contact.why].filter(Boolean).join(' ')
    return nodeSaid(server).tone === 'danger' ? `${roleText(role)}, not Ready` : roleText(role)
  }
}

/** The options of a select with the servers of a cluster. */
export function useServerOptions(
  cluster: Cluster,
): { value: string; text: string; more: string }[] {
  const noteOf = useServerNotes(cluster)
  return cluster.servers.map((s) => ({ value: s.node_id, text: s.name, more: noteOf(s) }))
}

interface ServerPickProps {
  label: string
  rows: readonly Member[]
  chosen: (row: Member) => boolean
  onChange: (row: Member, on: boolean) => void
  /** Text beside the name. */
  note: (row: Member) => ReactNode
  /** Controls of the chosen servers by id. */
  more?: Readonly<Record<string, ReactNode>>
}

/** A list of the servers of a cluster with checkboxes. */
export const ServerPick = ({ label, rows, chosen, onChange, note, more }: ServerPickProps) => (
  <ul className={css['pick']} aria-label={label} tabIndex={0}>
    {rows.map((row) => (
      <li key={row.node_id}>
        <Checkbox
          checked={chosen(row)}
          onChange={(on) => onChange(row, on)}
          label={
            <>
              <b>{row.name}</b> <span className="t3">{note(row)}</span>
            </>
          }
        />
        {chosen(row) && more?.[row.node_id]}
      </li>
    ))}
  </ul>
)

interface ServersFieldProps {
  cluster: Cluster
  /** Ids of the chosen servers, in the order of the cluster. */
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
  error: string | undefined
}

/** Chooses all or some servers of a cluster, for a change that applies to each of them. */
export function ServersField({ cluster, chosen, onChange, error }: ServersFieldProps) {
  const note = useServerNotes(cluster)
  const all = cluster.servers.map((s) => s.node_id)
  return (
    <div className="stack stack2">
      <Checkbox
        checked={chosen.length === all.length}
        indeterminate={chosen.length > 0 && chosen.length < all.length}
        onChange={(on) => onChange(on ? all : [])}
        label={`All servers of ${cluster.name}`}
      />
      <div className={css['inner']}>
        <ServerPick
          label={`Servers of ${cluster.name}`}
          rows={cluster.servers}
          chosen={(s) => chosen.includes(s.node_id)}
          onChange={(s, on) =>
            onChange(all.filter((id) => (id === s.node_id ? on : chosen.includes(id))))
          }
          note={note}
        />
      </div>
      <Problem text={error} />
    </div>
  )
}

/** The servers as a change names them: none if it applies to all. */
export const namedServers = (
  cluster: Cluster,
  chosen: readonly string[],
): { node_ids?: readonly string[] } =>
  chosen.length === cluster.servers.length ? {} : { node_ids: chosen }
