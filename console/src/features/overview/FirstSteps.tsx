import { clusterCreate } from '#contract/clusters/clusters.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import type { Overview } from '#contract/overview.ts'
import type { Preferences } from '#contract/people/preferences.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { setPreferences, useLoadedPreferences } from '../../api/preferences.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Overview.module.css'

const dismissed = (now: Preferences): Preferences => ({ ...now, first_steps: 'dismissed' })
const manual = 'export STEELYARD_DIAL_NETWORKS=10.0.4.0/22'

/** Whether an installation is set up up to its first cluster. */
const areDone = ({ dials_nowhere, servers, clusters }: Overview): boolean =>
  !dials_nowhere && servers.total > 0 && clusters.total > 0

/**
 * What to do on a new installation, in order. Shown until the first cluster exists or the user
 * dismisses them; not to those who can't take the steps, once servers exist.
 */
export function FirstSteps({ data }: { data: Overview }) {
  const preferences = useLoadedPreferences()
  const hasServers = data.servers.total > 0
  if (
    areDone(data) ||
    preferences === undefined ||
    preferences.first_steps === 'dismissed' ||
    (hasServers && !allowed(clusterCreate).ok)
  )
    return null
  const hasSite = data.capacity.some((c) => c.datacenter !== null)
  const next = data.dials_nowhere ? 0 : hasServers ? 3 : hasSite ? 2 : 1
  const steps = [
    {
      title: 'Name the networks of your servers',
      done: !data.dials_nowhere,
      text: (
        <>
          No server can be reached yet: Steelyard dials only the networks in{' '}
          <code>STEELYARD_DIAL_NETWORKS</code>, and it is empty. Set it where Steelyard runs, such
          as <code>{manual}</code>, and start it again.
        </>
      ),
      after: 'Steelyard dials only the networks in STEELYARD_DIAL_NETWORKS.',
      ways: null,
    },
    {
      title: 'Add a datacenter',
      done: hasSite,
      text: 'The site where your servers stand.',
      after: 'A datacenter has been added.',
      ways: (
        <ActionButton
          label="Datacenters"
          to={paths.datacenters()}
          icon="datacenter"
          can={allowed(datacenterCreate)}
          kind={next === 1 ? 'primary' : 'plain'}
        />
      ),
    },
    {
      title: 'Add the first servers',
      done: hasServers,
      text: 'Prepare an image here and boot your servers from it: they then appear by themselves. Or add the addresses of servers that are in Talos maintenance mode.',
      after: 'Servers have been added.',
      ways: (
        <>
          <ActionButton
            label="Prepare image"
            to={paths.prepareImage()}
            icon="disk"
            can={allowed(serverAdd)}
            kind={next === 2 ? 'primary' : 'plain'}
          />
          <ActionButton
            label="Add servers"
            to={paths.servers({ add: 'new' })}
            icon="add"
            can={allowed(serverAdd)}
          />
        </>
      ),
    },
    {
      title: 'Create a cluster',
      done: data.clusters.total > 0,
      text: 'After servers have appeared and you have confirmed their hardware.',
      after: 'A cluster has been created.',
      ways: hasServers && (
        <ActionButton
          label="Create cluster"
          to={paths.createCluster()}
          icon="cluster"
          can={allowed(clusterCreate)}
          kind={next === 3 ? 'primary' : 'plain'}
        />
      ),
    },
  ]
  return (
    <Panel
      title="First steps"
      flush
      className={css['first']}
      actions={
        <Button size="small" onClick={() => setPreferences(dismissed)}>
          Dismiss
        </Button>
      }
    >
      <ol className={css['steps']}>
        {steps.map((step, i) => (
          <li key={step.title} data-state={step.done ? 'done' : i === next ? 'next' : 'todo'}>
            <span className={css['mark']}>
              {step.done ? <Icon name="check" size={12} /> : i + 1}
            </span>
            <div>
              <h3 className="strong">
                {step.title}
                {step.done && <span className="sr">, done</span>}
              </h3>
              <p>{step.done ? step.after : step.text}</p>
            </div>
            {!step.done && step.ways !== null && step.ways !== false && (
              <div className={css['ways']}>{step.ways}</div>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
