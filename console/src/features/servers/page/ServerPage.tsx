import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo } from 'react'
import { placementSaid } from '#contract/racks/placement.ts'
import { machineCommands } from '#contract/servers/machine-commands.ts'
import {
  canLabelServer,
  type ListedServer,
  type Server,
  serverEvents,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { MoreFindings, Remedies } from '../../../layout/findings/ObjectFindings.tsx'
import { labelledOf } from '../../../layout/labels/labelled.ts'
import { ObjectLabels } from '../../../layout/labels/ObjectLabels.tsx'
import { OperationLink } from '../../../layout/operations/OperationLink.tsx'
import { useCommands } from '../../../layout/search/commands.ts'
import { paths } from '../../../lib/paths.ts'
import { counted } from '#contract/words.ts'
import { capital, sentence } from '../../../lib/text.ts'
import type { Action } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button, IconButton } from '../../../ui/inputs/Button.tsx'
import { EventTable } from '../../../ui/table/EventTable.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { part } from '../../../ui/part.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { Fold } from '../../../ui/text/Fold.tsx'
import { Facts, PageHeader, Panel } from '../../../ui/text/Panel.tsx'
import { Alert, Badge, StatusDot } from '../../../ui/feedback/Status.tsx'
import { Skeleton, SkeletonRows, Stale } from '../../../ui/feedback/States.tsx'
import { Tabs } from '../../../ui/text/Tabs.tsx'
import { Contact } from '../list/Contact.tsx'
import { ChangeAlarm } from './ChangeAlarm.tsx'
import { summaryOf } from './hardware.ts'
import { DisksPicture, storageNote } from './HardwareTables.tsx'
import { IdentityAlarm } from './IdentityAlarm.tsx'
import { QuarantineNotice } from './QuarantineNotice.tsx'
import { serverActions } from '../server-actions.ts'
import { checkTitle, statusOf } from '../server-state.ts'
import { ServerSite } from './ServerDetails.tsx'
import { ServerHardware } from './ServerHardware.tsx'
import { ServerLogs } from './ServerLogs.tsx'
import css from './ServerPage.module.css'

// Charts are needed on this tab alone.
const ServerUsage = part(() => import('./ServerUsage.tsx'))

/** The tabs, and their texts. */
const serverTabs = {
  overview: 'Overview',
  hardware: 'Hardware',
  patches: 'Configuration',
  history: 'History',
  logs: 'Logs',
} as const
type ServerTab = keyof typeof serverTabs
/** Parts of a tab that were tabs before. Their URLs lead to the part. */
const partsOfTabs: Readonly<Record<string, ServerTab>> = { usage: 'overview', events: 'history' }
const isTab = (text: string): text is ServerTab => Object.hasOwn(serverTabs, text)

interface ServerPageProps {
  server: Server
  /** The tab in the URL. */
  tab: string | undefined
  patches: ReactNode
  patchCount: number | undefined
  history: ReactNode
  above: ReactNode
  /** What its BMC says of its power, and what can be done with that; null without a BMC. */
  power: { readonly chip: ReactNode; readonly actions: readonly Action[] } | null
}

/**
 * One server. The route passes the tabs Patches and History and the notices, which are separate
 * features.
 */
export function ServerPage({
  server,
  tab: chosen = 'overview',
  patches,
  patchCount,
  history,
  above,
  power,
}: ServerPageProps) {
  const tab = isTab(chosen) ? chosen : (partsOfTabs[chosen] ?? 'overview')
  const actions = useMemo(() => serverActions(server), [server])
  useCommands(`Act on ${server.name}`, actions)
  return (
    <>
      <Header server={server} actions={actions} power={power} />
      <ObjectLabels
        of={labelledOf('server', server)}
        call={serverUpdate}
        can={canLabelServer(server)}
      />
      <QuarantineNotice server={server} />
      <IdentityAlarm server={server} />
      <ChangeAlarm server={server} />
      {above}
      <Tabs
        label="Server"
        current={tab}
        tabs={Object.entries(serverTabs).map(([id, text]) => ({
          id,
          text,
          count: id === 'patches' ? patchCount : undefined,
          href: paths.server(server.id, id),
        }))}
      />
      {tab === 'overview' && (
        <div className={css['cols']}>
          <div>
            <Suspense fallback={<SkeletonRows rows={8} />}>
              <ServerUsage server={server} />
            </Suspense>
          </div>
          <aside className={css['side']} aria-label="At a glance">
            <ConfigurationPanel server={server} count={patchCount} />
            <EligibilityPanel server={server} />
            <DisksAndLinks server={server} />
          </aside>
        </div>
      )}
      {tab === 'patches' && patches}
      {tab === 'hardware' && <ServerHardware server={server} />}
      {tab === 'history' && (
        <div className="stack stack3">
          {chosen !== 'events' && history}
          <Fold title="Events of Talos and of Steelyard" isOpen={chosen === 'events'}>
            <ServerEvents id={server.id} />
          </Fold>
        </div>
      )}
      {tab === 'logs' && <ServerLogs server={server} />}
    </>
  )
}

