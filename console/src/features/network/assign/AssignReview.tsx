import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type PoolChange,
  type Subnet,
} from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { isStale, sendFresh } from '../../../api/asking/fresh-version.ts'
import { call, CallError } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { confirm } from '../../../ui/actions.ts'
import { useForm } from '../../../ui/form/use-form.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { CopyButton } from '../../../ui/text/Copyable.tsx'
import { DiffView } from '../../../ui/text/DiffView.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Alert, Badge } from '../../../ui/feedback/Status.tsx'
import { type Choice, verbOf } from './assign-choice.ts'
import frame from '../../../layout/steps.module.css'
import css from './AssignSubnets.module.css'
import { refreshNetwork } from '../network-queries.ts'

const providers = { cilium: 'Cilium', metallb: 'MetalLB' } as const

interface AssignReviewProps {
  cluster: Cluster
  choice: Choice
  /**
   * Reads the cluster's version to send with the reviewed choice; null if the choice would now have
   * another effect.
   */
  versionOf: () => Promise<number | null>
  onBack: () => void
  /** Called after the operation has started, with the operation's id. */
  onBegun: (operationId: string) => void
  onRefused: () => void
}

/**
 * Review of an assignment: the manifest before and after, Services that lose an address, and the
 * confirmation.
 */
