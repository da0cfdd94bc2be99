import { useQuery } from '@tanstack/react-query'
import { Extensions as ExtensionsSchema } from '#contract/clusters/changes/talos-upgrade.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterExtensions, type ServerExtensions } from '#contract/clusters/extensions.ts'
import { query } from '../../../../api/query.ts'
import { ExtensionPicker } from '../../../../layout/extensions/ExtensionPicker.tsx'
import { shortName } from '../../../../layout/extensions/extensions.ts'
import { reasonOf } from '../../../../lib/reason.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { SkeletonRows } from '../../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../../ui/feedback/Status.tsx'
import css from '../Change.module.css'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { sameTexts } from '../plan.ts'
import { namedServers, ServersField } from '../ServerPick.tsx'

interface Typed {
  setExtensions: boolean
  extensions: readonly string[]
  setArgs: boolean
  /** One per line. */
  kernel_args: string
  servers: readonly string[]
}
const { Area, Check } = fieldsFor<Typed>()

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Changes the extensions and kernel arguments of servers of a running cluster. */
export default function Extensions({ cluster, server }: ChangeFormProps) {
  const { data, error, isFetched } = useQuery({
    ...query(clusterExtensions, { params: { id: cluster.id } }),
    staleTime: 30_000,
  })
  // While a query that failed is read again, it is pending again: the form would begin anew.
  if (!isFetched) return <SkeletonRows rows={6} />
  return (
    <Fields
      // Once it is known what the servers have, the form begins with that.
      key={data === undefined ? 'unknown' : 'known'}
      cluster={cluster}
      server={server}
      now={data?.items ?? []}
      unknown={
        data !== undefined ? null : error === null ? 'they are asked again' : reasonOf(error)
      }
    />
  )
}

interface FieldsProps {
  cluster: Cluster
  server: string | undefined
  /** What the servers have now. */
  now: readonly ServerExtensions[]
  /** Why that is unknown. */
  unknown: string | null
}

function Fields({ cluster, server, now, unknown }: FieldsProps) {
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  const servers = cluster.servers
    .map((s) => s.node_id)
    .filter((id) => server === undefined || id === server)
  const here = now.filter((s) => servers.includes(s.node_id))
  const read = (typed: Typed) =>
    readBy(
      ExtensionsSchema,
      {
        kind: 'extensions',
        ...(typed.setExtensions && { extensions: typed.extensions }),
        ...(typed.setArgs && { kernel_args: lines(typed.kernel_args) }),
        ...namedServers(cluster, typed.servers),
      },
      typed.servers.length === 0 ? { servers: 'Choose at least one server' } : {},
    )
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="extensions"
      // The lists are complete, so they begin with what the servers have: nothing is removed by
      // accident.
      initial={{
        setExtensions: unknown === null,
        extensions: [...new Set(here.flatMap((s) => s.extensions ?? []))].toSorted(),
        setArgs: false,
        kernel_args: [...new Set(here.flatMap((s) => s.kernel_args ?? []))].join('\n'),
        servers,
      }}
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
        const { setExtensions, setArgs, extensions } = form.values
        return (
          <>
            <Installed now={now} unknown={unknown} />
            <Check
              name="setExtensions"
              label="Set the extensions. One that is not chosen is removed"
            />
            {setExtensions && (
              <div className={css['inner']}>
                <ExtensionPicker
                  version={cluster.talos_version}
                  chosen={extensions}
                  onChosen={(names) => form.set({ extensions: names })}
                  error={form.errorOf('extensions')}
                />
              </div>
            )}
            <Check name="setArgs" label="Set the kernel arguments" />
            {setArgs && (
              <Area
                name="kernel_args"
                label="Kernel arguments"
                hint="One per line, such as console=ttyS0,115200. Leave it empty to remove all"
                rows={3}
                mono
              />
            )}
            <Problem text={setExtensions ? undefined : form.errorOf('extensions')} />
            <ServersField
              cluster={cluster}
              chosen={form.values.servers}
              onChange={(to) => form.set({ servers: to })}
              error={form.errorOf('servers')}
            />
          </>
        )
      }}
    </ChangeForm>
  )
}

const saidOf = ({ extensions, kernel_args, reason }: ServerExtensions): string =>
  extensions === null || kernel_args === null
    ? `unknown, ${reason}`
    : [extensions.map(shortName).join(', ') || 'no extensions', kernel_args.join(' ')]
        .filter(Boolean)
        .join('; ')

/** What the servers have now; servers with the same are one row. */
function Installed({ now, unknown }: Pick<FieldsProps, 'now' | 'unknown'>) {
  if (unknown !== null)
    return <Alert tone="warn">What the servers have now is unknown: {unknown}</Alert>
  return (
    <dl className={css['now']}>
      {sameTexts(now.map((s) => ({ name: s.name, text: saidOf(s) }))).map(({ names, text }) => (
        <div key={text}>
          <dt title={names.join(', ')}>
            {names.length === now.length && now.length > 1
              ? 'All servers now'
              : `${names.join(', ')} now`}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
