import { useQuery } from '@tanstack/react-query'
import { type ComponentProps, useState } from 'react'
import type { CcTerms } from '#contract/marketplace/cc-terms.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import type { Operation } from '#contract/operations.ts'
import { no, yes } from '#contract/rule.ts'
import {
  type BulkActKind,
  bulkActs,
  bulkKindOf,
  type BulkItem,
  type BulkPlan,
  bulkLimit,
  plannedItems,
  serverBulk,
  serverBulkPlan,
  tooManyServers,
} from '#contract/servers/bulk.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { diskName } from '#contract/disks/wipe.ts'
import { versionList } from '#contract/versions.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { navigate } from '../../../lib/router.ts'
import { curlOf } from '../../../lib/shell.ts'
import { exact } from '../../../lib/time/time.ts'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { MissingDialog } from '../../../ui/overlay/MissingDialog.tsx'
import { part } from '../../../ui/part.tsx'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import css from './BulkServers.module.css'
import type CommitTermsForm from './CommitTerms.tsx'
import type { Terms } from './CommitTerms.tsx'
import { refreshServers } from '../server-queries.ts'

const blank = { typed: '', keep: false, version: '', start: 'now' as 'now' | 'window' }
const { Text, Check, Choose } = fieldsFor<typeof blank>()
const CommitTerms = part<ComponentProps<typeof CommitTermsForm>>(
  () => import('./CommitTerms.tsx'),
  MissingDialog,
)

/**
 * The selected servers, or the earlier operation whose failed and unreached servers are retried.
 */
type Props =
  | { kind: BulkActKind; node_ids: readonly string[] }
  | { failed: Pick<Operation, 'id' | 'steps'> }

/** What an act on many servers would do, and its confirmation. */
export default function BulkServers(props: Props) {
  const kind = 'failed' in props ? bulkKindOf(props.failed) : props.kind
  const [terms, setTerms] = useState<Terms>()
  const [asks, setAsks] = useState(kind === 'commit')
  if (asks)
    return (
      <CommitTerms
        last={terms?.typed}
        onTerms={(given) => {
          setTerms(given)
          setAsks(false)
        }}
      />
    )
  const onBack = kind === 'commit' ? () => setAsks(true) : undefined
  return <Planned of={props} kind={kind} terms={terms?.terms} onBack={onBack} />
}

/** `terms`: of a commit. `onBack`: to other terms. */
function Planned({
  of: props,
  kind,
  terms,
  onBack,
}: {
  of: Props
  kind: BulkActKind
  terms: CcTerms | undefined
  onBack: (() => void) | undefined
}) {
  const of = 'failed' in props ? { failed_of: props.failed.id } : { node_ids: [...props.node_ids] }
  const { close } = useDialog()
  const isUpgrade = kind === 'upgrade'
  // A plan of an upgrade depends on what is chosen in the form.
  const [{ version, start }, setUpgrade] = useState(blank)
  const act = isUpgrade
    ? { kind, talos_version: version, in_window: start === 'window' }
    : { kind, ...(terms && { terms }) }
  const isChosen = !isUpgrade || version !== ''
  const versions = useQuery({ ...query(versionList), enabled: isUpgrade })
  const isTooMany = 'node_ids' in of && of.node_ids.length > bulkLimit
  const {
    data: plan,
    error,
    refetch,
  } = useQuery({
    // Not the name of the call: an event would replace the plan that the person is reading.
    queryKey: ['bulkPlan', act, of],
    queryFn: ({ signal }) => call(serverBulkPlan, { body: { act, ...of } }, signal),
    enabled: !isTooMany && isChosen,
    // A plan is about this moment: the next opening makes another one.
    gcTime: 0,
    staleTime: Infinity,
  })
  const { title, danger } = bulkActs[kind]
  const able = plan?.items.filter((one) => one.ok) ?? []
  const expected = plan?.expected ?? null
  const form = useForm({
    // The operation doesn't say what its reset kept: what was kept the first time must not be wiped
    // by the second.
    initial: { ...blank, keep: kind === 'reset' && 'failed' in props },
    read: ({ keep }) => ({
      ok: true,
      body: {
        act: { ...act, keep_workload_disks: keep },
        items: plan === undefined ? [] : plannedItems(plan),
        ...(expected !== null && { expected }),
      },
    }),
    send: async (body, key) => {
      try {
        return await call(serverBulk, { body }, { key })
      } catch (problem) {
        // Every server may have changed: the next try is about what the person sees then.
        await refetch()
        throw problem
      }
    },
    done: async ({ operation }) => {
      await refreshServers()
      close()
      void navigate(paths.operation(operation.id))
    },
  })
  const { typed, keep } = form.values
  const isTyped = expected === null || typed.trim() === String(expected)
  const can =
    plan === undefined
      ? no(isChosen ? 'There is no plan yet' : 'Choose a version first')
      : able.length === 0
        ? no('Every server refuses this')
        : isTyped
          ? yes
          : no(`Type ${expected} first`)
  const choose = (change: Partial<Pick<typeof blank, 'version' | 'start'>>) => {
    form.set(change)
    setUpgrade((before) => ({ ...before, ...change }))
  }
  const them = able.length === 1 ? able[0]!.name : counted(able.length, 'server')
  return (
    <FormDialog
      form={form}
      width="44rem"
      title={able.length === 0 ? title : `${title}: ${them}`}
      submit={title}
      danger={danger}
      can={can}
      command={
        form.read.ok && <AsCommand api={curlOf(serverBulk, {}, form.read.body)} complete={can.ok} />
      }
    >
      {isUpgrade && (
        <>
          <Choose
            name="version"
            label="Talos version"
            placeholder="Choose a version"
            options={(versions.data?.items ?? []).map(({ talos_version: value }) => ({
              value,
              text: value,
            }))}
            onValue={(value) => choose({ version: value })}
          />
          <Choose
            name="start"
            label="Begin"
            options={[
              { value: 'now', text: 'At once' },
              { value: 'window', text: 'In the maintenance window of each cluster' },
            ]}
            onValue={(value) => choose({ start: value })}
          />
        </>
      )}
      {versions.error && (
        <Alert
          tone="danger"
          action={
            <Button size="small" onClick={() => void versions.refetch()}>
              Try again
            </Button>
          }
        >
          {reasonOf(versions.error)}
        </Alert>
      )}
      {isTooMany && <Alert tone="danger">{tooManyServers}.</Alert>}
      {error && (
        <Alert
          tone="danger"
          action={
            <Button size="small" onClick={() => void refetch()}>
              Plan again
            </Button>
          }
        >
          {reasonOf(error)}
        </Alert>
      )}
      {plan === undefined ? (
        !isTooMany &&
        !error &&
        isChosen && (
          <p className="fs13 t2" role="status">
            Making the plan…
          </p>
        )
      ) : (
        <Plan plan={plan} keep={keep} />
      )}
      {onBack && (
        <div>
          <Button size="small" onClick={onBack}>
            Change the terms
          </Button>
        </div>
      )}
      {kind === 'reset' && able.length > 0 && (
        <Check name="keep" label="Keep the content of the workload disks" />
      )}
      {expected !== null && able.length > 0 && (
        <Text
          name="typed"
          label={
            <>
              Type the number of servers to confirm: <span className="mono">{expected}</span>
            </>
          }
        />
      )}
    </FormDialog>
  )
}

