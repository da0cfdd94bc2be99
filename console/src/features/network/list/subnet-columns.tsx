import { clusterSubnetsAssign, type Subnet, subnetList } from '#contract/network/subnets.ts'
import { utilisation } from '#contract/network/subnet-rules.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { ago } from '../../../lib/time/time.ts'
import { nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../../ui/table/list-columns.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { fillTone, Meter } from '../../../ui/pictures/Meter.tsx'
import { StatusDot, StatusReason } from '../../../ui/feedback/Status.tsx'
import css from './NetworkPage.module.css'
import { countryOf, hasShare, subnetSaid, usedText } from '../subnet-state.ts'

/**
 * A subnet's status with its reason. `whole`: shows the full reason, for places outside of a table
 * cell.
 */
export function SubnetStatus({
  subnet,
  whole = false,
}: {
  subnet: Pick<Subnet, 'status' | 'reason'>
  whole?: boolean
}) {
  const { tone, word } = subnetSaid(subnet)
  return whole ? (
    <StatusDot tone={tone} why={subnet.reason} whole>
      {word}
    </StatusDot>
  ) : (
    <StatusReason tone={tone} word={word} why={subnet.reason} />
  )
}

/** Utilisation, as last reported by the cluster. */
export function SubnetUse({ subnet }: { subnet: Subnet }) {
  const text = usedText(subnet)
  if (text === null)
    return (
      <span className="t3" title="The cluster has not reported which addresses are in use">
        Unknown
      </span>
    )
  const seen = subnet.observed_at === null ? '' : `, seen ${ago(subnet.observed_at)}`
  if (!hasShare(subnet))
    return (
      <span className={`num ${css['alone']}`} title={seen.slice(2) || undefined}>
        {text}
      </span>
    )
  const share = utilisation(subnet.used, subnet.total)
  return (
    <span title={`${share ?? text}${seen}`}>
      <Meter
        value={subnet.used}
        of={subnet.total}
        tone={fillTone(subnet.used, subnet.total)}
        label={`Addresses of ${subnet.name} in use`}
        text={<span className={css['numbers']}>{text}</span>}
      />
    </span>
  )
}

const address = (text: string) => (
  <span className={`mono ${css['cidr']}`} title={text}>
    {text}
  </span>
)

export const subnetColumns = listColumns(subnetList.list, {
  name: {
    fixed: true,
    width: (from) =>
      from.md ? { least: 150, most: nameWidth } : from.sm ? { least: 108, most: 176 } : undefined,
    card: 'name',
    // On narrow screens the CIDR has no column: it is shown below the name.
    cell: (s) => (
      <>
        {s.name}
        <span className={`mono ${css['carded']}`}>{s.cidr}</span>
      </>
    ),
  },
  type: {
    width: 48,
    from: 'md',
    cell: (s) => (
      <span
        title={
          s.purpose === 'management' ? 'Management: carries the addresses of servers' : undefined
        }
      >
        {s.type}
      </span>
    ),
  },
  cidr: {
    width: (from) => ({ least: 150, most: from.xl ? 200 : 206 }),
    from: 'md',
    cell: (s) => address(s.cidr),
  },
  gateway: {
    width: { least: 120, most: 150 },
    from: 'xl',
    cell: (s) => (s.gateway === null ? none : address(s.gateway)),
  },
  vlan_id: { numeric: true, width: 56, from: 'md' },
  datacenter: {
    width: (from) => (from.xl ? 122 : 96),
    from: 'md',
    cell: (s) => (
      <span className="row">
        <span className={css['flag']}>
          <Flag code={countryOf(s.datacenter.code)} />
        </span>
        {s.datacenter.code}
      </span>
    ),
  },
  cluster: {
    width: (from) => (from.xl ? { least: 130, most: 190 } : from.md ? 140 : 112),
    from: 'sm',
    cell: (s) =>
      s.clusters.length > 0 ? (
        s.clusters.map((c, i) => (
          <span key={c.id}>
            {i > 0 && ', '}
            <a className="t2" href={paths.cluster(c.id, 'addresses')}>
              {c.name}
            </a>
          </span>
        ))
      ) : allowed(clusterSubnetsAssign).ok ? (
        <a href={paths.assignSubnets({ subnets: s.id })}>Assign</a>
      ) : (
        none
      ),
  },
  used: {
    width: (from) => (from.xl ? { least: 144, most: 180 } : from.md ? 144 : 116),
    card: 'fact',
    cell: (s) => <SubnetUse subnet={s} />,
  },
  status: {
    width: (from) => (from.xl ? undefined : from.md ? 124 : undefined),
    card: 'state',
    cell: (s) => <SubnetStatus subnet={s} />,
  },
})
