import { useEffect, useRef, useState } from 'react'
import type { Server } from '#contract/servers/servers.ts'
import {
  type NewTemplate,
  type PlannedClusters,
  templatePlan,
} from '#contract/templates/templates.ts'
import { counted, someOf } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import type { Draft } from '../create/draft.ts'
import css from './Like.module.css'
import {
  type Base,
  baseOf,
  chosenOf,
  disksLabel,
  fieldsOf,
  type Need,
  needOf,
  readNeed,
  type Role,
  whyOf,
} from './need.ts'
import { type Source, useStart } from './use-start.ts'

interface ByNeedProps {
  /** The template, or the cluster, whose needs the form begins with. */
  source: Source
  draft: Draft
  change: (to: (now: Draft) => Partial<Draft>) => void
  /** All servers of the datacenter. */
  servers: readonly Server[]
  talosVersion: string
}

const { Text, Check } = fieldsFor<Need>()

/** Chooses servers by what they must have, and says why each was chosen. */
export function ByNeed({ source, ...rest }: ByNeedProps) {
  const isFrom = source.template !== undefined || source.like !== undefined
  const { data } = useStart(source)
  // The first step has read it, unless the page was reloaded here.
  if (isFrom && data === undefined) return <SkeletonRows rows={4} />
  return <Asked template={data?.template} {...rest} />
}

function Asked({
  template,
  draft,
  change,
  servers,
  talosVersion,
}: Omit<ByNeedProps, 'source'> & { template: NewTemplate | undefined }) {
  const base = baseOf(template)
  const [answer, setAnswer] = useState<PlannedClusters | null>(null)
  const { name, datacenterId, kubernetes, leftOut } = draft
  const form = useForm({
    initial: needOf(base),
    read: (need) =>
      readNeed(base, need, { name, datacenterId, kubernetes, leftOut, talos: talosVersion }),
    send: (body) => call(templatePlan, { body }),
    done: (planned) => {
      setAnswer(planned)
      const [cluster] = planned.clusters ?? []
      if (cluster) change(() => ({ servers: chosenOf(cluster) }))
    },
    failed: () => setAnswer(null),
    at: fieldsOf,
  })
  const why = whyOf(draft.servers, servers)
  // From a template the servers are chosen without being asked for, unless some are chosen already.
  const begins = useRef(template !== undefined && why.length === 0 && allowed(templatePlan).ok)
  const { submit } = form
  useEffect(() => {
    if (!begins.current) return
    begins.current = false
    void submit()
  })
  return (
    <Panel title="Choose by need" className={css['need']}>
      <div className="stack stack4">
        <Form form={form} className="stack stack4">
          <div className={css['roles']}>
            <RoleFields base={base} of="control_planes" title="Control planes" />
            <RoleFields base={base} of="workers" title="Workers" />
          </div>
          <div className={css['foot']}>
            <Check name="spread" label="Spread over racks" />
            <Button
              kind={why.length === 0 ? 'primary' : 'plain'}
              type="submit"
              busy={form.busy}
              busyText="Choosing"
              can={allowed(templatePlan)}
            >
              {why.length === 0 ? 'Choose servers' : 'Choose again'}
            </Button>
            {why.length > 0 && (
              <span className="t2 fs13">Another choice replaces the servers below.</span>
            )}
          </div>
        </Form>
        <Problem text={form.problem} />
        {answer !== null && answer.refusals.length > 0 && (
          <Alert
            tone="danger"
            action={<ActionButton label="Servers" size="small" to={paths.servers()} />}
          >
            {answer.refusals.map((sentence) => (
              <p key={sentence}>{sentence}.</p>
            ))}
            <p>Ask for fewer servers or for less of each, or add servers to the datacenter.</p>
          </Alert>
        )}
        {why.length > 0 && (
          <section className="stack stack2" aria-label="Why these servers">
            <h3 className="label">Why these servers</h3>
            <ul className={css['why']} tabIndex={0} aria-label="Reasons of the choice">
              {why.map((one) => (
                <li key={one.id}>
                  <b>{one.name}</b>
                  <span className="t3">
                    {one.role === 'control_plane' ? 'Control plane' : 'Worker'}
                  </span>
                  <span className="t2">{one.why}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        {answer !== null && answer.left.length > 0 && (
          <section className="stack stack2">
            <h3 className="label">Not chosen</h3>
            <ul className={css['sentences']}>
              {answer.left.map(({ reason, count, servers: first }) => (
                <li key={reason}>
                  {counted(count, 'server')}: {reason}{' '}
                  <span className="t3">
                    {someOf(
                      first.map((s) => s.name),
                      3,
                      count,
                    )}
                  </span>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Panel>
  )
}

function RoleFields({ base, of: role, title }: { base: Base; of: Role; title: string }) {
  const [, ...more] = base[role].needs.disks
  return (
    <fieldset className={css['role']}>
      <legend>{title}</legend>
      <div>
        <Text name={role} label="Number" inputMode="numeric" className="num" />
        <Text name={`${role}_cores`} label="Cores" note="at least" inputMode="numeric" />
        <Text name={`${role}_memory`} label="Memory" note="GiB" inputMode="numeric" />
        <Text
          name={`${role}_disks`}
          label={disksLabel(base[role])}
          note="at least"
          inputMode="numeric"
          hint={
            more.length > 0 ? `And ${counted(more.length, 'kind')} more of the template` : undefined
          }
        />
        <Text name={`${role}_labels`} label="Labels" placeholder="gen=r650,!broken" />
      </div>
    </fieldset>
  )
}
