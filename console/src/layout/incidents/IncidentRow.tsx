import type { Incident } from '#contract/incidents/incidents.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { remedyActions } from '../findings/remedies.ts'
import { assignToMe, incidentActions } from './incident-actions.ts'
import { incidentSaid, lasted, mended } from './incident-text.ts'
import css from './IncidentRow.module.css'

/**
 * An incident as a row: what has happened and why, who has it, since when, and one remedy. What only
 * needs attention has one line. `primary`: its remedy is the primary button of the page.
 */
export function IncidentRow({
  incident: i,
  primary = false,
}: {
  incident: Incident
  primary?: boolean
}) {
  const { tone, word } = incidentSaid(i)
  const [remedy, ...others] = remedyActions(mended(i))
  const assign = assignToMe(i)
  const label = `Actions on ${i.title}`
  const isShort = i.severity === 'attention'
  return (
    <li className={css['row']} data-short={isShort || undefined}>
      <span className={css['mark']}>
        <StatusDot tone={tone}>{word}</StatusDot>
      </span>
      <div className={css['what']}>
        <a className={css['title']} href={paths.incident(i.id)}>
          {i.title}
        </a>
        {!isShort && <p>{i.reason}</p>}
      </div>
      {!isShort && (
        <div className={css['who']}>
          {i.assigned === null ? (
            <>
              <span className="t3">Nobody yet</span>
              {assign.can?.ok !== false && (
                <button type="button" className={css['take']} onClick={() => void assign.run?.()}>
                  {assign.label}
                </button>
              )}
            </>
          ) : (
            <>
              <span>{i.assigned.to.name}</span>
              <small>since {moment(i.assigned.at)}</small>
            </>
          )}
        </div>
      )}
      <time className={css['since']} dateTime={i.since} title={exact(i.since)}>
        since {moment(i.since)}
        {!isShort && <small>{lasted(i)}</small>}
      </time>
      <span className={css['remedy']}>
        {remedy && <ActionButton {...remedy} kind={primary ? 'primary' : 'plain'} />}
      </span>
      <Menu
        label={label}
        trigger={<IconButton icon="more" label={label} />}
        items={() => [...others, ...incidentActions(i)]}
      />
    </li>
  )
}
