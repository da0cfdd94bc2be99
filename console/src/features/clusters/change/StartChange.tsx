import { useEffect, useState } from 'react'
import {
  clusterChange,
  type ClusterChangeInput,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { counted } from '#contract/words.ts'
import { call, CallError } from '../../../api/client.ts'
import { rollOutMinutes, withLosses } from '../../../api/asking/losses.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { curlOf } from '../../../lib/shell.ts'
import { zone } from '../../../lib/time/time.ts'
import { both } from '../../../ui/actions.ts'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Badge, Problem } from '../../../ui/feedback/Status.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { keyOf } from '../create/wiped.ts'
import { DiskChecks } from '../create/DisksToWipe.tsx'
import css from './Change.module.css'
import { canStart, startOf, type When } from './plan.ts'
import { editWindow } from './window-actions.ts'

interface StartProps {
  cluster: Cluster
  /** Label of the action. */
  label: string
  change: ClusterChangeInput
  plan: ClusterPlan
  /** What was chosen for the plan before this one: a new plan doesn't make a change begin at once. */
  begin: Begin
  /** Called with each choice of when the change begins. */
  onBegin: (begin: Begin) => void
  /** Called with the reason if the plan has changed since it was shown. */
  onStale: (reason: string) => void
}

/** When a change begins. `at`: the value of a `datetime-local` input. */
export type Begin = { when: When; at: string }
const { Choose, Text } = fieldsFor<Begin>()

/**
 * Starts a change now, at a time, or in the maintenance window, after the user has confirmed the
 * disks that it wipes.
 */
export function StartChange({ cluster, label, change, plan, begin, onBegin, onStale }: StartProps) {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const window = cluster.maintenance_window ?? null
  const confirmed = plan.disks.flatMap((d) => (d.by !== null && ticked.has(keyOf(d)) ? [d.by] : []))
  const complete = <Body extends object>(body: Body) =>
    confirmed.length === 0 ? body : { ...body, confirmed_disks: confirmed }
  const form = useForm({
    initial: begin,
    read: ({ when, at }) => {
      const begins = startOf(when, at)
      return begins.ok
        ? {
            ok: true,
            body: {
              change,
              seen: plan.seen,
              ...(begins.start !== undefined && { start: begins.start }),
            },
          }
        : { ok: false, fields: { at: begins.reason } }
    },
    complete,
    send: (body, key) =>
      withLosses(
        (losses) =>
          call(
            clusterChange,
            { params: { id: cluster.id }, body: { ...body, ...losses } },
            // Another body needs another key.
            losses.confirmed_loss === undefined ? { key } : {},
          ),
        new Set(plan.groups.map((group) => group.node_id)).size > 1 ? rollOutMinutes : undefined,
      ),
    done: async ({ operation }) => {
      await refreshClusters()
      await navigate(paths.operation(operation.id))
    },
    failed: (failure) =>
      failure instanceof CallError && failure.code === 'stale' && onStale(reasonOf(failure)),
    at: (refused) =>
      Object.fromEntries(
        Object.entries(refused).map(([path, sentence]) => [path.replace(/^start\./, ''), sentence]),
      ),
  })
  const { when, at } = form.values
  useEffect(() => onBegin({ when, at }), [when, at, onBegin])
  return (
    <>
      {plan.disks.length > 0 && (
        <Panel
          title="Disks to be wiped"
          note={<Badge tone="danger">{counted(plan.disks.length, 'disk')}</Badge>}
        >
          <DiskChecks
            disks={plan.disks}
            ticked={ticked}
            onTick={setTicked}
            text="These disks have content, or may have. Confirm each one: its content is lost."
          />
        </Panel>
      )}
      <Panel title="Begin">
        <Form form={form} className="stack stack3">
          <div className={css['fields']}>
            <Choose
              name="when"
              label="When"
              options={[
                { value: 'now', text: 'Now' },
                { value: 'at', text: 'At a time' },
                { value: 'window', text: 'In the maintenance window', disabled: window === null },
              ]}
              hint={
                when === 'window' && window !== null
                  ? windowText(window)
                  : window === null
                    ? 'The cluster has no maintenance window yet'
                    : 'The change can be cancelled between two parts'
              }
            />
            {when === 'at' && (
              <Text
                name="at"
                label="Begins at"
                type="datetime-local"
                hint={`In your time zone, ${zone()}`}
              />
            )}
          </div>
          {when === 'window' && (
            <p className="fs13 t2">
              Each part begins only while the window is open. If the window closes before the end,
              the change continues when it opens again.
            </p>
          )}
          <Problem text={form.problem} />
          <div className="row wrap">
            <Button
              type="submit"
              kind={plan.disks.length > 0 || change.kind === 'restore' ? 'danger-fill' : 'primary'}
              busy={form.busy}
              busyText="Beginning"
              can={both(allowed(clusterChange), canStart(plan, ticked))}
            >
              {when === 'now' ? label : `Schedule: ${label}`}
            </Button>
            <AsCommand
              complete={form.read.ok}
              api={curlOf(
                clusterChange,
                { id: cluster.id },
                form.read.ok ? complete(form.read.body) : {},
              )}
            />
            {window === null && (
              <Button kind="ghost" onClick={() => void editWindow({ cluster })}>
                Set a maintenance window
              </Button>
            )}
          </div>
        </Form>
      </Panel>
    </>
  )
}
