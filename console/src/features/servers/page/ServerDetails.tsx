import { useQuery } from '@tanstack/react-query'
import type { Server } from '#contract/servers/servers.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { KeyValue } from '../../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { paths } from '../../../lib/paths.ts'
import { sentence, truncate } from '../../../lib/text.ts'
import { cuNote, Disks, Links, Memory, Processors, storageNote } from './HardwareTables.tsx'
import { serverQueryOf } from '../server-queries.ts'
import { downloadTalosconfig, talosconfigVerdict } from '../server-actions.ts'
import css from './ServerDetails.module.css'

/** Detail of a server's row: Server info, Storage, Platform. Fetches disks and interfaces, which the list omits. */
export function ServerDetails({ server: listed }: { server: Server }) {
  const { data: server, error, refetch } = useQuery(serverQueryOf(listed.id))
  if (server === undefined) return error === null ? <SkeletonRows rows={5} /> : <ErrorState error={error} onRetry={() => void refetch()} />
  const { resources } = server
  return (
    <div className={css['exp']}>
      <section>
        <h2 className={css['head']}>
          Server info <span>{cuNote(resources)}</span>
        </h2>
        <h3 className="label">Processors</h3>
        <Processors processors={resources.processors} />
        <h3 className="label">Memory</h3>
        <Memory modules={resources.memory} />
        <h3 className="label">Network interfaces</h3>
        <Links links={resources.interfaces} />
      </section>
      <section>
        <h2 className={css['head']}>
          Storage <span>{storageNote(resources)}</span>
        </h2>
        <Disks disks={resources.disks} />
      </section>
      <section>
        <h2 className={css['head']}>Platform</h2>
        <Platform server={server} />
        <div className={css['buttons']}>
          <ActionButton label="Talosconfig" size="small" icon="download" can={talosconfigVerdict(server)} run={() => downloadTalosconfig(server)} />
          <ActionButton label="Open server" size="small" kind="ghost" to={paths.server(server.id)} />
        </div>
      </section>
    </div>
  )
}

/** The server's datacenter and software. */
export function Platform({ server }: { server: Server }) {
  const { talos, identity } = server
  return (
    <KeyValue
      className={css['kv']!}
      rows={[
        [
          'Talos',
          talos.version === null ? (
            <span className="t3">Unknown</span>
          ) : (
            `${talos.version}${talos.stage === 'unknown' ? '' : `, ${sentence(talos.stage).toLowerCase()}`}`
          ),
        ],
        talos.installed !== null && ['Installed', `${talos.installed.version} on ${talos.installed.disk}`],
        [
          'Schematic',
          talos.schematic === null ? (
            <span className="t3">None</span>
          ) : (
            <Copyable value={talos.schematic} what="schematic" shown={truncate(talos.schematic, 12, 10)} />
          ),
        ],
        ['Addresses', <Addresses key="a" of={server.nodeAddresses} />],
        [
          'Datacenter',
          server.datacenter === null ? (
            <span className="t3">None</span>
          ) : (
            <span className="row">
              <Flag code={server.datacenter.code.slice(0, 2)} />
              <a href={paths.servers({ datacenter: server.datacenter.code })}>{server.datacenter.code}</a>
            </span>
          ),
        ],
        [
          'Cluster',
          server.cluster === null ? (
            <span className="t3">{server.status === 'maintenance' ? 'None, free to use' : 'None'}</span>
          ) : (
            <a href={paths.cluster(server.cluster.id)}>{server.cluster.name}</a>
          ),
        ],
        ['Commitment', server.capacity_commitment === null ? <span className="t3">None</span> : sentence(server.capacity_commitment.status)],
        [
          'Serial',
          identity.serial === null || identity.serial === '' ? <span className="t3">Unknown</span> : <Copyable value={identity.serial} what="serial" />,
        ],
        [
          'UUID',
          identity.uuid === null ? <span className="t3">Unknown</span> : <Copyable value={identity.uuid} what="UUID" shown={truncate(identity.uuid, 8, 8)} />,
        ],
      ]}
    />
  )
}

/** Every address with a copy button, or "No Addresses". */
export function Addresses({ of: addresses }: { of: readonly string[] }) {
  if (addresses.length === 0) return <span className="t3">No Addresses</span>
  return (
    <span className={css['list']}>
      {addresses.map((address) => (
        <Copyable key={address} value={address} what="address" />
      ))}
    </span>
  )
}