const unfetched = { processors: undefined, memory: undefined, disks: undefined, links: undefined }

/**
 * The header of the page, with what a list has shown of the server, while the server is fetched.
 */
export function ServerOutline({ server }: { server: ListedServer }) {
  return (
    <div aria-busy="true">
      <Header server={server} actions={[]} power={null} />
      <SkeletonRows rows={5} />
    </div>
  )
}

/** The acts of the operating system, which stand before those of the BMC. */
const byTalos = (actions: readonly Action[]): Action[] =>
  actions.flatMap((a) =>
    a.label === machineCommands.serverReboot.title
      ? [{ ...a, label: 'Restart by Talos' }]
      : a.label === machineCommands.serverShutdown.title
        ? [{ ...a, label: 'Shut down by Talos' }]
        : [],
  )

function Header({
  server,
  actions,
  power,
}: {
  server: ListedServer & Partial<Pick<Server, 'resources'>>
  actions: readonly Action[]
  power: ServerPageProps['power']
}) {
  const inSight = actions.filter((a) => a.label === 'Talosconfig' && a.can?.ok !== false)
  const { processors, memory, disks, links } =
    server.resources === undefined ? unfetched : summaryOf(server.resources)
  const address = server.nodeAddresses[0]
  const fact = (known: { text: string; more: string } | null | undefined) =>
    known === undefined ? (
      <Skeleton width={90} height={18} />
    ) : known === null ? (
      <span className="t3">Unknown</span>
    ) : (
      <>
        {known.text}{' '}
        <span className={css['more']} title={known.more}>
          {known.more}
        </span>
      </>
    )
  const { tone, word, why } = statusOf(server)
  return (
    <PageHeader
      name={server.name}
      status={
        <>
          <StatusDot tone={tone}>{word}</StatusDot>
          <span className={css['rule']} />
          <span className="fs13 t2">
            <Contact server={server} sentence />
          </span>
          {power !== null && (
            <>
              <span className={css['rule']} />
              <span className="fs13 t2">{power.chip}</span>
            </>
          )}
        </>
      }
      sentence={why === null ? null : capital(why)}
      actions={
        <>
          <Remedies of={server} here={paths.server(server.id)} />
          {inSight.map((a) => (
            <ActionButton key={a.label} {...a} />
          ))}
          {power !== null && (
            <Menu
              label={`Power of ${server.name}`}
              items={[...byTalos(actions), ...power.actions]}
              trigger={<Button icon="power">Power</Button>}
            />
          )}
          {actions.length > 0 && (
            <Menu
              label={`Actions for ${server.name}`}
              items={actions.filter((a) => !inSight.includes(a))}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          )}
        </>
      }
    >
      <MoreFindings server={server} />
      <Facts
        rows={[
          ['Processors', fact(processors)],
          ['Memory', fact(memory)],
          ['Disks', fact(disks)],
          [
            'Links',
            links === undefined ? (
              <Skeleton width={60} height={18} />
            ) : (
              links && <span title={links.more}>{links.text}</span>
            ),
          ],
          [
            'Place',
            <span key="p">
              <ServerSite of={server.datacenter} className={css['code']} />
              {server.placement && (
                <>
                  {' '}
                  <a href={paths.rack(server.placement.rack.id)}>
                    {placementSaid(server.placement)}
                  </a>
                </>
              )}
            </span>,
          ],
          [
            'Cluster',
            server.cluster && <a href={paths.cluster(server.cluster.id)}>{server.cluster.name}</a>,
          ],
          ['Talos', server.talos.version ?? <span className="t3">Unknown</span>],
          [
            'Address',
            address === undefined ? (
              <span className="t3">No Addresses</span>
            ) : (
              <Copyable value={address} what="address" />
            ),
          ],
          server.operation_id !== null && [
            'Operation',
            <OperationLink key="operation" id={server.operation_id} />,
          ],
          allowed({ scope: 'marketplace:read' }).ok &&
            server.capacity_commitment !== null && [
              'Marketplace',
              <a key="cc" href={paths.cc(server.capacity_commitment.id)}>
                {sentence(server.capacity_commitment.status)}
              </a>,
            ],
        ]}
      />
    </PageHeader>
  )
}

