import type { Attention, Overview } from '#contract/overview.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time.ts'
import { count } from '../../lib/units.ts'
import { Panel } from '../../ui/text/Panel.tsx'
import { Badge, StatusDot, type Tone } from '../../ui/feedback/Status.tsx'
import css from './Overview.module.css'

const said: Readonly<Record<Attention['kind'], { tone: Tone; word: string; to: (id: string) => string }>> = {
  cluster_failed: { tone: 'danger', word: 'Failed', to: (id) => paths.cluster(id) },
  cluster_locked_out: { tone: 'danger', word: 'Locked out', to: (id) => paths.cluster(id) },
  cluster_degraded: { tone: 'warn', word: 'Degraded', to: (id) => paths.cluster(id) },
  cluster_troubled: { tone: 'warn', word: 'Stuck', to: (id) => paths.cluster(id) },
  server_unreachable: { tone: 'danger', word: 'Unreachable', to: (id) => paths.server(id) },
  server_drifted: { tone: 'warn', word: 'Changed', to: (id) => paths.server(id) },
  server_not_ready: { tone: 'danger', word: 'NotReady', to: (id) => paths.server(id) },
}

/** What needs attention now. Nothing if all is well. */
export function AttentionPanel({ attention: { total, items } }: { attention: Overview['attention'] }) {
  if (total === 0) return null
  const more = total - items.length
  return (
    <Panel
      className={css['first']}
      title="Needs attention"
      note={<Badge tone="danger">{count(total)}</Badge>}
      flush
      actions={more > 0 && <a href={paths.servers({ reachable: 'false' })}>{count(more)} more</a>}
    >
      <ul className={css['attention']}>
        {items.map((item) => {
          const { tone, word, to } = said[item.kind]
          return (
            <li key={`${item.kind} ${item.id}`}>
              <StatusDot tone={tone}>{word}</StatusDot>
              <a className="strong" href={to(item.id)}>
                {item.name}
              </a>
              <p>{item.reason ?? 'No reason was given'}</p>
              {item.since !== null && (
                <time className="t3 num" dateTime={item.since} title={exact(item.since)}>
                  since {moment(item.since)}
                </time>
              )}
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
