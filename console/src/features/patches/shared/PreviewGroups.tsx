/** What a shared patch would change, grouped by likeness. */
import type { ReactNode } from 'react'
import type { SharedPatchPreview } from '#contract/shared-patches/shared-patches.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../../lib/paths.ts'
import { Alert, Badge } from '../../../ui/feedback/Status.tsx'
import { unrecorded } from '../../../ui/text/unrecorded.ts'
import css from './Shared.module.css'
import { capital } from '../../../lib/text.ts'

const effects = {
  no_reboot: { word: 'No reboot', tone: 'ok' },
  reboot: { word: 'Reboot', tone: 'warn' },
  at_install: { word: 'Applied at install', tone: 'info' },
} as const

/** Names that are shown before the rest is folded. */
const shownFirst = 4

type Named = SharedPatchPreview['refused'][number]['server']

/** Links to servers; all but the first are folded. */
function ServerLinks({ servers }: { servers: readonly Named[] }) {
  const links = (some: readonly Named[]): ReactNode =>
    some.map(({ id, name }, i) => (
      <span key={id}>
        {i > 0 && ', '}
        <a href={paths.server(id)}>{name}</a>
      </span>
    ))
  const rest = servers.slice(shownFirst)
  return (
    <div className={css['names']}>
      {links(servers.slice(0, shownFirst))}
      {rest.length > 0 && (
        <details>
          <summary>and {rest.length} more</summary>
          {links(rest)}
        </details>
      )}
    </div>
  )
}

const kindOfLine = (line: string): string | undefined =>
  line.startsWith('+') ? css['add'] : line.startsWith('-') ? css['remove'] : undefined

export const Lines = ({ label, lines }: { label: string; lines: readonly string[] }) => (
  <pre className={css['lines']} tabIndex={0} aria-label={label} {...unrecorded}>
    {lines.map((line, i) => (
      <span key={i} className={kindOfLine(line)}>
        {line === '' ? ' ' : line}
      </span>
    ))}
  </pre>
)

/** Refusals with the same reason, once the name of the server is taken out of it. */
export const sameReasons = (
  refused: SharedPatchPreview['refused'],
): { reason: string; servers: Named[]; isForNow: boolean }[] =>
  [
    ...Map.groupBy(
      refused,
      ({ server, reason, for_now = false }) => `${for_now} ${reason.replaceAll(server.name, '\0')}`,
    ).values(),
  ].map((same) => ({
    reason:
      same.length === 1
        ? same[0]!.reason
        : capital(same[0]!.reason.replaceAll(same[0]!.server.name, 'it')),
    servers: same.map(({ server }) => server),
    isForNow: same[0]!.for_now === true,
  }))

export function PreviewGroups({ preview }: { preview: SharedPatchPreview }) {
  const { groups, refused, unchanged, losses } = preview
  if (preview.servers === 0)
    return (
      <p className="fs13 t2">
        The patch is for no server yet, so it changes nothing. Choose labels, clusters, roles or
        servers.
      </p>
    )
  return (
    <ul className={css['groups']} aria-label="What changes, by likeness">
      {sameReasons(refused).map(({ reason, servers, isForNow }) => (
        <li key={reason}>
          <div className={css['head']}>
            <b>{counted(servers.length, 'server')}</b>
            {isForNow ? (
              <Badge tone="warn">A roll-out waits</Badge>
            ) : (
              <Badge tone="danger" icon="error">
                Refused
              </Badge>
            )}
          </div>
          <p className={css['reason']}>{reason}</p>
          <ServerLinks servers={servers} />
        </li>
      ))}
      {losses.length > 0 && (
        <li>
          {losses.map(({ reason }) => (
            <Alert key={reason} tone="warn">
              {reason}
            </Alert>
          ))}
        </li>
      )}
      {groups.map(({ servers, lines, effect, warnings }, i) => (
        <li key={i}>
          <div className={css['head']}>
            <b>{counted(servers.length, 'server')}</b>
            <Badge tone={effects[effect].tone}>{effects[effect].word}</Badge>
            <span className="t3">{counted(changedLines(lines), 'line')}</span>
          </div>
          <ServerLinks servers={servers} />
          {warnings.map((warning) => (
            <p key={warning} className={css['reason']}>
              {warning}
            </p>
          ))}
          <Lines label={`Difference of ${servers[0]?.name ?? 'no server'}`} lines={lines} />
        </li>
      ))}
      {unchanged > 0 && (
        <li>
          <b>{counted(unchanged, 'server')}</b> <span className="t2">no difference</span>
        </li>
      )}
    </ul>
  )
}

const changedLines = (lines: readonly string[]): number =>
  lines.filter((line) => /^[+-]/.test(line)).length
