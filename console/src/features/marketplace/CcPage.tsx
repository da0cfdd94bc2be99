import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import { CallError } from '../../api/client.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { paths } from '../../lib/paths.ts'
import { NotFound, Pending } from '../../ui/feedback/PageStates.tsx'
import { Stale } from '../../ui/feedback/States.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { Site } from '../../ui/pictures/Flag.tsx'
import { EventTable } from '../../ui/table/EventTable.tsx'
import { Facts, PageHeader, Panel } from '../../ui/text/Panel.tsx'
import { Capacity, Sold, Terms } from './CcDetails.tsx'
import { ccActions } from './cc-actions.ts'
import { CcStatusText, Expiration, HourlyPrice } from './cc-columns.tsx'
import { ccHistory, ccOne } from './cc-queries.ts'
import { meaningOf, whyOf } from './cc-texts.ts'
import css from './Marketplace.module.css'
import { capital } from '../../lib/text.ts'

/** The page of one commitment. */
export function CcPage({ id }: { id: string }) {
  const answer = useQuery(ccOne(id))
  const { data: cc, error, isRefetchError, dataUpdatedAt, refetch } = answer
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Commitment"
        title={error.message}
        text="It never existed. Removed commitments are in the list under the status Removed."
        back={{ label: 'All commitments', to: paths.ccs() }}
      />
    )
  if (cc === undefined) return <Pending of={answer} rows={8} />
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Shown cc={cc} />
    </>
  )
}

/** What a user does next with a commitment, beside the menu. Start and end come by themselves. */
const nextSteps = ['Commit capacity', 'Confirm delegation', 'Edit terms']

function Shown({ cc }: { cc: CapacityCommitment }) {
  const actions = useMemo(() => ccActions(cc, 'page'), [cc])
  useCommands(`Act on the commitment of ${cc.server.name}`, actions)
  const history = useQuery(ccHistory(cc.id))
  const why = whyOf(cc)
  const meaning = meaningOf(cc)
  const next = nextSteps.flatMap(
    (label) => actions.find((a) => a.label === label && a.can?.ok !== false) ?? [],
  )[0]
  const gone = cc.server.status === 'deleted'
  return (
    <>
      <PageHeader
        name={cc.server.name}
        status={<CcStatusText cc={cc} whole />}
        actions={
          <>
            {next && <ActionButton {...next} />}
            <Menu
              label={`Actions for the commitment of ${cc.server.name}`}
              items={actions.filter((a) => a !== next)}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </>
        }
      >
        <Facts
          rows={[
            [
              'Server',
              gone ? (
                <span key="s" className="t3">
                  Removed
                </span>
              ) : (
                <a key="s" href={paths.server(cc.server.id)}>
                  {cc.server.name}
                </a>
              ),
            ],
            [
              'Datacenter',
              cc.datacenter && (
                <a key="d" href={paths.datacenters({ q: cc.datacenter.code })}>
                  <Site code={cc.datacenter.code} />
                </a>
              ),
            ],
            [
              'Cluster',
              cc.cluster && (
                <a key="c" href={paths.cluster(cc.cluster.id)}>
                  {cc.cluster.name}
                </a>
              ),
            ],
            ['Price per hour', <HourlyPrice key="p" cc={cc} />],
            ['Expiration', <Expiration key="e" cc={cc} />],
          ]}
        />
      </PageHeader>
      {why !== null && meaning !== null && (
        <Alert tone="warn" className={css['alert'] ?? ''}>
          <b>{capital(why.text)}.</b> {meaning}
        </Alert>
      )}
      <div className={css['panels']}>
        <Panel title="Capacity">
          <Capacity cc={cc} />
        </Panel>
        <Panel title="Offer">
          <Sold cc={cc} />
        </Panel>
        <Panel title="Commitment">
          <Terms cc={cc} />
        </Panel>
      </div>
      <h2 className={`h2 ${css['history']}`}>History</h2>
      <EventTable
        noun="commitment"
        rows={history.data?.items}
        notice={
          history.isRefetchError && (
            <Stale
              at={history.dataUpdatedAt}
              error={history.error}
              onRetry={() => void history.refetch()}
            />
          )
        }
        error={history.error}
        onRetry={() => void history.refetch()}
      />
    </>
  )
}