const upgradeWords =
  'Each cluster takes a snapshot of etcd, if it has a store, and upgrades its servers one after another. All its servers that lack the version are upgraded together. A cluster that refuses stops no other.'

/** What the act means, and each server with its verdict, refusals first. */
function Plan({ plan, keep }: { plan: BulkPlan; keep: boolean }) {
  const { act, items, refused, warnings } = plan
  return (
    <>
      <p className="fs13 t2">
        {act.kind === 'remove'
          ? 'Nothing is wiped. Each server is kept in the history as deleted.'
          : act.kind === 'upgrade'
            ? upgradeWords
            : act.kind === 'commit'
              ? 'The terms are fixed once the capacity is committed. A server that refuses stops no other.'
              : 'The servers of a cluster follow each other, in this order. A server that refuses stops no other.'}
        {act.kind === 'reset' &&
          ' Each leaves its cluster and is wiped, except for Talos itself. This can’t be undone.'}
      </p>
      {warnings.length > 0 && (
        <Alert tone="warn">
          {warnings.map((one) => (
            <p key={one}>{one.replace(/\.$/, '')}.</p>
          ))}
        </Alert>
      )}
      {refused > 0 && (
        <Alert tone="warn">
          {count(refused)} of {counted(items.length, 'server')} can’t take part, and{' '}
          {refused === 1 ? 'stays as it is' : 'stay as they are'}.
        </Alert>
      )}
      <ul className={css['items']} aria-label="Plan" {...(items.length > 2 && { tabIndex: 0 })}>
        {items
          .toSorted((a, b) => Number(a.ok) - Number(b.ok))
          .map((one) => (
            <Item key={one.id} item={one} keep={keep} />
          ))}
      </ul>
    </>
  )
}

/** "1.25 EUR per hour for the server, until …, 16 CU, by its draft" */
const promisedText = ({
  version,
  price,
  starts_at,
  expires_at,
  compute_units: cu,
}: NonNullable<BulkItem['commitment']>): string =>
  [
    price === null ? 'No price' : priceShown(price),
    starts_at && `from ${exact(starts_at)}`,
    expires_at === null ? 'no end' : `until ${exact(expires_at)}`,
    cu === null ? 'unknown\u00A0CU' : `${count(cu)}\u00A0CU`,
    version !== null && 'by its draft',
  ]
    .filter(Boolean)
    .join(', ')

function Item({ item, keep }: { item: BulkItem; keep: boolean }) {
  const { name, cluster, role, ok, reason, warnings, disks, commitment } = item
  // The first one is the system disk.
  const wiped = keep ? disks.slice(0, 1) : disks
  return (
    <li>
      <span>
        <b className="strong">{name}</b>
        <span className="fs12 t3">
          {cluster === null
            ? 'No cluster'
            : `${role === 'control_plane' ? 'Control plane' : 'Worker'} of ${cluster.name}`}
        </span>
      </span>
      <span>
        {!ok && (
          <StatusDot tone="danger" whole why={reason}>
            Refused
          </StatusDot>
        )}
        {wiped.map((disk) => (
          <span key={disk.id} className="fs12 t2">
            Wipes <span className="mono">{devicePath(disk.id)}</span> {diskName(disk)}
          </span>
        ))}
        {commitment !== null && <span className="fs12 t2">{promisedText(commitment)}</span>}
        {warnings.map((one) => (
          <StatusDot key={one} tone="warn" whole why={one}>
            Warning
          </StatusDot>
        ))}
        {ok && disks.length === 0 && warnings.length === 0 && (
          <StatusDot tone="ok">Allowed</StatusDot>
        )}
      </span>
    </li>
  )
}
