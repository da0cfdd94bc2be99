import { Role as RoleSchema } from '#contract/clusters/changes/members.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { roleText, ServerPick, useServerNotes } from '../ServerPick.tsx'

interface Typed {
  /** Ids of the servers that get the other role. */
  servers: readonly string[]
}
const other = { control_plane: 'worker', worker: 'control_plane' } as const

/** Makes workers control planes, and control planes workers. */
export default function Role({ cluster, server }: ChangeFormProps) {
  const roleOf = (id: string) =>
    other[cluster.servers.find((s) => s.node_id === id)?.role ?? 'worker']
  const noteOf = useServerNotes(cluster)
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="role"
      initial={{ servers: server === undefined ? [] : [server] }}
      read={({ servers }) =>
        readBy(RoleSchema, {
          kind: 'role',
          servers: servers.map((node_id) => ({ node_id, role: roleOf(node_id) })),
        })
      }
      command={(change) =>
        change.kind === 'role'
          ? cliOf(['cluster', 'role', cluster.name], {
              'control-plane': change.servers
                .flatMap((s) => (s.role === 'control_plane' ? [nameOf(s.node_id)] : []))
                .join(','),
              worker: change.servers
                .flatMap((s) => (s.role === 'worker' ? [nameOf(s.node_id)] : []))
                .join(','),
            })
          : ''
      }
    >
      {(form) => {
        const { servers } = form.values
        return (
          <>
            <ServerPick
              label={`Servers of ${cluster.name}`}
              rows={cluster.servers}
              chosen={(s) => servers.includes(s.node_id)}
              onChange={(s, on) =>
                form.set({
                  servers: on ? [...servers, s.node_id] : servers.filter((id) => id !== s.node_id),
                })
              }
              note={(s) =>
                servers.includes(s.node_id)
                  ? `${noteOf(s)}, becomes a ${roleText(other[s.role])}`
                  : noteOf(s)
              }
            />
            <Problem text={form.errorOf('servers')} />
          </>
        )
      }}
    </ChangeForm>
  )
}
