import { useQuery } from '@tanstack/react-query'
import { ChangeDisks } from '#contract/clusters/changes/disks.ts'
import { devicePath, disksBeside } from '#contract/disks/disks.ts'
import { serverQueryOf } from '../../../../api/one-server.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { Pending } from '../../../../ui/feedback/PageStates.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { Checkbox } from '../../../../ui/inputs/Choices.tsx'
import { diskLine } from '../../create/ServerRow.tsx'
import css from '../Change.module.css'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { useServerOptions } from '../ServerPick.tsx'

interface Typed {
  node_id: string
  /** Paths of disks that become workload disks, and of those that stop being one. */
  add: readonly string[]
  remove: readonly string[]
  wipe: boolean
}
const { Choose, Check } = fieldsFor<Typed>()

const read = ({ node_id, add, remove, wipe }: Typed) =>
  readBy(
    ChangeDisks,
    { kind: 'disks', node_id, add, remove, wipe },
    {
      ...(node_id === '' && { node_id: 'Choose a server' }),
      ...(add.length + remove.length === 0 && { add: 'Choose a disk' }),
    },
  )

/** The workload disks of a server of a running cluster. */
export default function Disks({ cluster, server }: ChangeFormProps) {
  const servers = useServerOptions(cluster)
  const memberOf = (id: string) => cluster.servers.find((s) => s.node_id === id)
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="disks"
      initial={{ node_id: memberOf(server ?? '')?.node_id ?? '', add: [], remove: [], wipe: false }}
      read={read}
      command={(change) =>
        change.kind === 'disks'
          ? cliOf(
              ['cluster', 'disks', cluster.name, memberOf(change.node_id)?.name ?? change.node_id],
              {
                add: change.add,
                remove: change.remove,
                wipe: change.wipe,
              },
            )
          : ''
      }
    >
      {(form) => {
        const { node_id, add, remove } = form.values
        const member = memberOf(node_id)
        return (
          <>
            <Choose
              name="node_id"
              label="Server"
              placeholder="Choose a server"
              options={servers}
              onValue={(id) => form.set({ node_id: id, add: [], remove: [] })}
            />
            {member !== undefined && (
              <ServerDisks
                key={node_id}
                nodeId={node_id}
                install={member.install_disk}
                used={member.workload_disks ?? []}
                chosen={[...add, ...remove]}
                onChange={(device, isUsed, on) => {
                  const change = (list: readonly string[]) =>
                    on ? [...list, device] : list.filter((d) => d !== device)
                  form.set(isUsed ? { remove: change(remove) } : { add: change(add) })
                }}
              />
            )}
            <Problem text={form.errorOf('add') ?? form.errorOf('remove')} />
            {remove.length > 0 && <Check name="wipe" label="Wipe the removed disks" />}
          </>
        )
      }}
    </ChangeForm>
  )
}

function ServerDisks({
  nodeId,
  install,
  used,
  chosen,
  onChange,
}: {
  nodeId: string
  install: string | undefined
  used: readonly string[]
  chosen: readonly string[]
  onChange: (device: string, isUsed: boolean, on: boolean) => void
}) {
  const answer = useQuery(serverQueryOf(nodeId))
  if (answer.data === undefined) return <Pending of={answer} boxed={false} rows={3} />
  const { disks: known } = answer.data.resources
  // A disk with several paths is offered once; what is recorded stays visible.
  const offered = disksBeside(known, install ?? '')
  const disks = known.filter((d) => offered.includes(d) || used.includes(devicePath(d.id)))
  return (
    <ul className={css['pick']} aria-label="Disks" tabIndex={0}>
      {disks.map((d) => {
        const device = devicePath(d.id)
        const isUsed = used.includes(device)
        return (
          <li key={d.id}>
            <Checkbox
              checked={chosen.includes(device)}
              onChange={(on) => onChange(device, isUsed, on)}
              label={
                <>
                  <b>{isUsed ? `Remove ${d.id}` : `Add ${d.id}`}</b>{' '}
                  <span className="t3">{diskLine(d)}</span>
                </>
              }
            />
          </li>
        )
      })}
    </ul>
  )
}
