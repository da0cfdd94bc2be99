import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { findingKinds } from '#contract/findings/kinds.ts'
import { effects } from '#contract/incidents/effects.ts'
import type { Incident } from '#contract/incidents/incidents.ts'
import { CallError } from '../../api/client.ts'
import type { PageProps } from '../../api/page.ts'
import { pageOfFinding, remedyActions } from '../../layout/findings/remedies.ts'
import { incidentActions } from '../../layout/incidents/incident-actions.ts'
import { incidentQuery } from '../../layout/incidents/incident-queries.ts'
import { incidentSaid, lasted, lastedSaid, mended } from '../../layout/incidents/incident-text.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import css from './Incidents.module.css'

/** One incident: what it takes from people, what mends it, its story, and who has it. */
export function IncidentPage({ params: { id } }: PageProps<'/incidents/$id'>) {
  const answer = useQuery(incidentQuery(id))
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = answer
  if (error instanceof CallError && error.status === 404)
    return (
      <Empty
        title={error.message}
        text="It has ended long ago, or you may not read what it is about."
        actions={<ActionButton label="Incidents" to={paths.incidents()} kind="primary" />}
      />
    )
  if (data === undefined) return <Pending of={answer} rows={6} />
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Shown incident={data} />
    </>
  )
}

function Shown({ incident: i }: { incident: Incident }) {
  const { tone, word } = incidentSaid(i)
  const remedies = remedyActions(mended(i))
  const actions = useMemo(() => incidentActions(i), [i])
  useCommands(i.title, actions)
  const others = i.objects.filter(({ id }) => id !== i.object.id)
  return (
    <>
      <header className={css['head']}>
        <div className={css['line']}>
          <StatusDot tone={tone}>{word}</StatusDot>
          <time className="num" dateTime={i.since} title={exact(i.since)}>
            {lastedSaid(i)}
          </time>
          <span data-acts="">
            <Menu
              label={`Actions on ${i.title}`}
              items={actions}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </span>
        </div>
        <h1>{i.title}</h1>
        <p>{i.reason}</p>
      </header>
      <div className={css['cols']}>
        <div className={css['stack']}>
          <Panel title="Effect">
            <div className="stack stack3">
              <p className="fs13">{effects[i.effect].title}.</p>
              {i.worst && i.worst.reason !== i.reason && (
                <p className="fs13 t2">
                  <b>{findingKinds[i.worst.kind].title}:</b> {i.worst.reason}
                </p>
              )}
              <KeyValue
                rows={[
                  i.cluster && [
                    'Cluster',
                    <a key="c" href={paths.cluster(i.cluster.id)}>
                      {i.cluster.name}
                    </a>,
                  ],
                  i.datacenter && ['Datacenter', i.datacenter.code],
                ]}
              />
            </div>
          </Panel>
          {i.ended_at === null && (
            <Panel
              title="What to do"
              note={remedies.length > 1 && 'best first'}
              flush={remedies.length > 0}
            >
              {remedies.length === 0 ? (
                <p className="fs13 t2">
                  Steelyard knows no remedy. Its history may tell the cause.
                </p>
              ) : (
                <ol className={css['lines']}>
                  {remedies.map((action, n) => (
                    <li key={action.label}>
                      {remedies.length > 1 && <span className="num t3">{n + 1}</span>}
                      <ActionButton {...action} kind={n === 0 ? 'primary' : 'plain'} />
                    </li>
                  ))}
                </ol>
              )}
            </Panel>
          )}
          <Panel title="Affected" flush>
            <ul className={css['lines']}>
              {[i.object, ...others].map((object) => (
                <li key={object.id}>
                  <a className="strong" href={pageOfFinding({ object })}>
                    {object.name}
                  </a>
                  <span className="t3">{object.kind}</span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
        <div className={css['stack']}>
          <Story incident={i} />
          <Owner incident={i} />
        </div>
      </div>
    </>
  )
}

/** What happened, each step once. */
function Story({ incident: i }: { incident: Incident }) {
  const steps = i.story.length > 0 ? i.story : [{ at: i.since, text: 'It began.', by: null }]
  return (
    <Panel title="Story" flush>
      <ol className={css['story']}>
        {steps.map((step) => (
          <li key={`${step.at} ${step.text}`}>
            <time dateTime={step.at} title={exact(step.at)}>
              {moment(step.at)}
            </time>
            <i />
            <span>{step.by === null ? step.text : `${step.by}: ${step.text}`}</span>
          </li>
        ))}
        {i.ended_at !== null && (
          <li data-end="">
            <time dateTime={i.ended_at} title={exact(i.ended_at)}>
              {moment(i.ended_at)}
            </time>
            <i />
            <span>Recovered after {lasted(i)}.</span>
          </li>
        )}
      </ol>
    </Panel>
  )
}

const Owner = ({ incident: i }: { incident: Incident }) => {
  const [assign, note] = incidentActions(i)
  return (
    <Panel title="Owner and note">
      <div className={css['own']}>
        {i.assigned === null ? (
          <p>Nobody has it yet.</p>
        ) : (
          <p>
            <b>{i.assigned.to.name}</b> <span className="t3">since {moment(i.assigned.at)}</span>
          </p>
        )}
        {i.note !== null && <q>{i.note}</q>}
        <div className="row wrap">
          {i.ended_at === null && <ActionButton {...assign!} size="small" />}
          <ActionButton {...note!} size="small" kind="ghost" />
        </div>
      </div>
    </Panel>
  )
}
