import { useQuery } from '@tanstack/react-query'
import type { Server } from '#contract/servers/servers.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { KeyValue } from '../../../ui/text/Panel.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { paths } from '../../../lib/paths.ts'
import { sentence, truncate } from '../../../lib/text.ts'
import { cuNote, Disks, Links, Memory, Processors, storageNote } from './HardwareTables.tsx'
import { serverQueryOf } from '../server-queries.ts'
import { downloadTalosconfig, talosconfigVerdict } from '../server-actions.ts'
import css from './ServerDetails.module.css'

/** Detail of a server's row: Server info, Storage, Platform. Fetches disks and interfaces, which the list omits. */
export function ServerDetails({ server: listed }: { server: Server }) {
  const answer = useQuery(serverQueryOf(listed.id))
  const { data: server } = answer
  if (server === undefined) return <Pending of={answer} boxed={false} rows={5} />
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

const quiet = (text: string) => <span className="t3">{text}</span>
const none = quiet('None')
const unknown = quiet('Unknown')

/** The server's datacenter and software. */
export function Platform({ server }: { server: Server }) {
  const { talos, identity, cluster, datacenter } = server
  const stage = talos.stage === 'unknown' ? '' : `, ${sentence(talos.stage).toLowerCase()}`
  return (
    <KeyValue
      className={css['kv']!}
      rows={[
        ['Talos', talos.version === null ? unknown : `${talos.version}${stage}`],
        talos.installed !== null && ['Installed', `${talos.installed.version} on ${talos.installed.disk}`],
        ['Schematic', talos.schematic === null ? none : <Copyable value={talos.schematic} what="schematic" shown={truncate(talos.schematic, 12, 10)} />],
        ['Addresses', <Addresses key="a" of={server.nodeAddresses} />],
        ['Datacenter', <ServerSite key="d" of={datacenter} />],
        ['Cluster', cluster ? <a href={paths.cluster(cluster.id)}>{cluster.name}</a> : server.status === 'maintenance' ? quiet('None, free to use') : none],
        ['Commitment', server.capacity_commitment === null ? none : sentence(server.capacity_commitment.status)],
        ['Serial', identity.serial ? <Copyable value={identity.serial} what="serial" /> : unknown],
        ['UUID', identity.uuid === null ? unknown : <Copyable value={identity.uuid} what="UUID" shown={truncate(identity.uuid, 8, 8)} />],
      ]}
    />
  )
}

/** A server's datacenter with a link to the servers there. */
export const ServerSite = ({ of: datacenter, className }: { of: Server['datacenter']; className?: string | undefined }) =>
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
