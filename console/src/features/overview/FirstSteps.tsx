import { datacenterCreate } from '#contract/datacenters.ts'
import type { Overview } from '#contract/overview.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Overview.module.css'

const manual = 'export STEELYARD_DIAL_NETWORKS=10.0.4.0/22'

/** What to do on a fresh installation, in order, until the first server exists. */
export function FirstSteps({ data }: { data: Overview }) {
  const hasSite = data.capacity.some((c) => c.datacenter !== null)
  const next = data.dials_nowhere ? 0 : hasSite ? 2 : 1
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
      done: false,
      text: 'Prepare an image here and boot your servers from it: they then appear by themselves. Or add the addresses of servers that are in Talos maintenance mode.',
      after: '',
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
      done: false,
      text: 'After servers have appeared and you have confirmed their hardware.',
      after: '',
      ways: null,
    },
  ]
  return (
    <Panel title="First steps" flush className={css['first']}>
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
            {!step.done && step.ways !== null && <div className={css['ways']}>{step.ways}</div>}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
