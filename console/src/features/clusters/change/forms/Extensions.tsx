import { Extensions as ExtensionsSchema } from '#contract/clusters/changes/talos-upgrade.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { listOf } from '../../../../lib/text.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { roleText, ServerPick } from '../ServerPick.tsx'

interface Typed {
  setExtensions: boolean
  /** Names, one per line. */
  extensions: string
  setArgs: boolean
  kernel_args: string
  servers: readonly string[]
}
const { Area, Check } = fieldsFor<Typed>()

/** Changes the extensions and kernel arguments of servers of a running cluster. */
export default function Extensions({ cluster, server }: ChangeFormProps) {
  const all = cluster.servers.map((s) => s.node_id)
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  const read = ({ setExtensions, extensions, setArgs, kernel_args, servers }: Typed) =>
    readBy(
      ExtensionsSchema,
      {
        kind: 'extensions',
        ...(setExtensions && { extensions: listOf(extensions) }),
        ...(setArgs && {
          kernel_args: kernel_args
            .split('\n')
            .map((line) => line.trim())
            .filter((line) => line !== ''),
        }),
        ...(servers.length < all.length && { node_ids: servers }),
      },
      servers.length === 0 ? { servers: 'Choose at least one server' } : {},
    )
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="extensions"
      initial={{ setExtensions: true, extensions: '', setArgs: false, kernel_args: '', servers: server === undefined ? all : [server] }}
      read={read}
      command={(change) =>
        change.kind === 'extensions'
          ? cliOf(['cluster', 'extensions', cluster.name], {
              extension: change.extensions ?? [],
              'no-extensions': change.extensions?.length === 0,
              'kernel-arg': change.kernel_args ?? [],
              'no-kernel-args': change.kernel_args?.length === 0,
              server: (change.node_ids ?? []).map(nameOf),
            })
          : ''
      }
    >
      {(form) => {
        const { setExtensions, setArgs, servers } = form.values
        return (
          <>
            <Check name="setExtensions" label="Set the extensions" />
            {setExtensions && (
              <Area name="extensions" label="Extensions" hint="Names, one per line, such as siderolabs/gvisor. Leave it empty to remove all" rows={4} mono />
            )}
            <Check name="setArgs" label="Set the kernel arguments" />
            {setArgs && (
              <Area name="kernel_args" label="Kernel arguments" hint="One per line, such as console=ttyS0,115200. Leave it empty to remove all" rows={3} mono />
            )}
            <Problem text={setExtensions ? undefined : form.errorOf('extensions')} />
            <ServerPick
              label={`Servers of ${cluster.name}`}
              rows={cluster.servers}
              chosen={(s) => servers.includes(s.node_id)}
              onChange={(s, on) =>
                form.set({ servers: on ? all.filter((id) => id === s.node_id || servers.includes(id)) : servers.filter((id) => id !== s.node_id) })
              }
              note={(s) => roleText(s.role)}
            />
            <Problem text={form.errorOf('servers')} />
          </>
        )
      }}
    </ChangeForm>
  )
}
