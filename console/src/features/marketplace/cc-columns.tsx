import { type CapacityCommitment, ccList } from '#contract/marketplace/ccs.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import { ccTones } from '../../ui/feedback/cc-tones.ts'
import { paths } from '../../lib/paths.ts'
import { sentence } from '../../lib/text.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { StatusDot, StatusReason } from '../../ui/feedback/Status.tsx'
import { Site } from '../../ui/pictures/Flag.tsx'
import { listColumns, none } from '../../ui/table/list-columns.tsx'
import { expiryNote, hourlyAmount, whyOf } from './cc-texts.ts'
import css from './Marketplace.module.css'

export const unknown = <span className="t3">Unknown</span>

/** A number of the capacity, or "Unknown". */
export const amount = (value: number | null, shown: (value: number) => string = count) =>
  value === null ? unknown : shown(value)

/**
 * A commitment's status with what puts it at risk or why it ended. `whole`: outside of a table
 * cell, the reason wraps.
 */
export function CcStatusText({ cc, whole = false }: { cc: CapacityCommitment; whole?: boolean }) {
  const why = whyOf(cc)
  const tone = why?.isTrouble ? 'warn' : ccTones[cc.status]
  return whole ? (
    <StatusDot tone={tone} why={why?.text} whole>
      {sentence(cc.status)}
    </StatusDot>
  ) : (
    <StatusReason tone={tone} word={sentence(cc.status)} why={why?.text} />
  )
}

/**
 * The price of the whole server per hour. The tooltip has the agreed price, if that is per compute
 * unit.
 */
export function HourlyPrice({ cc }: { cc: CapacityCommitment }) {
  if (cc.price === null) return none
  const total = hourlyAmount(cc)
  const agreed = priceShown(cc.price)
  return total === null ? (
    <span className="t3" title={`${agreed}; the number of compute units is unknown`}>
      Unknown
    </span>
  ) : (
    <span title={agreed}>
      <span className="strong">{total}</span> <span className="t3">{cc.price.currency}</span>
    </span>
  )
}

/** The end of a commitment, with the time until then. */
export function Expiration({ cc }: { cc: CapacityCommitment }) {
  const now = useNow(cc.expires_at !== null, 60_000)
  if (cc.expires_at === null) return none
  const note = expiryNote(cc, now)
  return (
    <time className="num" dateTime={cc.expires_at} title={exact(cc.expires_at)}>
      {moment(cc.expires_at, now)}{' '}
      {note !== null && <span className={`t3 ${css['note']}`}>{note}</span>}
    </time>
  )
}

export const ccColumns = listColumns(ccList.list, {
  server: {
    fixed: true,
    card: 'name',
    width: (from) => (from.md ? 168 : 150),
    cell: (c) => (
      <a className={css['name']} href={paths.cc(c.id)}>
        {c.server.name}
      </a>
    ),
  },
  datacenter: {
    from: 'md',
    width: 116,
    cell: (c) => (c.datacenter === null ? none : <Site code={c.datacenter.code} />),
  },
  cluster: {
    from: 'md',
    width: 124,
    cell: (c) =>
      c.cluster === null ? (
        none
      ) : (
        <a className="t2" href={paths.cluster(c.cluster.id)}>
          {c.cluster.name}
        </a>
      ),
  },
  compute_units: {
    numeric: true,
    width: 76,
    card: 'fact',
    cell: (c, from) => (
      <>
        <span className={css['units']}>{amount(c.capacity.compute_units)}</span>
        {!from.sm && c.price !== null && (
          <>
            {' · '}
            <HourlyPrice cc={c} /> an hour
          </>
        )}
      </>
    ),
  },
  vcpu: { numeric: true, width: 76, from: 'xl', cell: (c) => amount(c.capacity.vcpu) },
  memory: {
    numeric: true,
    width: 86,
    from: 'md',
    cell: (c) => amount(c.capacity.memory_bytes, memory),
  },
  disk: { numeric: true, width: 86, from: 'xl', cell: (c) => amount(c.capacity.disk_bytes, disk) },
  price: { numeric: true, width: 118, from: 'sm', cell: (c) => <HourlyPrice cc={c} /> },
  expires_at: {
    width: (from) => (from.xl ? 160 : 116),
    from: 'md',
    cell: (c) => <Expiration cc={c} />,
  },
  status: { card: 'state', cell: (c) => <CcStatusText cc={c} /> },
})
