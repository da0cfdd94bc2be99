import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type ClusterHealth, type HealthState, topicTitles } from '#contract/clusters/health.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Stale } from '../../../ui/feedback/States.tsx'
import { StatusDot, type Tone } from '../../../ui/feedback/Status.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { healthOf } from '../cluster-queries.ts'
import { healthActions } from './health-actions.ts'
import css from './Health.module.css'

const said: Readonly<Record<HealthState, { tone: Tone; word: string }>> = {
  ok: { tone: 'ok', word: 'OK' },
  note: { tone: 'idle', word: 'Note' },
  attention: { tone: 'attention', word: 'Attention' },
  problem: { tone: 'danger', word: 'Problem' },
  unknown: { tone: 'off', word: 'Unknown' },
}

/** "6 more are OK: etcd, certificates, clocks". */
const wellSaid = (well: ClusterHealth['lines'], hasOthers: boolean): string => {
  const names = well.map(({ topic }) => topicTitles[topic]).join(', ')
  const verb = well.length === 1 ? 'is' : 'are'
  return `${well.length} ${hasOthers ? 'more ' : ''}${verb} OK: ${names}`
}

/**
 * The health of a cluster, read every 15 s: a line per topic that is not OK, with the reason and
 * what mends it, and one folded line for those that are.
 */
export default function HealthLines({
  cluster,
  quiet = false,
}: {
  cluster: Cluster
  /** The primary button of the page is elsewhere. */
  quiet?: boolean
}) {
  const answer = useQuery(healthOf(cluster.id))
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = answer
  const [asking, setAsking] = useState(false)
  const [isWhole, setWhole] = useState(false)
  const [open, well] = [
    (data?.lines ?? []).filter((line) => line.state !== 'ok'),
    (data?.lines ?? []).filter((line) => line.state === 'ok'),
  ]
  const worst = quiet ? undefined : data?.lines.find((line) => line.state === 'problem')
  const askAgain = async () => {
    setAsking(true)
    await refetch()
    setAsking(false)
  }
  return (
    <Panel
      title="Health"
      note={
        data && (
          <>
            asked <Time at={data.at} />
          </>
        )
      }
      actions={
        <>
          <Button
            size="small"
            kind="ghost"
            icon="refresh"
            busy={asking}
            busyText="Asking"
            onClick={() => void askAgain()}
          >
            Ask again
          </Button>
        </>
      }
      flush
    >
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        <Pending of={answer} boxed={false} rows={7} widths={[120, 420]} />
      ) : (
        <>
          <ul className={css['lines']} aria-label={`Health of ${cluster.name}`}>
            {open.map((line) => (
              <Line
                key={line.topic}
                line={line}
                isWorst={line === worst}
                cluster={cluster}
                health={data}
              />
            ))}
            {isWhole &&
              well.map((line) => (
                <Line
                  key={line.topic}
                  line={line}
                  isWorst={false}
                  cluster={cluster}
                  health={data}
                />
              ))}
          </ul>
          {well.length > 0 && (
            <button
              type="button"
              className={css['fold']}
              aria-expanded={isWhole}
              onClick={() => setWhole(!isWhole)}
            >
              <Icon name="check" />
              <span className="grow">{wellSaid(well, open.length > 0)}</span>
              <Icon name={isWhole ? 'chevron-up' : 'chevron-down'} />
            </button>
          )}
        </>
      )}
    </Panel>
  )
}

interface LineProps {
  line: ClusterHealth['lines'][number]
  /** Its first action is the primary one of the page. */
  isWorst: boolean
  cluster: Cluster
  health: ClusterHealth
}

function Line({ line, isWorst, cluster, health }: LineProps) {
  const { topic, state, message } = line
  const { tone, word } = said[state]
  const actions = healthActions(cluster, health, line)
  return (
    <li>
      <span className={css['topic']}>{topicTitles[topic]}</span>
      <span className={css['state']}>
        <StatusDot tone={tone}>{word}</StatusDot>
      </span>
      <span className={css['message']}>{message}</span>
      {actions.length > 0 && (
        <span className={css['actions']}>
          {actions.slice(0, 1).map((action, i) => (
            <ActionButton
              key={action.label}
              {...action}
              size="small"
              {...(isWorst && i === 0 && { kind: 'primary' as const })}
            />
          ))}
        </span>
      )}
    </li>
  )
}
