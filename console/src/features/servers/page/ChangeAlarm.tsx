import type { Server } from '#contract/servers/servers.ts'
import { OperationLink } from '../../../layout/operations/OperationLink.tsx'
import { paths } from '../../../lib/paths.ts'
import { exact, moment } from '../../../lib/time/time.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import css from './ServerPage.module.css'

type Shown = Pick<Server, 'id' | 'name' | 'cluster' | 'pending' | 'trial' | 'failure'> & {
  readonly talos: Pick<Server['talos'], 'silent_after'>
}

/**
 * That the server failed in its cluster, the change after which it has fallen silent, one that is on trial or was undone, and what
 * its saved patches wait for.
 */
export function ChangeAlarm({ server }: { server: Shown }) {
  const { cluster, pending, trial, failure } = server
  const after = server.talos.silent_after
  return (
    <>
      {failure && cluster !== null && (
        <Alert tone="danger" className={css['alarm']!}>
          <b>{server.name} failed in its cluster.</b> Nothing more is done to it until a user
          decides: try again, or take the server out.{' '}
          <a href={paths.cluster(cluster.id, 'timeline')}>Open the timeline of {cluster.name}</a>
        </Alert>
      )}
      {after && (
        <Alert tone="danger" className={css['alarm']!}>
          <b>{server.name} fell silent after a change:</b>{' '}
          {after.operation_id === null ? after.title : <OperationLink id={after.operation_id} />}
          {', '}
          <span title={exact(after.at)}>{moment(after.at)}</span>.{' '}
          {cluster !== null && after.take_back === 'patches' && (
            <a
              href={paths.changeCluster(cluster.id, 'configure', {
                takeBack: after.operation_id!,
              })}
            >
              Take the change back
            </a>
          )}
          {cluster !== null && after.take_back === 'talos' && (
            <a href={paths.changeCluster(cluster.id, 'rollbackTalos', { server: server.id })}>
              Roll Talos back
            </a>
          )}
        </Alert>
      )}
      {trial && (
        <Alert tone={trial.state === 'undone' ? 'danger' : 'info'} className={css['alarm']!}>
          <b>
            {trial.state === 'undone'
              ? 'A change of the network was undone.'
              : 'A change of the network is on trial.'}
          </b>{' '}
          {trial.reason}.{' '}
          <span className="t3" title={exact(trial.since)}>
            Since {moment(trial.since)}.
          </span>{' '}
          {trial.state === 'undone' &&
            'The change is saved but not applied. It is not sent again until the patches of the server are changed.'}
        </Alert>
      )}
      {pending && (
        <Alert tone="warn" className={css['alarm']!}>
          <b>The saved patches are not sent yet.</b> {pending.reason.replace(/\.$/, '')}.{' '}
          <span className="t3" title={exact(pending.since)}>
            Since {moment(pending.since)}.
          </span>{' '}
          {pending.waits_for.map(({ id, name }) => (
            <a key={id} href={paths.server(id)}>
              Look at {name}
            </a>
          ))}
        </Alert>
      )}
    </>
  )
}
