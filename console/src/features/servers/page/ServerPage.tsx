import { type ReactNode, useMemo } from 'react'
import { machineCommands } from '#contract/servers/machine-commands.ts'
import type { Server } from '#contract/servers/servers.ts'
import { useCommands } from '../../../layout/search/commands.ts'
import { paths } from '../../../lib/paths.ts'
import type { Action } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../../ui/inputs/Button.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { Facts, PageHeader, Panel } from '../../../ui/text/Panel.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { Tabs } from '../../../ui/text/Tabs.tsx'
import { Contact } from '../list/Contact.tsx'
import { DisksPicture } from './DisksPicture.tsx'
import { EligibilityPanel } from './Eligibility.tsx'
import { summaryOf } from './hardware.ts'
import { storageNote } from './HardwareTables.tsx'
import { IdentityAlarm } from './IdentityAlarm.tsx'
import { serverActions } from '../server-actions.ts'
import { ServerStatus } from '../list/server-columns.tsx'
import { ServerEvents } from './ServerEvents.tsx'
import { ServerHardware } from './ServerHardware.tsx'
import { ServerLogs } from './ServerLogs.tsx'
import css from './ServerPage.module.css'

export const serverTabs = ['patches', 'hardware', 'events', 'logs'] as const
export type ServerTab = (typeof serverTabs)[number]

interface ServerPageProps {
  server: Server
  tab: ServerTab
  patches: ReactNode
  patchCount: number | undefined
  above: ReactNode
}

/** One server. The route passes the tab Patches and the notices, which are separate features. */
export function ServerPage({ server, tab, patches, patchCount, above }: ServerPageProps) {
  const actions = useMemo(() => serverActions(server), [server])
  useCommands(`Act on ${server.name}`, actions)
  return (
    <>
      <Header server={server} actions={actions} />
      <IdentityAlarm server={server} />
      {above}
      <Tabs
        label="Server"
        current={tab}
        tabs={[
          { id: 'patches', text: 'Patches', count: patchCount, href: paths.server(server.id) },
          { id: 'hardware', text: 'Hardware', href: paths.server(server.id, 'hardware') },
          { id: 'events', text: 'Events', href: paths.server(server.id, 'events') },
          { id: 'logs', text: 'Logs', href: paths.server(server.id, 'logs') },
        ]}
      />
      {tab === 'patches' && (
        <div className={css['cols']}>
          <div>{patches}</div>
          <aside className={css['side']} aria-label="At a glance">
            <EligibilityPanel server={server} />
            <DisksAndLinks server={server} />
          </aside>
        </div>
      )}
      {tab === 'hardware' && <ServerHardware server={server} />}
      {tab === 'events' && <ServerEvents id={server.id} />}
      {tab === 'logs' && <ServerLogs server={server} />}
    </>
  )
}

function Header({ server, actions }: { server: Server; actions: readonly Action[] }) {
  const inSight = actions.filter((a) => a.label === 'Talosconfig' || a.label === machineCommands.serverReboot.title)
  const { processors, memory, disks, links } = summaryOf(server.resources)
  const address = server.nodeAddresses[0]
  const fact = (told: { text: string; more: string } | null) =>
    told === null ? (
      <span className="t3">Unknown</span>
    ) : (
      <>
        {told.text}{' '}
        <span className={css['more']} title={told.more}>
          {told.more}
        </span>
      </>
    )
  return (
    <PageHeader
      name={server.name}
      status={
        <>
          <ServerStatus server={server} />
          <span className={css['rule']} />
          <span className="fs13 t2">
            <Contact server={server} sentence />
          </span>
        </>
      }
      actions={
        <>
          {inSight.map((a) => (
            <ActionButton label={a.label} key={a.label} icon={a.label === 'Talosconfig' ? 'download' : undefined} can={a.can} run={() => a.run?.()} />
          ))}
          <Menu
            label={`Actions for ${server.name}`}
            items={actions.filter((a) => !inSight.includes(a))}
            trigger={<IconButton icon="more" label="More actions" />}
          />
        </>
      }
    >
      <Facts
        rows={[
          ['Processors', fact(processors)],
          ['Memory', fact(memory)],
          ['Disks', fact(disks)],
          ['Links', links && <span title={links.more}>{links.text}</span>],
          [
            'Datacenter',
            server.datacenter ? (
              <span className="row">
                <Flag code={server.datacenter.code.slice(0, 2)} />
                <a className={css['code']} href={paths.servers({ datacenter: server.datacenter.code })}>
                  {server.datacenter.code}
                </a>
              </span>
            ) : (
              <span className="t3">None</span>
            ),
          ],
          server.cluster && [
            'Cluster',
            <a key="cluster" href={paths.cluster(server.cluster.id)}>
              {server.cluster.name}
            </a>,
          ],
          ['Talos', server.talos.version ?? <span className="t3">Unknown</span>],
          ['Address', address === undefined ? <span className="t3">No Addresses</span> : <Copyable value={address} what="address" />],
        ]}
      />
    </PageHeader>
  )
}

function DisksAndLinks({ server }: { server: Server }) {
  const { disks, interfaces } = server.resources
  return (
    <Panel title="Disks and links" note={storageNote(server.resources)}>
      <DisksPicture disks={disks} />
      <ul className={css['links']} aria-label="Links">
        {interfaces.map((link) => (
          <li key={link.id} title={[link.vendor, link.product].filter(Boolean).join(' ')}>
            <StatusDot tone={link.link_state ? 'ok' : 'off'}>{link.link_state === undefined ? 'Unknown' : link.link_state ? 'Up' : 'Down'}</StatusDot>
            <span className="mono fs12 clip">{link.id}</span>
            <span className="t3 right clip">{link.driver}</span>
          </li>
        ))}
        {interfaces.length === 0 && <li className="t3">No links known</li>}
      </ul>
    </Panel>
  )
}
