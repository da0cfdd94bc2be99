import type { Server } from '#contract/servers/servers.ts'
import { exact, moment } from '../../../lib/time/time.ts'
import { Panel } from '../../../ui/text/Panel.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { IdentityFacts } from '../dialogs/ConfirmHardware.tsx'
import {
  cuNote,
  Disks,
  DisksPicture,
  Links,
  Memory,
  Processors,
  storageNote,
} from './HardwareTables.tsx'
import { Platform } from './ServerDetails.tsx'
import css from './ServerHardware.module.css'

const identityWords: Record<Server['identity']['state'], string> = {
  announced: 'Announced itself',
  unconfirmed: 'To be confirmed',
  confirmed: 'Confirmed',
  changed: 'Other hardware answered',
}

/** The server's hardware in full. */
export function ServerHardware({ server }: { server: Server }) {
  const { resources, identity } = server
  return (
    <div className={css['grid']}>
      <Panel title="Processors" note={cuNote(server)}>
        <Processors processors={resources.processors} />
      </Panel>
      <Panel title="Memory">
        <Memory modules={resources.memory} />
      </Panel>
      <Panel title="Storage" note={storageNote(server)} className={css['whole']}>
        {resources.disks.length > 0 && <DisksPicture resources={resources} />}
        <div className={css['under']}>
          <Disks resources={resources} long />
        </div>
      </Panel>
      <Panel title="Network interfaces" className={css['whole']}>
        <Links links={resources.interfaces} names />
      </Panel>
      <Panel title="Platform">
        <Platform server={server} />
      </Panel>
      <Panel title="Identity">
        <p className="fs13">
          <StatusDot
            tone={
              identity.state === 'confirmed'
                ? 'ok'
                : identity.state === 'changed'
                  ? 'danger'
                  : 'warn'
            }
            why={<span title={exact(identity.since)}>since {moment(identity.since)}</span>}
          >
            {identityWords[identity.state]}
          </StatusDot>
        </p>
        <div className={css['under']}>
          <IdentityFacts server={server} />
        </div>
        {identity.note !== null && <p className="fs13 t2">{identity.note}</p>}
      </Panel>
    </div>
  )
}
