import { useQuery } from '@tanstack/react-query'
import { Grow as GrowSchema } from '#contract/clusters/changes/members.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { devicePath } from '#contract/servers/disks.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { query } from '../../../../api/query.ts'
import { readBy } from '../../../../lib/fields.ts'
import { paths } from '../../../../lib/paths.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Checkbox } from '../../../../ui/inputs/Choices.tsx'
import { Pending } from '../../../../ui/feedback/PageStates.tsx'
import { Empty } from '../../../../ui/feedback/States.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import type { Form } from '../../../../ui/form/use-form.ts'
import { canTake, firstChoice } from '../../create/choice.ts'
import wizard from '../../create/CreateCluster.module.css'
import type { Chosen } from '../../create/draft.ts'
import { ChosenRow, hardwareLine } from '../../create/ServerRow.tsx'
import css from '../Change.module.css'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

interface Typed {
  /** The chosen servers by id. */
  servers: Readonly<Record<string, Chosen>>
}

const read = ({ servers }: Typed) =>
  readBy(GrowSchema, {
    kind: 'grow',
    servers: Object.entries(servers).map(([node_id, { role, link, installDisk, workloadDisks }]) => ({
      node_id,
      role,
      ...(link !== '' && { interface: link }),
      ...(installDisk !== '' && { install_disk: devicePath(installDisk) }),
      workload_disks: workloadDisks.map(devicePath),
    })),
  })

/** Adds free servers of the cluster's datacenter to the cluster. */
export default function Grow({ cluster, server }: ChangeFormProps) {
  const answer = useQuery(query(serverList, { query: { datacenter: cluster.datacenter.code } }))
  if (answer.data === undefined) return <Pending of={answer} rows={6} />
  const free = answer.data.items.filter((s) => s.status !== 'deleted' && s.cluster === null)
  if (free.length === 0)
    return (
      <Empty
        boxed
        title={`No free servers in ${cluster.datacenter.code}`}
        text="Only servers of the cluster's datacenter that are in no cluster can join it."
        actions={<a href={paths.servers()}>Servers</a>}
      />
    )
  const first = free.find((s) => s.id === server)
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="grow"
      initial={{ servers: first === undefined ? {} : { [first.id]: firstChoice(first) } }}
      read={read}
      command={(change) =>
        change.kind === 'grow'
          ? cliOf(['cluster', 'grow', cluster.name], {
              'control-plane': namesOf(free, change.servers, 'control_plane').join(','),
              worker: namesOf(free, change.servers, 'worker').join(','),
            })
          : ''
      }
    >
      {(form) => <Servers form={form} free={free} cluster={cluster} />}
    </ChangeForm>
  )
}

const namesOf = (free: readonly Server[], chosen: readonly { node_id: string; role: string }[], role: string): string[] =>
  chosen.flatMap((c) => (c.role === role ? (free.find((s) => s.id === c.node_id)?.name ?? []) : []))

function Servers({ form, free, cluster }: { form: Form<Typed>; free: readonly Server[]; cluster: Cluster }) {
  const { servers } = form.values
  const set = (id: string, chosen: Chosen | undefined) =>
    form.set((now) => {
      const { [id]: _left, ...rest } = now.servers
      return { servers: chosen === undefined ? rest : { ...now.servers, [id]: chosen } }
    })
  const may = (s: Server) => canTake(s, cluster.talos_version)
  const rows = free.toSorted((a, b) => Number(may(b).ok) - Number(may(a).ok))
  return (
    <>
      <section className={wizard['table']} aria-label="Free servers">
        {rows.map((s) => {
          const chosen = servers[s.id]
          const verdict = may(s)
          return chosen !== undefined ? (
            <ChosenRow
              key={s.id}
              server={s}
              chosen={chosen}
              patches={undefined}
              lost={canTake(s, cluster.talos_version, chosen)}
              onSet={(part) => set(s.id, { ...chosen, ...part })}
              onLeave={() => set(s.id, undefined)}
            />
          ) : (
            <div key={s.id} className={wizard['row']} data-server={s.id}>
              <Checkbox
                checked={false}
                disabled={!verdict.ok}
                onChange={() => set(s.id, firstChoice(s))}
                label={
                  <span className={css['who']}>
                    <b>{s.name}</b> <span className="t3">{verdict.ok ? hardwareLine(s) : verdict.reason}</span>
                  </span>
                }
              />
            </div>
          )
        })}
      </section>
      <Problem text={form.errorOf('servers')} />
    </>
  )
}