/** The configuration in one line, which leads to its patches. */
const ConfigurationPanel = ({ server, count }: { server: Server; count: number | undefined }) => (
  <Panel
    title="Configuration"
    actions={server.status !== 'deleted' && <a href={paths.createPatch(server.id)}>Create patch</a>}
  >
    <a href={paths.server(server.id, 'patches')}>
      {count === undefined ? 'Its patches' : counted(count, 'patch', 'patches')}
    </a>
  </Panel>
)

function DisksAndLinks({ server }: { server: Server }) {
  const { interfaces } = server.resources
  return (
    <Panel title="Disks and links" note={storageNote(server)}>
      <DisksPicture resources={server.resources} />
      <ul className={css['links']} aria-label="Links">
        {interfaces.map((link) => (
          <li key={link.id} title={[link.vendor, link.product].filter(Boolean).join(' ')}>
            <StatusDot tone={link.link_state ? 'ok' : 'off'}>
              {link.link_state === undefined ? 'Unknown' : link.link_state ? 'Up' : 'Down'}
            </StatusDot>
            <span className="mono fs12 clip">{link.id}</span>
            <span className="t3 right clip">{link.driver}</span>
          </li>
        ))}
        {interfaces.length === 0 && <li className="t3">No links known</li>}
      </ul>
    </Panel>
  )
}

/** The eligibility checks with their results, and what to do about failed ones. */
function EligibilityPanel({ server }: { server: Server }) {
  const all = server.eligibility.length
  // The checks are meaningless for a server in a cluster.
  if (server.status === 'deleted' || all === 0 || server.cluster !== null) return null
  const passed = server.eligibility.filter((e) => e.ok).length
  return (
    <Panel
      flush
      title={passed === all ? 'Can join a cluster' : "Can't join a cluster yet"}
      actions={
        <Badge tone={passed === all ? 'ok' : 'warn'}>
          {passed} of {all}
        </Badge>
      }
    >
      <ul className={css['checks']}>
        {server.eligibility
          .toSorted((a, b) => Number(a.ok) - Number(b.ok))
          .map((e) => (
            <li key={e.check} className={e.ok ? css['pass'] : css['fail']}>
              <Icon name={e.ok ? 'check' : 'close'} />
              <span>
                {checkTitle(e.check)}
                <span className="sr">{e.ok ? ': passed' : ': failed'}</span>
              </span>
              {!e.ok && e.reason !== null && <p>{e.reason}</p>}
            </li>
          ))}
      </ul>
    </Panel>
  )
}

/** Poll interval in ms. Talos's own events are not in the live stream. */
const talosMs = 30_000

/**
 * Steelyard's events about the server and Talos's own events: those that it tells now, and those
 * that were kept.
 */
function ServerEvents({ id }: { id: string }) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...query(serverEvents, { params: { id } }),
    refetchInterval: talosMs,
  })
  const onRetry = () => void refetch()
  return (
    <div className="stack stack3">
      {data !== undefined && !data.talos.ok && (
        <Alert tone="info">
          The server does not tell its events now: {data.talos.reason ?? 'it did not answer'}. Those
          of Talos below were kept before.
        </Alert>
      )}
      <EventTable
        noun="server"
        rows={data?.items}
        sources
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
        error={error}
        onRetry={onRetry}
      />
    </div>
  )
}
