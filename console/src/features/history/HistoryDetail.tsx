import { useQuery } from '@tanstack/react-query'
import { type HistoryEntry, historyGet } from '#contract/history/history.ts'
import { historyKinds } from '#contract/history/kinds.ts'
import { kindTitles } from '#contract/operations.ts'
import { query } from '../../api/query.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { exact } from '../../lib/time/time.ts'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { CopyButton } from '../../ui/text/Copyable.tsx'
import { KeyValue } from '../../ui/text/Panel.tsx'
import { pageOf, whoSaid } from './history-entry.ts'
import css from './History.module.css'

/** Everything that an entry records. */
export function HistoryDetail({ entry: e }: { entry: HistoryEntry }) {
  return (
    <div className={css['detail']}>
      <KeyValue
        rows={[
          ['What', e.message],
          ['Kind', historyKinds[e.kind].title],
          ['Time', exact(e.at)],
          ['Who', whoSaid(e)],
          !e.simulated && ['Then', <a href={`/?at=${e.at}`}>See the fleet then</a>],
          e.simulated && ['Simulated', 'It did not happen: the simulation of the demo made it up'],
          ['Of', <a href={pageOf(e)}>{e.object.name}</a>],
          e.cluster !== null &&
            e.cluster.id !== e.object.id && [
              'Cluster',
              <a href={paths.cluster(e.cluster.id)}>{e.cluster.name}</a>,
            ],
          e.operation !== null && [
            'Operation',
            e.operation.kind === null ? (
              'No longer kept'
            ) : (
              <a href={paths.operation(e.operation.id)}>{kindTitles[e.operation.kind]}</a>
            ),
          ],
        ]}
      />
      {e.has_log ? (
        <Log id={e.id} />
      ) : (
        <div className="stack stack3">
          <Fields title="Before" of={e.before} />
          <Fields title="After" of={e.after} />
        </div>
      )}
    </div>
  )
}

function Fields({ title, of }: { title: string; of: Readonly<Record<string, unknown>> }) {
  if (Object.keys(of).length === 0) return null
  return (
    <section className="stack stack2" aria-label={title}>
      <h2 className="label">{title}</h2>
      <pre className={css['text']} tabIndex={0} aria-label={title}>
        {JSON.stringify(of, null, 2)}
      </pre>
    </section>
  )
}

/** The failure is at the end of the log. */
const atItsEnd = (log: HTMLElement | null): void => {
  if (log) log.scrollTop = log.scrollHeight
}

/** The last lines of the log of a server that failed. */
function Log({ id }: { id: number }) {
  const { data, error, refetch } = useQuery(query(historyGet, { params: { id } }))
  if (data === undefined)
    return error ? (
      <ErrorState error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={4} />
    )
  const lines = data.log ?? []
  const title = `Last ${counted(lines.length, 'line')} of its log`
  return (
    <section className="stack stack2" aria-label={title}>
      <div className="row">
        <h2 className="label">{title}</h2>
        <CopyButton text={lines.join('\n')} />
      </div>
      <pre className={css['text']} tabIndex={0} aria-label={title} ref={atItsEnd}>
        {lines.join('\n')}
      </pre>
    </section>
  )
}
