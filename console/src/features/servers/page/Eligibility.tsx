import type { Server } from '#contract/servers/servers.ts'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Badge } from '../../../ui/feedback/Status.tsx'
import css from './ServerPage.module.css'
import { checkTitle } from '../server-state.ts'

/** The eligibility checks with their results, and what to do about failed ones. */
export function EligibilityPanel({ server }: { server: Server }) {
  if (server.status === 'deleted' || server.eligibility.length === 0) return null
  const passed = server.eligibility.filter((e) => e.ok).length
  const all = server.eligibility.length
  // The checks are meaningless for a server in a cluster.
  if (server.cluster !== null) return null
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
                <span className="sr">{e.ok ? ': holds' : ': does not hold'}</span>
              </span>
              {!e.ok && e.reason !== null && <p>{e.reason}</p>}
            </li>
          ))}
      </ul>
    </Panel>
  )
}