export function AssignReview({
  cluster,
  choice,
  versionOf,
  onBack,
  onBegun,
  onRefused,
}: AssignReviewProps) {
  const ids = choice.wanted.map((s) => s.id)
  const preview = useQuery({
    ...query(clusterSubnetsPreview, { params: { id: cluster.id }, body: { subnet_ids: ids } }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const leaving = choice.removed.length > 0
  const changedMeanwhile = `${cluster.name} was changed meanwhile. This is what would change now.`
  const form = useForm({
    // If all removed subnets are draining already, the only choice is to remove them without
    // waiting.
    initial: { force: leaving && choice.removed.every((s) => s.status === 'draining') },
    read: ({ force: now }) => ({ ok: true, body: { subnet_ids: ids, force: leaving && now } }),
    ask: async (body) => {
      const losing = preview.data?.losing.length ?? 0
      return (
        !body.force ||
        confirm({
          title: `Unassign ${counted(choice.removed.length, 'subnet')} from ${cluster.name} without waiting?`,
          label: 'Unassign at once',
          text:
            losing > 0
              ? `${counted(losing, 'address', 'addresses')} of Services are lost at once: nobody can reach them by these addresses any more.`
              : 'Services that have an address of these subnets lose it at once.',
          danger: true,
          typed: cluster.name,
        })
      )
    },
    send: async (body, key) => {
      const begun = await sendFresh(versionOf, (version) =>
        call(clusterSubnetsAssign, { params: { id: cluster.id }, body }, { version, key }),
      )
      if (begun === null) throw new Error(changedMeanwhile)
      return begun
    },
    done: async ({ operation }) => {
      await refreshNetwork()
      onBegun(operation.id)
    },
    failed: onRefused,
  })
  const { force } = form.values
  const names = (list: readonly Subnet[]) => list.map((s) => s.name)
  const related = form.failure instanceof CallError ? form.failure.related : null
  return (
    <>
      {form.problem !== null && (
        <Alert tone="danger">
          {isStale(form.failure) ? changedMeanwhile : form.problem}{' '}
          {related?.kind === 'cluster' && (
            <a href={paths.cluster(related.id, 'addresses')}>Show {related.name}</a>
          )}
        </Alert>
      )}
      {preview.data === undefined ? (
        <Pending of={preview} />
      ) : (
        <div className={css['review']}>
          <Manifest preview={preview.data} cluster={cluster} />
          <div className="stack">
            <Panel title="What changes">
              <ul className={css['change']}>
                {choice.added.map((s) => (
                  <li key={s.id}>
                    <Badge tone="ok">Add</Badge> <b>{s.name}</b>{' '}
                    <span className="mono">{s.cidr}</span>
                  </li>
                ))}
                {choice.removed.map((s) => (
                  <li key={s.id}>
                    <Badge tone="danger">Unassign</Badge> <b>{s.name}</b>{' '}
                    <span className="mono">{s.cidr}</span>
                  </li>
                ))}
              </ul>
            </Panel>
            {leaving && (
              <Losing
                preview={preview.data}
                subnets={[...choice.removed, ...cluster.subnets]}
                force={force}
                onForce={(now) => form.set({ force: now })}
              />
            )}
            <Panel
              title="Warnings"
              note={
                preview.data.warnings.length > 0 && (
                  <Badge tone="warn">{preview.data.warnings.length}</Badge>
                )
              }
            >
              {preview.data.warnings.length === 0 ? (
                <p className="fs13 t2">None.</p>
              ) : (
                <ul className={css['change']}>
                  {preview.data.warnings.map((w) => (
                    <li key={w} className={css['warning']}>
                      <Icon name="alert" className="c-warn" />
                      <span>{w}</span>
                    </li>
                  ))}
                </ul>
              )}
            </Panel>
          </div>
        </div>
      )}
      <div className={frame['foot']}>
        <ActionButton label="Back" run={onBack} />
        <span className="row right">
          <span className="hide-sm">
            <AsCommand
              cli={[
                ...(choice.added.length > 0
                  ? [cliOf(['subnet', 'assign', cluster.name, ...names(choice.added)])]
                  : []),
                ...(leaving
                  ? [
                      cliOf(['subnet', 'unassign', cluster.name, ...names(choice.removed)], {
                        force,
                      }),
                    ]
                  : []),
              ].join(' && ')}
              api={curlOf(
                clusterSubnetsAssign,
                { id: cluster.id },
                { subnet_ids: ids, ...(leaving && force && { force }) },
              )}
            />
          </span>
          <ActionButton
            label={verbOf(choice)}
            kind={leaving && force ? 'danger-fill' : 'primary'}
            busy={form.busy}
            busyText="Loading"
            can={
              preview.data === undefined
                ? { ok: false, reason: 'The changes are not known yet' }
                : allowed(clusterSubnetsAssign)
            }
            run={() => form.submit()}
          />
        </span>
      </div>
    </>
  )
}

/** Diff of the load balancer's manifest. */
function Manifest({ preview, cluster }: { preview: PoolChange; cluster: Cluster }) {
  return (
    <Panel
      title={`Manifest of ${cluster.name}`}
      note={preview.provider === null ? 'to apply yourself' : providers[preview.provider]}
      actions={preview.after !== '' && <CopyButton text={preview.after} />}
      flush
    >
      {preview.provider === null && (
        <div className={css['note']}>
          <Alert tone="warn">
            The load balancer of {cluster.name} is not known. Copy the manifest of your load
            balancer and apply it.
          </Alert>
        </div>
      )}
      <div className={css['diff']}>
        <DiffView
          label="Manifest before and after"
          before={preview.before}
          after={preview.after}
          empty="No difference in the manifest."
        />
      </div>
    </Panel>
  )
}

interface LosingProps {
  preview: PoolChange
  subnets: readonly Pick<Subnet, 'id' | 'name'>[]
  force: boolean
  onForce: (force: boolean) => void
}

/**
 * Services with addresses of removed subnets, and the choice whether to wait until these addresses
 * are free.
 */
function Losing({ preview, subnets, force, onForce }: LosingProps) {
  const nameOf = (id: string) => subnets.find((s) => s.id === id)?.name ?? ''
  return (
    <Panel
      title="Services with these addresses"
      note={<span className="num">{preview.losing.length}</span>}
    >
      <div className="stack stack3">
        {preview.losing.length > 0 && (
          <ul className={css['change']} aria-label="Services with these addresses">
            {preview.losing.map((l) => (
              <li key={`${l.service} ${l.address}`}>
                <b>{l.service}</b> <span className="mono">{l.address}</span>{' '}
                <span className="t3">{nameOf(l.subnet_id)}</span>
              </li>
            ))}
          </ul>
        )}
        <p className="fs13 t2">
          {force
            ? preview.losing.length > 0
              ? 'They lose their addresses at once.'
              : 'No Service has an address of these subnets. A Service that gets one in the meantime loses it at once.'
            : 'No new address is assigned. A subnet drains until none of its addresses is in use: Services keep the addresses that they have.'}
        </p>
        <Checkbox
          label="Don't wait: Services lose their addresses at once"
          checked={force}
          onChange={onForce}
        />
      </div>
    </Panel>
  )
}
