import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { clusterPreview } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import type { Server } from '#contract/servers/servers.ts'
import { IconButton } from '../../../ui/inputs/Button.tsx'
import { useCopy } from '../../../ui/text/Copyable.tsx'
import { YamlText } from '../../../ui/text/YamlText.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, Badge } from '../../../ui/feedback/Status.tsx'
import { chosenDisks } from './wiped.ts'
import type { Draft } from './draft.ts'
import css from './Steps.module.css'
import { DisksToWipe } from './DisksToWipe.tsx'
import { findingsOf } from './preview.ts'

// They belong to the last step, and load with it.
export { create } from './creating.ts'
export { ReviewCommand } from './ReviewCommand.tsx'

type StepReviewProps = {
  draft: Draft
  preview: UseQueryResult<Answer<typeof clusterPreview>>
  servers: readonly Server[]
} & Pick<Parameters<typeof DisksToWipe>[0], 'ticked' | 'onTick'>

/**
 * The last step: the configuration of each server, problems and warnings, and the steps of the
 * creation in order.
 */
export function StepReview({ draft, preview, servers, ticked, onTick }: StepReviewProps) {
  const { data, error, refetch } = preview
  const [chosen, setChosen] = useState<string | null>(null)
  const { copied, copy } = useCopy()
  if (data === undefined)
    return error ? (
      <ErrorState boxed error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={10} />
    )
  const current = data.servers.find((s) => s.node_id === chosen) ?? data.servers[0]
  const roleOf = (id: string) =>
    draft.servers[id]?.role === 'control_plane' ? 'Control plane' : 'Worker'
  const { errors, warnings } = findingsOf(data)
  return (
    <div className={css['review']}>
      {errors.length > 0 && (
        <Alert tone="danger" className={css['errors'] ?? ''}>
          <b>The cluster can't be created with these settings.</b>
          <ul>
            {errors.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </Alert>
      )}
      <DisksToWipe chosen={chosenDisks(draft, servers)} ticked={ticked} onTick={onTick} />
      <Panel
        className={css['picker']}
        title="Servers"
        note={<span className="num">{servers.length > 0 ? data.servers.length : ''}</span>}
        flush
      >
        <ul className={css['pick']}>
          {data.servers.map((s) => (
            <li key={s.node_id}>
              <button
                type="button"
                aria-pressed={s.node_id === current?.node_id}
                onClick={() => setChosen(s.node_id)}
              >
                <span className="grow">
                  <b>{s.name}</b>
                  <span className="t3 fs12">{roleOf(s.node_id)}</span>
                </span>
                {s.warnings.length > 0 && <Icon name="alert" className="c-warn" />}
              </button>
            </li>
          ))}
        </ul>
      </Panel>
      {current && (
        <Panel
          title={`Full configuration of ${current.name}`}
          note="secrets masked"
          actions={
            <IconButton
              icon={copied ? 'check' : 'copy'}
              label={copied ? 'Copied' : 'Copy configuration'}
              onClick={() => copy(current.config)}
            />
          }
          flush
        >
          <YamlText
            className={css['config']}
            lineClassName={css['codeline']}
            text={current.config}
            label={`Configuration of ${current.name}`}
          />
        </Panel>
      )}
      <div className={css['side']}>
        <Panel
          title="Warnings"
          note={warnings.length > 0 && <Badge tone="warn">{warnings.length}</Badge>}
        >
          {warnings.length === 0 ? (
            <p className="fs13 t2">
              {errors.length === 0 ? 'None. Every check passed.' : 'None besides the errors.'}
            </p>
          ) : (
            <ul className={css['checks']}>
              {warnings.map((sentence) => (
                <li key={sentence} className="c-warn">
                  <Icon name="alert" />
                  <span className="t1">{sentence}</span>
                </li>
              ))}
            </ul>
          )}
        </Panel>
        <Panel title="What will happen" note={`${data.steps.length} steps`}>
          <ol className={css['plan']} tabIndex={0} aria-label="Plan">
            {data.steps.map((s) => (
              <li key={s.key}>{s.title}</li>
            ))}
          </ol>
        </Panel>
      </div>
    </div>
  )
}
