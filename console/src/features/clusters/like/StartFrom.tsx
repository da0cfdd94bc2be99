import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'
import { subnetList } from '#contract/network/subnets.ts'
import { storeList } from '#contract/storage/stores.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { CallError } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import type { Draft, Taken } from '../create/draft.ts'
import { serverParts } from '../templates/template-said.ts'
import css from './Like.module.css'
import { filledFrom, type Start, versionsOf } from './start.ts'
import { takenOver, type TakenPart } from './taken.ts'
import { type Source, useStart } from './use-start.ts'

interface StartFromProps {
  source: Source
  /** The step that is shown. */
  step: 'cluster' | 'servers' | 'review'
  draft: Draft
  change: (to: Partial<Draft>) => void
  versions: readonly OfferedTalos[]
  datacenters: readonly { readonly id: string }[]
  /** Called with what the cluster takes over. */
  onTaken: (taken: Taken) => void
}

const Without = (): ReactNode => (
  <ActionButton label="Start without a template" size="small" to={paths.createCluster()} />
)

/** Fills the form of a new cluster from a template or another cluster, and says what from where. */
export function StartFrom({ source, ...more }: StartFromProps) {
  const answer = useStart(source)
  const { data, error } = answer
  if (data !== undefined) return <Started start={data} {...more} />
  if (error instanceof CallError && error.status === 404)
    return (
      <Empty
        boxed
        title={source.template === undefined ? 'The cluster is gone' : 'The template is gone'}
        text={
          source.template === undefined
            ? 'A new cluster can be like a cluster that exists, or be made from a template.'
            : 'It was deleted. Clusters that were made from it stay as they are.'
        }
        actions={
          <>
            <ActionButton label="Templates" kind="primary" to={paths.templates()} />
            <Without />
          </>
        }
      />
    )
  return (
    <div className="stack stack3">
      <p className="t2 fs13">
        {source.template === undefined
          ? 'Reading the cluster and its servers'
          : 'Reading the template'}
      </p>
      <Pending of={answer} rows={4} />
      {error ? <Without /> : null}
    </div>
  )
}

function Started({
  start,
  step,
  draft,
  change,
  versions,
  datacenters,
  onTaken,
}: Omit<StartFromProps, 'source'> & { start: Start }) {
  const { id, template } = start
  const isFilled = draft.from === id
  useEffect(() => {
    if (!isFilled) change(filledFrom(start, versions, datacenters))
  }, [isFilled, start, versions, datacenters, change])
  const { datacenterId, leftOut } = draft
  const stores = useQuery({
    ...query(storeList, { query: { per_page: 1000 } }),
    enabled: template.snapshots !== null,
  })
  const subnets = useQuery({
    ...query(subnetList, {
      query: { datacenter: datacenterId, purpose: 'workload', per_page: 1000 },
    }),
    enabled: template.subnets.length > 0 && datacenterId !== '',
  })
  const failed = stores.error ?? subnets.error
  const { parts, body, can } = useMemo(
    () =>
      takenOver(template, leftOut, {
        stores: stores.data?.items,
        subnets: datacenterId === '' ? undefined : subnets.data?.items,
      }),
    [template, leftOut, datacenterId, stores.data, subnets.data],
  )
  useEffect(() => onTaken({ body, can }), [body, can, onTaken])
  if (step === 'servers') return null
  const title = start.of === 'template' ? `From the template ${start.name}` : `Like ${start.name}`
  const settings = (
    <>
      <Parts parts={parts} leftOut={leftOut} change={change} />
      <Problem text={failed && reasonOf(failed)} />
    </>
  )
  if (step === 'review')
    return (
      parts.length > 0 && (
        <Panel title={title} className={css['start']}>
          {settings}
        </Panel>
      )
    )
  const { gone } = versionsOf(template, versions)
  return (
    <Panel title={title} actions={<Without />} className={css['start']}>
      <div className="stack stack3">
        <p className="fs13 t2">
          Versions, networks, patches and the choice of servers are taken over. Name{' '}
          {template.virtual_ip ? 'and virtual IP' : 'and endpoint'} stay open, because no two
          clusters share them.
        </p>
        {gone.map((sentence) => (
          <Alert key={sentence} tone="warn">
            {sentence}
          </Alert>
        ))}
        <div className={css['halves']}>
          <section className="stack stack2">
            <h3 className="label">Choice of servers</h3>
            <KeyValue rows={serverParts(template)} />
          </section>
          {parts.length > 0 && (
            <section className="stack stack2">
              <h3 className="label">The cluster gets</h3>
              {settings}
            </section>
          )}
        </div>
        {start.leftOut.length > 0 && (
          <section className="stack stack2">
            <h3 className="label">Not taken over</h3>
            <ul className={css['sentences']}>
              {start.leftOut.map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Panel>
  )
}

const ways: Partial<
  Record<TakenPart['part'], { label: string; to: ReturnType<typeof paths.stores> }>
> = {
  snapshots: { label: 'Stores', to: paths.stores() },
  subnets: { label: 'Subnets', to: paths.network() },
}

/** What the cluster has from its first moment; each part can be left out. */
function Parts({
  parts,
  leftOut,
  change,
}: { parts: readonly TakenPart[]; leftOut: readonly string[] } & Pick<StartFromProps, 'change'>) {
  return (
    <ul className={css['taken']}>
      {parts.map(({ part, said, isTaken, problem }) => {
        const way = ways[part]
        return (
          <li key={part}>
            <Checkbox
              label={said}
              checked={isTaken}
              onChange={(to) =>
                change({
                  leftOut: to ? leftOut.filter((one) => one !== part) : [...leftOut, part],
                })
              }
            />
            {problem !== null && (
              <Alert tone="danger" action={way && <ActionButton {...way} size="small" />}>
                {problem}.
              </Alert>
            )}
          </li>
        )
      })}
    </ul>
  )
}
