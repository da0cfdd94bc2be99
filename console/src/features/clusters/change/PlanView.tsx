import { type ReactNode, useState } from 'react'
import type { ClusterPlan, PlanGroup } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { count, counted } from '#contract/words.ts'
import { paths } from '../../../lib/paths.ts'
import { duration } from '../../../lib/time/time.ts'
import { Alert, Badge } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { unrecorded } from '../../../ui/text/unrecorded.ts'
import { remedyActions } from './change-actions.ts'
import css from './Change.module.css'
import { partsOf, sameTexts } from './plan.ts'

const shownFirst = 30

/**
 * A plan: failed checks, the steps of each server in order, the changes of configurations.
 * `children`: the start of the change.
 */
export function PlanView({
  cluster,
  plan,
  moved,
  children,
}: {
  cluster: Cluster
  plan: ClusterPlan
  /** Why it replaces the plan that was to be started; null if it replaces none. */
  moved: string | null
  children: ReactNode
}) {
  const { checks, warnings, groups, differences, took_s } = plan
  const failed = checks.filter((c) => !c.ok)
  const servers = [
    ...cluster.servers,
    ...groups.flatMap(({ node_id, name }) =>
      node_id === null || name === null ? [] : [{ node_id, name }],
    ),
  ]
  const linked = (text: string) => <ServerLinks text={text} servers={servers} />
  const passed = checks.length - failed.length
  return (
    <>
      {moved !== null && <Alert tone="warn">{moved}.</Alert>}
      {failed.length > 0 && (
        <Alert tone="danger">
          <b>This change can't begin now.</b>
          <ul className={css['checks']}>
            {failed.map(({ check, message, remedies = [] }) => (
              <li key={`${check} ${message}`}>
                <span>{linked(message)}</span>
                {remedies.length > 0 && (
                  <div className={css['remedies']}>
                    {remedyActions(cluster, remedies).map((action) => (
                      <ActionButton key={action.label} {...action} size="small" />
                    ))}
                  </div>
                )}
              </li>
            ))}
          </ul>
        </Alert>
      )}
      {warnings.length > 0 && (
        <Alert tone="warn">
          <ul className={css['checks']}>
            {warnings.map((warning) => (
              <li key={warning}>
                <span>{linked(warning)}</span>
              </li>
            ))}
          </ul>
        </Alert>
      )}
      {(groups.length > 0 || failed.length === 0) && (
        <Panel
          title="What happens"
          note={
            groups.length === 0
              ? undefined
              : `${counted(groups.length, 'part')}${took_s === null ? '' : `, took ${duration(took_s * 1000)} last time`}`
          }
          flush
        >
          <Groups groups={groups} />
        </Panel>
      )}
      {differences.length > 0 && (
        <Panel title="What changes in the configurations" note="secrets masked">
          <div className="stack stack3">
            {sameTexts(differences.map(({ name, diff }) => ({ name, text: diff }))).map(
              ({ names, text }) => (
                <Difference key={names.join()} names={names} diff={text} />
              ),
            )}
          </div>
        </Panel>
      )}
      {checks.length > 0 && (
        <Panel
          title="Checks"
          note={failed.length === 0 ? 'all passed' : `${passed} of ${checks.length} passed`}
        >
          <ul className={css['checks']} aria-label="Checks">
            {checks.map(({ check, ok, message }) => (
              <li key={`${check} ${message}`} className={ok ? undefined : 'c-danger'}>
                <Icon name={ok ? 'check' : 'error'} />
                <span>
                  <span className="sr">{ok ? 'Passed: ' : 'Failed: '}</span>
                  {ok ? message : linked(message)}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {children}
    </>
  )
}

/** A sentence about servers, in which the name of each server leads to its page. */
const ServerLinks = ({
  text,
  servers,
}: {
  text: string
  servers: readonly { node_id: string; name: string }[]
}): ReactNode =>
  partsOf(text, servers).map((part, i) =>
    typeof part === 'string' ? (
      part
    ) : (
      <a key={i} href={paths.server(part.node_id)}>
        {part.name}
      </a>
    ),
  )

function Groups({ groups }: { groups: readonly PlanGroup[] }) {
  const [all, setAll] = useState(false)
  const shown = all ? groups : groups.slice(0, shownFirst)
  if (groups.length === 0)
    return <p className={`${css['more']} fs13 t2`}>There is nothing to do.</p>
  return (
    <>
      <ol className={css['groups']} aria-label="What happens, in order">
        {shown.map((group, i) => (
          <Group key={`${group.node_id} ${i}`} group={group} />
        ))}
      </ol>
      {shown.length < groups.length && (
        <div className={css['more']}>
          <Button size="small" kind="ghost" onClick={() => setAll(true)}>
            Show all {count(groups.length)} parts
          </Button>
        </div>
      )}
    </>
  )
}

const Group = ({
  group: { node_id, name, drains, reboots, steps, took_s },
}: {
  group: PlanGroup
}) => (
  <li>
    <b>
      {node_id === null || name === null ? (
        (name ?? 'The cluster')
      ) : (
        <a href={paths.server(node_id)}>{name}</a>
      )}
    </b>
    <span className={css['badges']}>
      {drains && <Badge tone="info">Drained</Badge>}
      {reboots === 'yes' && <Badge tone="warn">Restarts</Badge>}
      {reboots === 'unknown' && <Badge tone="line">May restart</Badge>}
      {took_s !== null && (
        <Badge title="How long this took last time">{duration(took_s * 1000)}</Badge>
      )}
    </span>
    <ol className={css['steps']}>
      {steps.map((step) => (
        <li key={step.key}>{step.title}</li>
      ))}
    </ol>
  </li>
)

const kindOfLine = (line: string): string | undefined =>
  line.startsWith('+')
    ? css['add']
    : line.startsWith('-') || line.startsWith('−')
      ? css['remove']
      : undefined

function Difference({ names, diff }: { names: readonly string[]; diff: string }) {
  const title =
    names.length <= 3
      ? names.join(', ')
      : `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`
  return (
    <div className="stack stack2">
      <b className="fs13" title={names.join(', ')}>
        {title}
      </b>
      <pre
        className={css['diff']}
        tabIndex={0}
        aria-label={`Difference of ${title}`}
        {...unrecorded}
      >
        {diff
          .replace(/\n$/, '')
          .split('\n')
          .map((line, i) => (
            <span key={i} className={kindOfLine(line)}>
              {line === '' ? ' ' : line}
            </span>
          ))}
      </pre>
    </div>
  )
}
