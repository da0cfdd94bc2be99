import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import {
  type Drift,
  driftSentence,
  serverDrift,
  serverDriftKeep,
  serverDriftOverwrite,
} from '#contract/servers/drift.ts'
import { patchList } from '#contract/patches.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { withLosses } from '../../api/asking/losses.ts'
import { everyServerOf } from '../../api/every.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { reasonOf } from '../../lib/reason.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { both, confirm } from '../../ui/actions.ts'
import { cx } from '../../ui/cx.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DiffView } from '../../ui/text/DiffView.tsx'
import { SkeletonRows } from '../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { useAct } from '../../ui/feedback/use-act.ts'
import css from './DriftAlarm.module.css'

type Drifted = Pick<Server, 'id' | 'name' | 'drift'>

/**
 * Alarm that a server's configuration was changed outside of Steelyard. Shown on the pages of the
 * server and its cluster until a user decides.
 */
export function DriftAlarm({
  server,
  link = false,
}: {
  server: Drifted
  /** Names the server with a link to its page. */ link?: boolean
}) {
  const { data, error, isPending, refetch } = useQuery({
    ...query(serverDrift, { params: { id: server.id } }),
    enabled: !!server.drift,
  })
  if (!server.drift) return null
  const { since } = server.drift
  return (
    <Alert tone="warn" className={css['alarm']!}>
      {link && (
        <a className={css['server']} href={paths.server(server.id)}>
          {server.name}
        </a>
      )}
      <b>{driftSentence}.</b> Nothing is sent to {server.name} until you choose.{' '}
      <span className="t3" title={exact(since)}>
        Seen since {moment(since)}.
      </span>
      <div className={cx(css['body'], isPending && css['reserved'])}>
        {isPending && <SkeletonRows rows={3} widths={[120, 220]} />}
        {error && (
          <div className="row wrap">
            <span className="c-danger">The difference can't be shown: {reasonOf(error)}</span>
            <ActionButton label="Try again" size="small" run={() => refetch()} />
          </div>
        )}
        {data && <Difference server={server} drift={data} onRetry={() => void refetch()} />}
      </div>
    </Alert>
  )
}

function Difference({
  server,
  drift,
  onRetry,
}: {
  server: Drifted
  drift: Drift
  onRetry: () => void
}) {
  const { busy, problem, act } = useAct()
  const why = useId()
  const refresh = () => invalidate(serverDrift, serverGet, serverList, patchList)
  const { seen, diff, keep } = drift
  if (drift.state === 'unknown')
    return (
      <div className="row wrap">
        <span>{drift.reason}</span>
        <ActionButton label="Try again" size="small" run={onRetry} />
      </div>
    )
  if (drift.state === 'none' || seen === null || diff === null)
    return <span>The server now has the configuration that Steelyard sent.</span>
  if (drift.state === 'overwriting')
    return (
      <span>The configuration is being overwritten with the one that Steelyard sent last.</span>
    )
  const params = { id: server.id }
  const send = async (operation: typeof serverDriftKeep) => {
    // Refetches even after a failure: the configuration may have changed again.
    await call(operation, { params, body: { seen } }).finally(() => void refresh())
  }
  const canKeep: Verdict = keep?.how === 'secrets' ? no(keep.reason) : yes
  const overwrite = () =>
    confirm({
      title: `Overwrite the configuration of ${server.name}?`,
      text: 'The changes made outside of Steelyard are reverted: the server gets the configuration of Steelyard, and may restart for that.',
      label: 'Overwrite',
      danger: true,
      act: () =>
        withLosses((confirmed) =>
          call(serverDriftOverwrite, { params, body: { seen, ...confirmed } }),
        ).finally(() => void refresh()),
    })
  return (
    <>
      <div className={css['diff']}>
        <DiffView before={diff.before} after={diff.after} label={`Changes on ${server.name}`} />
      </div>
      {keep && (
        <p className="fs13 t2" id={why}>
          {keep.reason}.
        </p>
      )}
      <Problem text={problem} />
      <div className="row wrap">
        <ActionButton
          label="Keep the changes"
          size="small"
          kind="primary"
          busy={busy}
          busyText="Loading"
          can={both(allowed(serverDriftKeep), canKeep)}
          run={() =>
            act(() => send(serverDriftKeep)).then(
              (done) => done && toast.success(`The changes on ${server.name} are kept`),
            )
          }
        />
        <ActionButton
          label="Overwrite the changes"
          size="small"
          can={
            busy ? no('Wait until the current request has finished') : allowed(serverDriftOverwrite)
          }
          run={() => overwrite()}
        />
      </div>
    </>
  )
}

/** The alarms of all drifted servers of a cluster. */
export function ClusterDrift({ clusterId }: { clusterId: string }) {
  const { data } = useQuery(everyServerOf(clusterId))
  return data?.items
    .filter((server) => server.drift)
    .map((server) => <DriftAlarm key={server.id} server={server} link />)
}
