import { Shrink as ShrinkSchema } from '#contract/clusters/changes/members.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Checkbox } from '../../../../ui/inputs/Choices.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import css from '../Change.module.css'
import { ServerPick, useServerNotes } from '../ServerPick.tsx'

interface Leaving {
  keep_workload_disks: boolean
  force: boolean
}
interface Typed {
  servers: Readonly<Record<string, Leaving>>
}
const asUsual: Leaving = { keep_workload_disks: false, force: false }

const read = ({ servers }: Typed) =>
  readBy(ShrinkSchema, {
    kind: 'shrink',
    servers: Object.entries(servers).map(([node_id, how]) => ({ node_id, ...how })),
  })

const hasWorkloadDisks = (member: Cluster['servers'][number] | undefined): boolean =>
  (member?.workload_disks ?? []).length > 0

/** Removes servers from a running cluster. */
export default function Shrink({ cluster, server, isForced }: ChangeFormProps) {
  const noteOf = useServerNotes(cluster)
  const memberOf = (id: string) => cluster.servers.find((s) => s.node_id === id)
  const nameOf = (id: string) => memberOf(id)?.name ?? id
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="shrink"
      initial={{
        servers: server === undefined ? {} : { [server]: { ...asUsual, force: isForced } },
      }}
      read={read}
      command={(change) => {
        if (change.kind !== 'shrink') return undefined
        // The option is about all servers.
        const kept = change.servers
          .filter((s) => hasWorkloadDisks(memberOf(s.node_id)))
          .map((s) => s.keep_workload_disks === true)
        if (new Set(kept).size > 1) return undefined
        const named = (isForced: boolean) =>
          change.servers
            .filter((s) => (s.force ?? false) === isForced)
            .map((s) => nameOf(s.node_id))
            .join(',')
        return cliOf(['cluster', 'shrink', cluster.name], {
          server: named(false),
          force: named(true),
          'keep-workload-disks': kept.includes(true),
        })
      }}
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
              note={noteOf}
              more={Object.fromEntries(
                Object.entries(servers).map(([id, how]) => [
                  id,
                  <Controls key={id} member={memberOf(id)} how={how} onSet={(to) => set(id, to)} />,
                ]),
              )}
            />
            <Problem text={form.errorOf('servers')} />
          </>
        )
      }}
    </ChangeForm>
  )
}

function Controls({
  member,
  how,
  onSet,
}: {
  member: Cluster['servers'][number] | undefined
  how: Leaving
  onSet: (how: Leaving) => void
}) {
  if (member === undefined) return null
  return (
    <span className={css['more-of']}>
      {hasWorkloadDisks(member) && (
        <Checkbox
          checked={how.keep_workload_disks}
          onChange={(on) => onSet({ ...how, keep_workload_disks: on })}
          label={`Keep the workload disks of ${member.name}`}
        />
      )}
      <Checkbox
        checked={how.force}
        onChange={(on) => onSet({ ...how, force: on })}
        label={`Remove ${member.name} by force: it does not answer any more`}
      />
    </span>
  )
}
