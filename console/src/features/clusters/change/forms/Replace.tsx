import { useQuery } from '@tanstack/react-query'
import { Replace as ReplaceSchema } from '#contract/clusters/changes/members.ts'
import { noValue } from '#contract/list.ts'
import { serverList } from '#contract/servers/servers.ts'
import { query } from '../../../../api/query.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { Alert } from '../../../../ui/feedback/Status.tsx'
import { Unread } from '../../../../ui/feedback/Unread.tsx'
import { canTake, troubledLast } from '../../create/choice.ts'
import { noteOf } from '../../create/ServerRow.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { useServerOptions } from '../ServerPick.tsx'

const blank = { node_id: '', by: '', keep_workload_disks: false }
type Typed = typeof blank
const { Choose, Check } = fieldsFor<Typed>()

const read = ({ node_id, by, keep_workload_disks }: Typed) =>
  readBy(
    ReplaceSchema,
    { kind: 'replace', node_id, keep_workload_disks, by: { node_id: by } },
    {
      ...(node_id === '' && { node_id: 'Choose the server that leaves' }),
      ...(by === '' && { by: 'Choose the server that takes its place' }),
    },
  )

/** Replaces a server of a running cluster, dead or alive, with a free one. */
export default function Replace({ cluster, server }: ChangeFormProps) {
  const servers = useServerOptions(cluster)
  const answer = useQuery(
    query(serverList, { query: { datacenter: cluster.datacenter.code, cluster: noValue } }),
  )
  const free = troubledLast(
    (answer.data?.items ?? []).filter(
      (s) => s.cluster === null && canTake(s, cluster.talos_version).ok,
    ),
  )
  const nameOf = (id: string) =>
    [...cluster.servers.map((s) => ({ id: s.node_id, name: s.name })), ...free].find(
      (s) => s.id === id,
    )?.name ?? id
  return (
    <ChangeForm
      cluster={cluster}
      kind="replace"
      initial={{
        ...blank,
        node_id: cluster.servers.some((s) => s.node_id === server) ? server! : '',
      }}
      read={read}
      command={(change) =>
        change.kind === 'replace'
          ? cliOf(['cluster', 'replace', cluster.name, nameOf(change.node_id)], {
              by: nameOf(change.by.node_id),
              'keep-workload-disks': change.keep_workload_disks,
            })
          : ''
      }
    >
      {() => (
        <>
          <Choose name="node_id" label="Leaves" placeholder="Choose a server" options={servers} />
          <Unread what="The free servers" of={answer} />
          {answer.data !== undefined && free.length === 0 ? (
            <Alert tone="warn">
              No free server of {cluster.datacenter.code} may join a cluster now.
            </Alert>
          ) : (
            <Choose
              name="by"
              label="Takes its place"
              placeholder="Choose a server"
              options={free.map((s) => ({ value: s.id, text: s.name, more: noteOf(s) }))}
            />
          )}
          <Check
            name="keep_workload_disks"
            label="Keep the workload disks of the server that leaves"
          />
        </>
      )}
    </ChangeForm>
  )
}
