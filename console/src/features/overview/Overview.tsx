import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { overviewGet, type Overview as Shape } from '#contract/overview.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { counted } from '#contract/words.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { CapacityBar, type Segment } from '../../ui/pictures/Meter.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot, type Tone } from '../../ui/feedback/Status.tsx'
import { CapacityPanel } from './CapacityPanel.tsx'
import { FirstSteps } from './FirstSteps.tsx'
import { LastDayPanel } from './LastDayPanel.tsx'
import css from './Overview.module.css'
import { sums, wordsShown } from './overview-sums.ts'
import { AttentionPanel } from './AttentionPanel.tsx'
import { FailuresPanel, RunningPanel, SubnetsPanel } from './OverviewPanels.tsx'

export const overviewQuery = () => query(overviewGet)

interface Key {
  tone: Tone
  word: string
  value: number
  to: string
}

interface ReadingProps {
  title: string
  value: string
  unit?: string
  to: string
  bar?: readonly Segment[]
  keys?: readonly Key[]
  more?: ReactNode
}

/**
 * A total, a bar with the parts of the total, and a link per part to the list of the counted
 * objects.
 */
function Reading({ title, value, unit, to, bar, keys, more }: ReadingProps) {
  return (
    <div className={css['reading']}>
      <a className={css['title']} href={to}>
        {title}
      </a>
      <div className={css['line']}>
        <a
          className={css['big']}
          href={to}
          aria-label={`${title}: ${value}${unit ? ` ${unit}` : ''}`}
        >
          {value}
          {unit !== undefined && <small> {unit}</small>}
        </a>
        {bar && <CapacityBar label={title} segments={bar} />}
      </div>
      <div className={css['keys']}>
        {keys?.map((k) => (
          <a key={k.word} href={k.to}>
            <StatusDot tone={k.tone} why={<b className="num">{count(k.value)}</b>}>
              {k.word}
            </StatusDot>
          </a>
        ))}
        {more}
      </div>
    </div>
  )
}

function Readings({ data }: { data: Shape }) {
  const { servers, clusters } = data
  const capacity = sums(data.capacity)
  const groups = wordsShown(clusters.by_word, paths.clusters())
  const states = wordsShown(servers.by_word, paths.servers())
  const unasked = servers.total - servers.reachable - servers.unreachable - servers.away
  return (
    <section className={css['readings']} aria-label="Fleet">
      <Reading
        title="Servers"
        value={count(servers.total)}
        to={paths.servers()}
        bar={states.map((g) => ({ label: g.word, value: g.value, tone: g.segment }))}
        keys={[
          ...states,
          ...(servers.unconfirmed > 0
            ? [
                {
                  tone: 'warn' as const,
                  word: 'To confirm',
                  value: servers.unconfirmed,
                  to: paths.servers({ confirmed: 'false' }),
                },
              ]
            : []),
        ]}
      />
      <Reading
        title="Contact"
        value={count(servers.reachable)}
        to={paths.servers({ reachable: 'true' })}
        bar={[
          { label: 'Answering', value: servers.reachable, tone: 'ok' },
          { label: 'Unreachable', value: servers.unreachable, tone: 'danger' },
          { label: 'Offline during an operation', value: servers.away, tone: 'info' },
          { label: 'Not contacted yet', value: unasked, tone: 'idle' },
        ]}
        keys={[
          {
            tone: 'ok',
            word: 'Answering',
            value: servers.reachable,
            to: paths.servers({ reachable: 'true' }),
          },
          {
            tone: servers.unreachable > 0 ? 'danger' : 'off',
            word: 'Unreachable',
            value: servers.unreachable,
            to: paths.servers({ reachable: 'false' }),
          },
          ...(servers.away > 0
            ? [
                {
                  tone: 'busy' as const,
                  word: 'Away',
                  value: servers.away,
                  to: paths.servers({ reachable: 'away' }),
                },
              ]
            : []),
        ]}
      />
      <Reading
        title="Clusters"
        value={count(clusters.total)}
        to={paths.clusters()}
        bar={groups.map((g) => ({ label: g.word, value: g.value, tone: g.segment }))}
        keys={groups}
      />
      <Reading
        title="Free capacity"
        value={count(capacity.compute_units.free)}
        unit="CU"
        to={paths.servers({ status: 'maintenance' })}
        more={
          <>
            <span className="num">{count(capacity.vcpu.free)} vCPU</span>
            <span className="num">{memory(capacity.memory_bytes.free)} RAM</span>
            <span className="num">{disk(capacity.disk_bytes.free)} disk</span>
            {capacity.unknown > 0 && (
              <span className="t3">
                {counted(capacity.unknown, 'server')} of unknown hardware left out
              </span>
            )}
          </>
        }
      />
    </section>
  )
}

/**
 * What exists, what needs attention, what happened, what runs and what is free. Every number links to
 * its list.
 */
export function Overview() {
  const { data, error, refetch, dataUpdatedAt } = useQuery(overviewQuery())
  if (data === undefined)
    return (
      <Panel flush>
        {error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={10} />
        )}
      </Panel>
    )
  // A fresh installation shows the first steps without empty panels.
  const isFresh = data.servers.total === 0
  /** A part that could not be read says so in its place. */
  function part<Part>(title: string, of: Part | null, show: (of: Part) => ReactNode): ReactNode {
    if (of !== null) return show(of)
    return (
      <Panel title={title} flush>
        <ErrorState error={new Error('It could not be read.')} onRetry={() => void refetch()} />
      </Panel>
    )
  }
  return (
    <>
      {error && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Readings data={data} />
      {!isFresh &&
        part('Needs attention', data.attention, (of) => <AttentionPanel attention={of} />)}
      <FirstSteps data={data} />
      {!isFresh && (
        <div className={css['grid']}>
          {part('Last 24 hours', data.last_day, (of) => (
            <LastDayPanel day={of} />
          ))}
          <div className={css['side']}>
            {part('Running', data.running, (of) => (
              <RunningPanel operations={of} />
            ))}
            {part('Last failures', data.failures, (of) => (
              <FailuresPanel operations={of} />
            ))}
          </div>
        </div>
      )}
      <div className={css['grid']}>
        {!(isFresh && data.capacity.length === 0) && <CapacityPanel capacity={data.capacity} />}
        {!isFresh && part('Fullest subnets', data.subnets, (of) => <SubnetsPanel subnets={of} />)}
      </div>
    </>
  )
}
