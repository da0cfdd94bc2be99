import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ListedServer, Server } from '#contract/servers/servers.ts'
import { serverQueryOf } from '../../../api/one-server.ts'
import { queryClient } from '../../../api/query.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { KeyValue } from '../../../ui/text/Panel.tsx'
import { ErrorState, Skeleton, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { paths } from '../../../lib/paths.ts'
import { sentence, truncate } from '../../../lib/text.ts'
import { cuNote, Disks, Links, Memory, Processors, storageNote } from './HardwareTables.tsx'
import { downloadTalosconfig, talosconfigVerdict } from '../server-actions.ts'
import css from './ServerDetails.module.css'

/** Fetches what `ServerDetails` shows, for a user who is about to open a row. */
export const preloadDetails = (id: string): Promise<void> =>
  queryClient.prefetchQuery(serverQueryOf(id))

/**
 * Detail of a server's row: Server info, Storage, Platform. Shows what the list has at once, and
 * fetches the rest.
 */
export function ServerDetails({ server: listed }: { server: ListedServer }) {
  const { data: whole, error, refetch } = useQuery(serverQueryOf(listed.id))
  const server = whole ?? listed
  const resources = whole?.resources
  return (
    <div className={css['exp']}>
      <section>
        <h2 className={css['head']}>
          Server info <span>{cuNote(server)}</span>
        </h2>
        {resources === undefined ? (
          error === null ? (
            <SkeletonRows rows={5} widths={[140, 60, 60]} />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          )
        ) : (
          <>
            <h3 className="label">Processors</h3>
            <Processors processors={resources.processors} />
            <h3 className="label">Memory</h3>
            <Memory modules={resources.memory} />
            <h3 className="label">Network interfaces</h3>
            <Links links={resources.interfaces} />
          </>
        )}
      </section>
      <section>
        <h2 className={css['head']}>
          Storage <span>{storageNote(server)}</span>
        </h2>
        {resources !== undefined ? (
          <Disks resources={resources} />
        ) : (
          error === null && <SkeletonRows rows={5} />
        )}
      </section>
      <section>
        <h2 className={css['head']}>Platform</h2>
        <Platform
          server={server}
          missing={error === null ? <Skeleton width={120} height={18} /> : unknown}
        />
        <div className={css['buttons']}>
          <ActionButton
            label="Talosconfig"
            size="small"
            icon="download"
            can={talosconfigVerdict(server)}
            run={() => downloadTalosconfig(server)}
          />
          <ActionButton
            label="Open server"
            size="small"
            kind="ghost"
            to={paths.server(server.id)}
          />
        </div>
      </section>
    </div>
  )
}

const quiet = (text: string) => <span className="t3">{text}</span>
const none = quiet('None')
const unknown = quiet('Unknown')

type Platform = ListedServer & { talos: Partial<Pick<Server['talos'], 'schematic' | 'installed'>> }

/** The server's datacenter and software. `missing` is shown in place of what is not fetched yet. */
export function Platform({ server, missing = null }: { server: Platform; missing?: ReactNode }) {
  const { talos, identity, cluster, datacenter } = server
  const stage = talos.stage === 'unknown' ? '' : `, ${sentence(talos.stage).toLowerCase()}`
  return (
    <KeyValue
      className={css['kv']!}
      rows={[
        ['Talos', talos.version === null ? unknown : `${talos.version}${stage}`],
        talos.installed && ['Installed', `${talos.installed.version} on ${talos.installed.disk}`],
        ['Schematic', talos.schematic === undefined ? missing : schematicOf(talos.schematic)],
        ['Addresses', <Addresses key="a" of={server.nodeAddresses} />],
        ['Datacenter', <ServerSite key="d" of={datacenter} />],
        [
          'Cluster',
          cluster ? (
            <a href={paths.cluster(cluster.id)}>{cluster.name}</a>
          ) : server.status === 'maintenance' ? (
            quiet('None, free to use')
          ) : (
            none
          ),
        ],
        [
          'Commitment',
          server.capacity_commitment === null ? (
            none
          ) : (
            <a key="cc" href={paths.cc(server.capacity_commitment.id)}>
              {sentence(server.capacity_commitment.status)}
            </a>
          ),
        ],
        ['Serial', identity.serial ? <Copyable value={identity.serial} what="serial" /> : unknown],
        [
          'UUID',
          identity.uuid === null ? (
            unknown
          ) : (
            <Copyable value={identity.uuid} what="UUID" shown={truncate(identity.uuid)} />
          ),
        ],
      ]}
    />
  )
}

const schematicOf = (id: string | null) =>
  id === null ? none : <Copyable value={id} what="schematic" shown={truncate(id)} />

/** A server's datacenter with a link to the servers there. */
export const ServerSite = ({
  of: datacenter,
  className,
}: {
  of: Server['datacenter']
  className?: string | undefined
}) =>
  datacenter === null ? (
    none
  ) : (
    <span className="row">
      <Flag code={datacenter.code.slice(0, 2)} />
      <a className={className} href={paths.servers({ datacenter: datacenter.code })}>
        {datacenter.code}
      </a>
    </span>
  )

/** Every address with a copy button, or "No Addresses". */
export function Addresses({ of: addresses }: { of: readonly string[] }) {
  if (addresses.length === 0) return quiet('No Addresses')
  return (
    <span className={css['list']}>
      {addresses.map((address) => (
        <Copyable key={address} value={address} what="address" />
      ))}
    </span>
  )
}
