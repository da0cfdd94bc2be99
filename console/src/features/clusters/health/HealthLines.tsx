import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type ClusterHealth, type HealthState, topicTitles } from '#contract/clusters/health.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Stale } from '../../../ui/feedback/States.tsx'
import { StatusDot, type Tone } from '../../../ui/feedback/Status.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { healthOf } from '../cluster-queries.ts'
import { healthActions } from './health-actions.ts'
import css from './Health.module.css'

const said: Readonly<Record<HealthState, { tone: Tone; word: string }>> = {
  ok: { tone: 'ok', word: 'OK' },
  note: { tone: 'idle', word: 'Note' },
  attention: { tone: 'warn', word: 'Attention' },
  problem: { tone: 'danger', word: 'Problem' },
  unknown: { tone: 'off', word: 'Unknown' },
}

/**
 * The health of a cluster, read every 15 s: a line per topic with its state, the reason and
 * actions.
 */
export default function HealthLines({ cluster, more }: { cluster: Cluster; more?: ReactNode }) {
  const answer = useQuery(healthOf(cluster.id))
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = answer
  const [asking, setAsking] = useState(false)
  const worst = data?.lines.find((line) => line.state === 'problem')
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
          {more}
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
        <ul className={css['lines']} aria-label={`Health of ${cluster.name}`}>
          {data.lines.map((line) => (
            <Line
              key={line.topic}
              line={line}
              isWorst={line === worst}
              cluster={cluster}
              health={data}
            />
          ))}
        </ul>
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
          {actions.map((action, i) => (
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
