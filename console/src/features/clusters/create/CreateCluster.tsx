import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect, useRef, useState } from 'react'
import { clusterCreate, clusterPreview } from '#contract/clusters/clusters.ts'
import { versionList } from '#contract/versions.ts'
import { type ConfirmedDisk } from '#contract/disks/disks.ts'
import { canWipe } from '#contract/disks/wipe.ts'
import { type Verdict, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { everyCluster, everyDatacenter } from '../../../api/every.ts'
import { CallError } from '../../../api/client.ts'
import type { PageProps } from '../../../api/page.ts'
import { query } from '../../../api/query.ts'
import { useDraft } from '../../../api/use-draft.ts'
import { allowed } from '../../../api/session.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { versionShown } from '../../../lib/text.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { both } from '../../../ui/actions.ts'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { Stepper } from '../../../ui/feedback/Stepper.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Problem } from '../../../ui/feedback/Status.tsx'
import { later, part } from '../../../ui/part.tsx'
import { chosenDisks, confirmedOf } from './wiped.ts'
import {
  blank,
  bodyOf,
  canReview,
  clusterProblems,
  KeptDraft,
  problemsOf,
  type Taken,
} from './draft.ts'
import type { Made } from './creating.ts'
import { useServersOf } from './use-servers-of.ts'
import type { Source } from '../like/use-start.ts'
import frame from '../../../layout/steps.module.css'
import css from './Steps.module.css'
import type { WriteBody } from './NewPatchDialog.tsx'
import { previewVerdict } from './preview.ts'
import { StepCluster } from './StepCluster.tsx'

// The later steps load when the user begins to fill in the first one, or at once if the URL asks
// for them.
const StepServers = later(async () => ({
  default: (await import('./StepServers.tsx')).StepServers,
}))
const StepReview = later(async () => ({ default: (await import('./StepReview.tsx')).StepReview }))
const ReviewCommand = part(async () => ({
  default: (await import('./StepReview.tsx')).ReviewCommand,
}))
function loadSteps(): void {
  StepServers.load()
  StepReview.load()
}
const StartFrom = part(async () => ({ default: (await import('../like/like.ts')).StartFrom }))
const Preselected = part(() => import('./Preselected.tsx'))

const steps = [
  { id: 'cluster', text: 'Cluster' },
  { id: 'servers', text: 'Servers' },
  { id: 'review', text: 'Review' },
] as const
type StepId = (typeof steps)[number]['id']

export const versionsQuery = query(versionList)

/**
 * Creates a cluster in three steps. The step is in the URL, the choices in a draft that survives a
 * reload.
 */
export function CreateCluster({
  search,
  setSearch,
  writeBody,
}: Pick<PageProps<'/infra/clusters/create'>, 'search' | 'setSearch'> & { writeBody: WriteBody }) {
  const datacenters = useQuery(everyDatacenter)
  const versions = useQuery(versionsQuery)
  const names = useQuery(everyCluster)
  if (!datacenters.data || !versions.data)
    return (
      <Pending
        of={{
          error: datacenters.error ?? versions.error,
          refetch: () => Promise.all([datacenters.refetch(), versions.refetch()]),
        }}
      />
    )
  return (
    <Steps
      key={search.template ?? search.like}
      source={search}
      step={steps.find((s) => s.id === search.step)?.id ?? 'cluster'}
      preselected={search.servers}
      go={(step) =>
        setSearch(
          { step: step === 'cluster' ? undefined : step, servers: undefined },
          { push: true },
        )
      }
      datacenters={datacenters.data.items}
      versions={versions.data}
      taken={names.data?.items.map((c) => c.name) ?? []}
      writeBody={writeBody}
    />
  )
}

interface StepsProps {
  step: StepId
  preselected: string | undefined
  /** The template, or the cluster, that the new cluster is like. */
  source: Source
  go: (step: StepId) => void
  datacenters: Parameters<typeof StepCluster>[0]['datacenters']
  versions: Parameters<typeof StepCluster>[0]['versions']
  taken: readonly string[]
  writeBody: WriteBody
}

function Steps({
  step,
  preselected,
  source,
  go,
  datacenters,
  versions,
  taken,
  writeBody,
}: StepsProps) {
  const start = source.template ?? source.like
  const [template, setTemplate] = useState<Taken>()
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const [isAsking, setAsking] = useState(false)
  const head = useRef<HTMLDivElement>(null)
  // In the last step the server judges the name: as soon as the cluster is there, its own name is
  // taken. If the answer is lost, the same request brings it.
  const others = step === 'review' ? [] : taken
  const form = useForm({
    initial: blank,
    read: (typed) => {
      const fields = clusterProblems(typed, others, versions.items)
      return Object.keys(fields).length === 0
        ? { ok: true, body: bodyOf(typed) }
        : { ok: false, fields }
    },
    complete: (body) => ({ ...body, ...extra }),
    // The button goes to the next step; in the last step it creates the cluster.
    send: async (body, key): Promise<Made | undefined> => {
      if (shown === 'review')
        return (await import('./StepReview.tsx')).create(body, key, {
          draft,
          servers: servers.data ?? [],
          onAsking: setAsking,
        })
      go(shown === 'cluster' ? 'servers' : 'review')
      return undefined
    },
    done: async (made) => {
      if (!made) return
      await kept.settle()
      await refreshClusters()
      await navigate(paths.cluster(made.cluster.id, 'timeline'))
    },
    failed: async (error) => {
      if (!(error instanceof CallError)) return
      // The content of a disk has changed: show the current content.
      if (error.code === 'disk_not_confirmed') await servers.refetch()
      const { servers: ofServers, ...ofFirst } = problemsOf(error.fields)
      if (Object.keys(ofFirst).length > 0) go('cluster')
      else if (error.code === 'server_taken' || error.code === 'not_eligible' || ofServers)
        go('servers')
    },
    at: problemsOf,
  })
  const { values: draft, set: change } = form
  const kept = useDraft(
    form,
    start === undefined ? 'cluster/new' : `cluster/new/${start}`,
    KeptDraft,
  )
  const datacenter = datacenters.find((d) => d.id === draft.datacenterId)
  const servers = useServersOf(datacenter?.code)
  // The next step removes the ids from the URL. The servers are chosen all the same.
  const [wanted, setWanted] = useState(preselected)
  if (preselected !== undefined && preselected !== wanted) setWanted(preselected)
  const disks = chosenDisks(draft, servers.data ?? [])
  const confirmed: ConfirmedDisk[] = confirmedOf(disks, ticked)
  const extra = { ...(confirmed.length > 0 && { confirmed_disks: confirmed }), ...template?.body }
  const shown =
    step !== 'cluster' && Object.keys(clusterProblems(draft, others, versions.items)).length > 0
      ? 'cluster'
      : step === 'review' && !canReview(draft).ok
        ? 'servers'
        : step
  const talos = draft.talos === '' ? versions.items[0]?.talos_version : draft.talos
  const kubernetes =
    draft.kubernetes === ''
      ? versions.items.find((v) => v.talos_version === talos)?.kubernetes_versions[0]
      : draft.kubernetes

  // After a change of step the focus goes to the top of the form, also for screen readers.
  const last = useRef(shown)
  useEffect(() => {
    if (last.current !== shown) head.current?.focus()
    last.current = shown
  }, [shown])

  const count = Object.keys(draft.servers).length
  // Without its template there is nothing to fill in.
  const isFilled = (start ?? '') === draft.from
  // A preview is soon out of date, so every visit fetches a new one.
  const preview = useQuery({
    ...query(clusterPreview, { body: { ...bodyOf(draft), ...template?.body } }),
    enabled: shown === 'review' && (start === undefined || template?.can.ok === true),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
  const canCreate = (): Verdict =>
    both(
      allowed(clusterCreate),
      template?.can ?? yes,
      previewVerdict(preview),
      canWipe(disks, confirmed),
    )
  if (!kept.ready) return <SkeletonRows rows={8} />

  return (
    <div className={frame['page']} onFocus={loadSteps}>
      <h1 className="sr">Create cluster</h1>
      <div className={frame['steps']} ref={head} tabIndex={-1}>
        <Stepper steps={steps} current={shown} onGo={(id) => go(id as StepId)} />
        {shown !== 'cluster' && (
          <span className="t2 fs13 right hide-sm">
            {[
              draft.name,
              datacenter?.code,
              kubernetes && `Kubernetes ${versionShown(kubernetes)}`,
              talos && `Talos ${versionShown(talos)}`,
            ]
              .filter(Boolean)
              .join(', ')}
          </span>
        )}
      </div>
      <Problem text={form.problem} />
      {wanted !== undefined && (
        <Suspense fallback={null}>
          <Preselected
            key={wanted}
            of={wanted}
            draft={draft}
            change={change}
            servers={servers.data}
          />
        </Suspense>
      )}
      {start !== undefined && (
        <Suspense fallback={<SkeletonRows rows={4} />}>
          <StartFrom
            source={source}
            step={shown}
            draft={draft}
            change={change}
            versions={versions.items}
            datacenters={datacenters}
            onTaken={setTemplate}
          />
        </Suspense>
      )}
      {shown === 'cluster' && isFilled && (
        <StepCluster form={form} datacenters={datacenters} versions={versions} />
      )}
      <Suspense fallback={<SkeletonRows rows={8} />}>
        {shown === 'servers' && (
          <StepServers
            draft={draft}
            change={change}
            servers={servers}
            datacenter={datacenter?.code ?? ''}
            talosVersion={talos ?? ''}
            refused={form.errorOf('servers')}
            writeBody={writeBody}
            source={source}
          />
        )}
        {shown === 'review' && (
          <StepReview
            draft={draft}
            preview={preview}
            servers={servers.data ?? []}
            ticked={ticked}
            onTick={setTicked}
          />
        )}
      </Suspense>
      {isFilled && (
        <div className={frame['foot']}>
          {shown !== 'cluster' && (
            <ActionButton label="Back" run={() => go(shown === 'review' ? 'servers' : 'cluster')} />
          )}
          <span className={cx('t3 fs13 hide-sm', shown === 'review' && css['kept'])}>
            The draft is kept in this browser
          </span>
          <span className="row right">
            {shown === 'review' && (
              <span className="hide-sm">
                <Suspense fallback={null}>
                  <ReviewCommand
                    draft={draft}
                    body={{ ...bodyOf(draft), ...extra }}
                    servers={servers.data}
                    datacenter={datacenter?.code ?? ''}
                  />
                </Suspense>
              </span>
            )}
            <ActionButton
              label="Discard"
              kind="ghost"
              run={() => {
                kept.discard()
                go('cluster')
              }}
            />
            <Button
              kind="primary"
              busy={form.busy && !isAsking}
              busyText="Loading"
              can={
                shown === 'servers'
                  ? canReview(draft)
                  : shown === 'review'
                    ? canCreate()
                    : undefined
              }
              onClick={() => void form.submit()}
            >
              {shown === 'cluster'
                ? 'Choose servers'
                : shown === 'servers'
                  ? `Review ${counted(count, 'server')}`
                  : 'Create cluster'}
            </Button>
          </span>
        </div>
      )}
    </div>
  )
}
