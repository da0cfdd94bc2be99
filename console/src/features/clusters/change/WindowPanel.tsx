import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import { nextOpening } from '#contract/clusters/changes/window-times.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { exact, moment } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { confirm } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { setWindow } from './set-window.ts'
import { editWindow } from './window-actions.ts'

/** The maintenance window of a cluster, with its editor. */
export default function WindowPanel({ cluster }: { cluster: Cluster }) {
  const window = cluster.maintenance_window ?? null
  const now = useNow(window !== null)
  const can = allowed(clusterWindowSet)
  const remove = () =>
    confirm({
      title: `Remove the maintenance window of ${cluster.name}?`,
      label: 'Remove window',
      text: 'Afterwards changes can be scheduled only for a fixed time. Changes that wait for the window begin only after another window is set.',
      act: async () => {
        await setWindow(cluster, null)
        await refreshClusters()
      },
    })
  return (
    <Panel title="Maintenance window">
      <div className="stack stack3">
        {window === null ? (
          <p className="fs13 t2">
            None. Changes of the cluster can be scheduled for a window: the work on each server then
            starts only while the window is open.
          </p>
        ) : (
          <p className="fs13">
            {windowText(window)}
            <br />
            <Opening at={nextOpening(window, new Date(now))} now={now} />
          </p>
        )}
        <div className="row wrap">
          <ActionButton
            label={window === null ? 'Set a window' : 'Edit'}
            icon="edit"
            can={can}
            run={() => editWindow({ cluster })}
          />
          {window !== null && <ActionButton label="Remove" can={can} run={remove} />}
        </div>
      </div>
    </Panel>
  )
}

const Opening = ({ at, now }: { at: Date; now: number }) => {
  const text = at.toISOString()
  return (
    <span className="t2">
      {at.getTime() <= now ? (
        'Open now'
      ) : (
        <>
          Opens next{' '}
          <time dateTime={text} title={exact(text)}>
            {moment(text, now)}
          </time>{' '}
          in your time
        </>
      )}
    </span>
  )
}
