import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { type MapRun, runsOfParts } from '#contract/network/address-map.ts'
import type { Subnet, SubnetMap as SubnetMapAnswer } from '#contract/network/subnets.ts'
import { paths } from '../../../lib/paths.ts'
import { exact } from '../../../lib/time/time.ts'
import { clock } from '../../../lib/time/clock.ts'
import { AddressMap } from '../../../ui/pictures/AddressMap.tsx'
import { KeyValue } from '../../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows, Stale } from '../../../ui/feedback/States.tsx'
import css from './NetworkPage.module.css'
import { mapOf } from '../network-queries.ts'
import { SubnetStatus } from './subnet-columns.tsx'

/** Caches parsed responses. A response may describe 65,536 addresses, so parsing is slow. */
const known = new WeakMap<SubnetMapAnswer, MapRun[]>()

function readMap(map: SubnetMapAnswer): MapRun[] {
  const runs = known.get(map) ?? runsOfParts(map)
  known.set(map, runs)
  return runs
}

/** The address map of a subnet. `at` is the address that was searched for. */
export default function SubnetMap({ subnet, at }: { subnet: Subnet; at: string | undefined }) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery(mapOf(subnet.id))
  const runs = useMemo(() => data && readMap(data), [data])
  const cidr = useMemo(() => data && parseCidr(data.cidr), [data])
  if (!data || !runs || !cidr)
    return error ? (
      <ErrorState error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={6} widths={[340, 60, 260]} />
    )
  const wanted = at === undefined ? null : parseAddress(at)
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <div className={css['mapnote']}>
        <span className={subnet.reason === null ? css['status'] : undefined}>
          <SubnetStatus subnet={subnet} whole />
        </span>
        {subnet.clusters.length > 0 && <span className={css['status']}>{clustersOf(subnet)}</span>}
        {subnet.gateway !== null && (
          <span className={css['gateway']}>
            Gateway <span className="mono fs12">{subnet.gateway}</span>
          </span>
        )}
        {subnet.purpose === 'management' && (
          <span>Management: carries the addresses of servers</span>
        )}
        {subnet.clusters.length > 0 &&
          (data.observed_at === null ? (
            <span>The cluster has not reported which addresses are in use.</span>
          ) : (
            <span className="t3" title={exact(data.observed_at)}>
              As the cluster reported at {clock(data.observed_at)}
            </span>
          ))}
      </div>
      <AddressMap
        label={`Addresses of ${subnet.cidr}`}
        cidr={cidr}
        runs={runs}
        at={wanted?.family === cidr.family ? wanted.value : null}
        about={(run) => aboutOf(run, subnet)}
        by={byOf}
      />
    </>
  )
}

/** Name of what uses an address; a link if that is a server. */
function By({ run }: { run: MapRun }) {
  if (run.by === null) return null
  return run.nodeId === null ? run.by : <a href={paths.server(run.nodeId)}>{run.by}</a>
}

const byOf = (run: MapRun) => (run.by === null ? null : <By run={run} />)

const clustersOf = (subnet: Subnet) =>
  subnet.clusters.map((c, i) => (
    <span key={c.id}>
      {i > 0 && ', '}
      <a href={paths.cluster(c.id, 'addresses')}>{c.name}</a>
    </span>
  ))

function aboutOf(run: MapRun, subnet: Subnet) {
  const clusters = clustersOf(subnet)
  if (run.state === 'used')
    return (
      <KeyValue
        rows={[
          [run.nodeId === null ? 'Service' : 'Server', <By key="by" run={run} />],
          subnet.clusters.length > 0 && ['Cluster', <span key="c">{clusters}</span>],
        ]}
      />
    )
  if (run.by !== null)
    return (
      <KeyValue rows={[[run.state === 'reserved' ? 'Why' : 'By', <By key="by" run={run} />]]} />
    )
  if (run.state === 'free')
    return (
      <p className="t2 fs12">
        {subnet.clusters.length > 0 ? (
          <>Free for {clusters}</>
        ) : (
          'Free; the subnet is assigned to no cluster.'
        )}
      </p>
    )
  return null
}
