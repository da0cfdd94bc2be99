import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { storeList } from '#contract/storage/stores.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { CallError } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import type { Draft } from '../create/draft.ts'
import { serverParts } from '../templates/template-said.ts'
import css from './Like.module.css'
import { partsOf, type Rest } from './rest.ts'
import { filledFrom, type Start, versionsOf } from './start.ts'
import { type Source, useStart } from './use-start.ts'

interface StartFromProps {
  source: Source
  /** The step that is shown. */
  step: 'cluster' | 'servers' | 'review'
  draft: Draft
  change: (to: Partial<Draft>) => void
  versions: readonly OfferedTalos[]
  datacenters: readonly { readonly id: string }[]
  /** Called with what the cluster gets after its creation. */
  onRest: (rest: Rest) => void
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
  onRest,
}: Omit<StartFromProps, 'source'> & { start: Start }) {
  const { id, template } = start
  const isFilled = draft.from === id
  useEffect(() => {
    if (!isFilled) change(filledFrom(start, versions, datacenters))
  }, [isFilled, start, versions, datacenters, change])
  useEffect(() => onRest(template), [template, onRest])
  if (step === 'servers') return null
  const after = partsOf(template)
  if (step === 'review')
    return (
      after.length > 0 && (
        <Panel title="After the creation">
          <After parts={after} store={template.snapshots?.store} />
        </Panel>
      )
    )
  const { gone } = versionsOf(template, versions)
  return (
    <Panel
      title={start.of === 'template' ? `From the template ${start.name}` : `Like ${start.name}`}
      actions={<Without />}
      className={css['start']}
    >
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
          {after.length > 0 && (
            <section className="stack stack2">
              <h3 className="label">After the creation</h3>
              <After parts={after} store={template.snapshots?.store} />
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

/** What the cluster gets after its creation, and when. `store`: name of the store of snapshots. */
function After({ parts, store }: { parts: ReturnType<typeof partsOf>; store: string | undefined }) {
  const stores = useQuery({
    ...query(storeList, { query: { per_page: 1000 } }),
    enabled: store !== undefined,
  })
  const isGone = stores.data?.items.every(({ name }) => name !== store) === true
  const isAtOnce = (part: string) => part === 'labels' || (part === 'snapshots' && !isGone)
  const whenOf = (part: string) => {
    if (isAtOnce(part)) return 'set at once'
    return `once the cluster is ready${part === 'extensions' ? ', on servers whose image differs' : ''}`
  }
  return (
    <div className="stack stack2">
      <ul className={css['sentences']}>
        {parts.map(({ part, said }) => (
          <li key={part}>
            {said} <span className="t3">{whenOf(part)}</span>
          </li>
        ))}
      </ul>
      {isGone && (
        <Alert
          tone="warn"
          action={<ActionButton label="Stores" size="small" to={paths.stores()} />}
        >
          The store {store} is gone. Add a store of this name, or set another schedule on the page
          of the new cluster.
        </Alert>
      )}
      {parts.some(({ part }) => !isAtOnce(part)) && (
        <p className="fs13 t2">
          The page of the new cluster, in this browser, names what remains, with the way to it.
        </p>
      )}
    </div>
  )
}
