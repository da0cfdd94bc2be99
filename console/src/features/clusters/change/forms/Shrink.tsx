import { Shrink as ShrinkSchema } from '#contract/clusters/changes/members.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Checkbox } from '../../../../ui/inputs/Choices.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { roleText, ServerPick } from '../ServerPick.tsx'

interface Leaving {
  keep_workload_disks: boolean
  force: boolean
}
interface Typed {
  servers: Readonly<Record<string, Leaving>>
}
const asUsual: Leaving = { keep_workload_disks: false, force: false }

const read = ({ servers }: Typed) => readBy(ShrinkSchema, { kind: 'shrink', servers: Object.entries(servers).map(([node_id, how]) => ({ node_id, ...how })) })

/** Removes servers from a running cluster. */
export default function Shrink({ cluster, server }: ChangeFormProps) {
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="shrink"
      initial={{ servers: server === undefined ? {} : { [server]: asUsual } }}
      read={read}
      command={(change) =>
        change.kind === 'shrink'
          ? cliOf(['cluster', 'shrink', cluster.name], {
              server: change.servers.map((s) => nameOf(s.node_id)).join(','),
              'keep-workload-disks': change.servers.some((s) => s.keep_workload_disks),
              force: change.servers.some((s) => s.force),
            })
          : ''
      }
    >
      {(form) => {
        const { servers } = form.values
        const set = (id: string, how: Leaving | undefined) =>
          form.set((now) => {
            const { [id]: _left, ...rest } = now.servers
            return { servers: how === undefined ? rest : { ...now.servers, [id]: how } }
          })
        return (
          <>
            <ServerPick
              label={`Servers of ${cluster.name}`}
              rows={cluster.servers}
              chosen={(s) => servers[s.node_id] !== undefined}
              onChange={(s, on) => set(s.node_id, on ? asUsual : undefined)}
              note={(s) => roleText(s.role)}
              more={(s) => {
                const how = servers[s.node_id]!
                return (
                  <span className="row wrap">
                    {(s.workload_disks ?? []).length > 0 && (
                      <Checkbox
                        checked={how.keep_workload_disks}
                        onChange={(on) => set(s.node_id, { ...how, keep_workload_disks: on })}
                        label={`Keep workload disks of ${s.name}`}
                      />
                    )}
                    <Checkbox checked={how.force} onChange={(on) => set(s.node_id, { ...how, force: on })} label={`${s.name} does not answer any more`} />
                  </span>
                )
              }}
            />
            <Problem text={form.errorOf('servers')} />
          </>
        )
      }}
    </ChangeForm>
  )
}
