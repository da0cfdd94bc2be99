import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { clusterSubnetsAssign, type Subnet } from '#contract/network/subnets.ts'
import { no } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { everyCluster } from '../../../api/every.ts'
import { call } from '../../../api/client.ts'
import type { PageProps } from '../../../api/page.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { sentence } from '../../../lib/text.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Site } from '../../../ui/pictures/Flag.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Empty, ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import { Stepper } from '../../../ui/feedback/Stepper.tsx'
import {
  canChoose,
  canReview,
  type Choice,
  choiceOf,
  idsOf,
  sameWish,
  type StepId,
  steps,
  textOfIds,
} from './assign-choice.ts'
import frame from '../../../layout/steps.module.css'
import css from './AssignSubnets.module.css'
import { AssignOperation } from './AssignOperation.tsx'
import { AssignReview } from './AssignReview.tsx'
import { subnetsByIds, subnetsOf } from '../network-queries.ts'
import { type Entry, TwoLists } from './TwoLists.tsx'
import { subnetSaid, usedText } from '../subnet-state.ts'

/**
 * Assigns subnets to a cluster: choice, review, progress. All choices are in the URL, so a reload
 * keeps them.
 */
export function AssignSubnets({
  search,
  setSearch,
}: Pick<PageProps<'/infra/network/assign-subnets'>, 'search' | 'setSearch'>) {
  const clusters = useQuery(everyCluster)
  const head = useRef<HTMLDivElement>(null)
  const [add, remove] = useMemo(() => [idsOf(search.subnets), idsOf(search.remove)], [search])
  // Keeps the lists and their focus while the moved subnets load.
  const given = useQuery({ ...subnetsByIds(add), placeholderData: keepPreviousData })
  const cluster = clusters.data?.items.find(
    (c) => c.id === search.cluster || c.name === search.cluster,
  )
  const subnets = useQuery({
    ...subnetsOf(cluster?.datacenter.code ?? ''),
    enabled: cluster !== undefined,
  })
  const choice = useMemo(
    () => (cluster && subnets.data ? choiceOf(cluster, subnets.data, add, remove) : null),
    [cluster, subnets.data, add, remove],
  )
  const wantedStep = steps.find((s) => s.id === search.step)?.id ?? 'cluster'
  const step: StepId =
    cluster === undefined
      ? 'cluster'
      : wantedStep === 'review' && choice !== null && !canReview(choice).ok
        ? 'subnets'
        : wantedStep

  // After a change of step, and when the operation starts, the focus goes to the top, also for
  // screen readers.
  const at = search.operation === undefined ? step : 'operation'
  const last = useRef<string>(at)
  useEffect(() => {
    if (last.current !== at) head.current?.focus()
    last.current = at
  }, [at])

  // Wait until the chosen subnets have loaded: which clusters can be chosen depends on them.
  if (clusters.data === undefined || given.data === undefined)
    return <Pending of={clusters.data === undefined ? clusters : given} />
  if (search.operation !== undefined && cluster !== undefined)
    return (
      <div
        ref={head}
        tabIndex={-1}
        role="group"
        aria-label={`Subnets of ${cluster.name} are changed`}
      >
        <AssignOperation
          id={search.operation}
          cluster={cluster}
          onMore={() => setSearch({ operation: undefined, step: 'subnets' }, { push: true })}
        />
      </div>
    )
  // The request replaces the whole list of subnets, so the list is read again. The version is read
  // first, so it is never newer than the list.
  const versionOf = async (of: Cluster, reviewed: Choice): Promise<number | null> => {
    const { version } = await call(clusterGet, { params: { id: of.id } })
    const { data } = await subnets.refetch({ throwOnError: true })
    return data !== undefined && sameWish(reviewed, choiceOf(of, data, add, remove))
      ? version
      : null
  }
  const go = (to: StepId) => setSearch({ step: to === 'cluster' ? undefined : to }, { push: true })
  const found = given.data
  const gone = given.isPlaceholderData ? 0 : add.length - found.length
  return (
    <div className={frame['page']}>
      <h1 className="sr">Assign subnets</h1>
      <div
        className={frame['steps']}
        ref={head}
        tabIndex={-1}
        role="group"
        aria-label={stepLabel(step)}
      >
        <Stepper steps={steps} current={step} onGo={(id) => go(id as StepId)} />
        {cluster !== undefined && step !== 'cluster' && (
          <span className="t2 fs13 right hide-sm">
            {cluster.name}, {cluster.datacenter.code}
          </span>
        )}
      </div>
      {gone > 0 && (
        <Alert tone="warn">
          {counted(gone, 'chosen subnet')} {gone === 1 ? 'does' : 'do'} not exist any more, and{' '}
          {gone === 1 ? 'is' : 'are'} left out.
        </Alert>
      )}
      {step === 'cluster' && (
        <ChooseCluster
          clusters={clusters.data.items}
          given={found}
          chosen={cluster?.id}
          onChoose={(id) => setSearch({ cluster: id, remove: undefined })}
        />
      )}
      {step === 'subnets' && cluster !== undefined && (
        <ChooseSubnets
          cluster={cluster}
          choice={choice}
          error={subnets.error}
          onRetry={() => void subnets.refetch()}
          onAdd={(ids) =>
            setSearch({
              subnets: textOfIds([...add, ...ids]),
              remove: textOfIds(remove.filter((id) => !ids.includes(id))),
            })
          }
          onRemove={(ids) => {
            const fresh = new Set(ids.filter((id) => add.includes(id)))
            setSearch({
              subnets: textOfIds(add.filter((id) => !fresh.has(id))),
              remove: textOfIds([...remove, ...ids.filter((id) => !fresh.has(id))]),
            })
          }}
        />
      )}
      {step === 'review' && cluster !== undefined && choice !== null && (
        <AssignReview
          cluster={cluster}
          choice={choice}
          versionOf={() => versionOf(cluster, choice)}
          onBack={() => go('subnets')}
          onBegun={(operation) =>
            setSearch(
              {
                cluster: cluster.id,
                operation,
                step: undefined,
                subnets: undefined,
                remove: undefined,
              },
              { push: true },
            )
          }
          onRefused={() => void subnets.refetch()}
        />
      )}
      {step === 'review' &&
        choice === null &&
        (subnets.error ? (
          <ErrorState boxed error={subnets.error} onRetry={() => void subnets.refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        ))}
      {step !== 'review' && (
        <div className={frame['foot']}>
          {step !== 'cluster' && <ActionButton label="Back" run={() => go('cluster')} />}
          <span className="t3 fs13 hide-sm" aria-live="polite">
            {summary(choice, step)}
          </span>
          <span className="row right">
            <ActionButton
              label={step === 'cluster' ? 'Choose subnets' : 'Review'}
              kind="primary"
              can={nextCan(step, cluster, found, choice, subnets.isError)}
              run={() => go(step === 'cluster' ? 'subnets' : 'review')}
            />
          </span>
        </div>
      )}
    </div>
  )
}

function nextCan(
  step: StepId,
  cluster: Cluster | undefined,
  given: readonly Subnet[],
  choice: Choice | null,
  isUnread: boolean,
) {
  const may = allowed(clusterSubnetsAssign)
  if (!may.ok) return may
  if (step === 'cluster')
    return cluster === undefined ? no('Choose a cluster first') : canChoose(cluster, given)
  return choice === null
    ? no(isUnread ? 'The subnets could not be loaded' : 'The subnets are being read')
    : canReview(choice)
}

function summary(choice: Choice | null, step: StepId): string {
  if (choice === null || step === 'cluster') return ''
  const { added, removed } = choice
  if (added.length + removed.length === 0) return 'Nothing to change'
  return [
    added.length > 0 && `${counted(added.length, 'subnet')} to add`,
    removed.length > 0 && `${counted(removed.length, 'subnet')} to remove`,
  ]
    .filter(Boolean)
    .join(', ')
}

function stepLabel(step: StepId): string {
  const at = steps.findIndex((s) => s.id === step)
  return `Step ${at + 1} of ${steps.length}: ${steps[at]?.text ?? ''}`
}

const tones = { ready: 'ok', degraded: 'warn', failed: 'danger' } as const

interface ChooseClusterProps {
  clusters: readonly Cluster[]
  given: readonly Subnet[]
  chosen: string | undefined
  onChoose: (id: string) => void
}

function ChooseCluster({ clusters, given, chosen, onChoose }: ChooseClusterProps) {
  if (clusters.length === 0)
    return (
      <Empty
        boxed
        title="No clusters yet"
        text="Subnets are assigned to a cluster, which assigns their addresses to its Services."
        actions={
          <ActionButton
            label="Create cluster"
            kind="primary"
            icon="add"
            to={paths.createCluster()}
          />
        }
      />
    )
  const listed = clusters
    .map((cluster) => ({ cluster, can: canChoose(cluster, given) }))
    .toSorted((a, b) =>
      a.can.ok === b.can.ok ? (a.cluster.name < b.cluster.name ? -1 : 1) : a.can.ok ? -1 : 1,
    )
  return (
    <>
      {given.length > 0 && (
        <Alert tone="info">
          Choose a cluster of {[...new Set(given.map((s) => s.datacenter.code))].join(' and ')} for{' '}
          {given.map((s) => `${s.name} (${s.cidr})`).join(', ')}.
        </Alert>
      )}
      <Panel title="Cluster" note={counted(clusters.length, 'cluster')} flush>
        <div role="radiogroup" aria-label="Cluster" className={css['clusters']}>
          {listed.map(({ cluster: c, can }) => (
            <label key={c.id} className={css['cluster']}>
              <input
                type="radio"
                name="cluster"
                checked={c.id === chosen}
                disabled={!can.ok}
                onChange={() => onChoose(c.id)}
              />
              <b>{c.name}</b>
              <Site code={c.datacenter.code} country={c.datacenter.country_code} />
              <StatusDot tone={c.status in tones ? tones[c.status as keyof typeof tones] : 'busy'}>
                {sentence(c.status)}
              </StatusDot>
              {can.ok ? (
                <span className={css['has']}>
                  {c.subnets.length === 0 ? 'No subnets' : c.subnets.map((s) => s.name).join(', ')}
                </span>
              ) : (
                <small className={css['why']}>{can.reason}</small>
              )}
            </label>
          ))}
        </div>
      </Panel>
    </>
  )
}

function entryOf(s: Subnet, can: Entry['can'], mark: string | null): Entry {
  return {
    id: s.id,
    can,
    shown: (
      <>
        <b>{s.name}</b> <span className="mono fs12">{s.cidr}</span>{' '}
        {s.purpose === 'management' && <span className="t3">management</span>}
        <span className={`t3 fs12 ${css['mark']}`}>{mark}</span>
      </>
    ),
  }
}

interface ChooseSubnetsProps {
  cluster: Cluster
  choice: Choice | null
  error: unknown
  onRetry: () => void
  onAdd: (ids: readonly string[]) => void
  onRemove: (ids: readonly string[]) => void
}

function ChooseSubnets({ cluster, choice, error, onRetry, onAdd, onRemove }: ChooseSubnetsProps) {
  if (choice === null)
    return error ? <ErrorState boxed error={error} onRetry={onRetry} /> : <SkeletonRows rows={8} />
  const left = choice.free.map(({ subnet, can }) =>
    entryOf(
      subnet,
      can,
      choice.removed.includes(subnet)
        ? 'removed'
        : subnet.status === 'draining'
          ? 'draining'
          : sizeText(subnet),
    ),
  )
  const right = choice.wanted.map((s) =>
    entryOf(
      s,
      { ok: true },
      choice.added.includes(s) ? 'new' : (usedText(s) ?? subnetSaid(s).word),
    ),
  )
  return (
    <TwoLists
      left={left}
      right={right}
      leftTitle={`In ${cluster.datacenter.code}`}
      rightTitle={`Of ${cluster.name}`}
      leftEmpty={
        <>
          No other subnets there.{' '}
          <a href={paths.addSubnet({ datacenter: cluster.datacenter.code })}>Add a subnet</a>
        </>
      }
      rightEmpty="None yet: add some from the other list."
      onRight={onAdd}
      onLeft={onRemove}
    />
  )
}

const sizeText = (s: Subnet): string | null =>
  s.total === null ? null : counted(s.total, 'address', 'addresses')
