import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react'
import {
  clusterPlan,
  type ClusterChangeInput,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import type { Read } from '../../../lib/fields.ts'
import { curlOf } from '../../../lib/shell.ts'
import { Form } from '../../../ui/form/fields.tsx'
import { type Form as FormState, useForm } from '../../../ui/form/use-form.ts'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Problem } from '../../../ui/feedback/Status.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import css from './Change.module.css'
import { kindOf, type ShownKind } from './change-kinds.ts'
import { PlanView } from './PlanView.tsx'
import { type Begin, StartChange } from './StartChange.tsx'

interface ChangeFormProps<Values> {
  cluster: Cluster
  kind: ShownKind
  initial: Values
  /** Turns the values into the change. */
  read: (values: Values) => Read<ClusterChangeInput>
  /** The command that makes the same change; undefined if the CLI can't make it. */
  command: (change: ClusterChangeInput) => string | undefined
  /** True: the form has no fields, so the plan is made when the page opens. */
  bare?: boolean
  children?: (form: FormState<Values, ClusterChangeInput>) => ReactNode
}

interface Planned {
  readonly change: ClusterChangeInput
  readonly plan: ClusterPlan
  /** Why it replaces a plan that was to be started. */
  readonly moved: string | null
}

/** The API's error paths begin with `change.`; the form's fields are those of the change. */
const ofChange = (refused: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(refused).map(([path, sentence]) => [path.replace(/^change\./, ''), sentence]),
  )

/**
 * A change of a cluster: its form, its plan, and its start. A change can be started only while the
 * plan of exactly this change is shown.
 */
export function ChangeForm<Values extends object>({
  cluster,
  kind,
  initial,
  read,
  command,
  bare = false,
  children,
}: ChangeFormProps<Values>) {
  const { label, text } = kindOf(kind)
  const [last, setLast] = useState<Planned | null>(null)
  /** Why the next plan replaces one that was to be started. */
  const moved = useRef<string | null>(null)
  const [begin, setBegin] = useState<Begin>({ when: 'now', at: '' })
  const result = useRef<HTMLDivElement>(null)
  const form = useForm<Values, ClusterChangeInput, ClusterPlan>({
    initial,
    read,
    send: (change) => call(clusterPlan, { params: { id: cluster.id }, body: { change } }),
    done: (plan, change) => {
      setLast({ change, plan, moved: moved.current })
      moved.current = null
    },
    at: ofChange,
  })
  /** The new plan is made at once, and shown with the reason: the old one can't be started. */
  const planAgain = (reason: string) => {
    setLast(null)
    moved.current = reason
    void form.submit()
  }
  const submitAtOnce = useEffectEvent(() => void form.submit())
  useEffect(() => {
    if (bare && allowed(clusterPlan).ok) submitAtOnce()
  }, [bare])
  // A plan is valid only for the values that it was made for.
  const shown =
    last !== null && form.read.ok && JSON.stringify(form.read.body) === JSON.stringify(last.change)
      ? last
      : null
  useEffect(() => {
    if (shown !== null) result.current?.focus()
  }, [shown])
  const cli = form.read.ok ? command(form.read.body) : undefined
  return (
    <div className={css['cols']}>
      <Panel title={label} note={cluster.name}>
        <Form form={form} className="stack stack3">
          <p className="fs13 t2">{text}</p>
          {children?.(form)}
          <Problem text={form.problem} />
          <div className="row wrap">
            <Button
              type="submit"
              kind={shown === null ? 'primary' : 'plain'}
              busy={form.busy}
              busyText="Planning"
              can={allowed(clusterPlan)}
            >
              {shown === null ? 'Show the plan' : 'Plan again'}
            </Button>
            <AsCommand
              complete={form.read.ok}
              {...(cli !== undefined && { cli })}
              api={curlOf(
                clusterPlan,
                { id: cluster.id },
                { change: form.read.ok ? form.read.body : {} },
              )}
            />
          </div>
        </Form>
      </Panel>
      <div ref={result} tabIndex={-1} className={css['result']} aria-live="polite">
        {shown === null ? (
          <Panel title="Plan">
            {form.busy ? (
              <SkeletonRows rows={6} />
            ) : (
              <p className="fs13 t2">
                {last === null
                  ? 'The plan shows what happens to each server, in which order, and what prevents the change. Nothing changes before you start it.'
                  : 'The form has changed since the plan was made. Show the plan again.'}
              </p>
            )}
          </Panel>
        ) : (
          <PlanView cluster={cluster} plan={shown.plan} moved={shown.moved}>
            <StartChange
              key={shown.plan.seen}
              cluster={cluster}
              label={label}
              change={shown.change}
              plan={shown.plan}
              begin={begin}
              onBegin={setBegin}
              onStale={planAgain}
            />
          </PlanView>
        )}
      </div>
    </div>
  )
}
