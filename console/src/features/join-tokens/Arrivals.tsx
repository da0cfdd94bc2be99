import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Arrival, JoinToken } from '#contract/join-tokens.ts'
import { paths } from '../../lib/paths.ts'
import { truncate } from '../../lib/text.ts'
import { Time } from '../../ui/table/list-columns.tsx'
import { type PlainColumn, PlainTable } from '../../ui/table/PlainTable.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { ErrorState, SkeletonRows, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import css from './JoinTokens.module.css'
import { arrivalsPerPage, arrivalsQuery, arrivalResults } from './tokens.ts'

/**
 * Poll interval of an open token row, in ms. Refusals cause no live event: otherwise strangers
 * could make every open console refetch.
 */
const refusalsMs = 5_000

const quiet = (text: string) => <span className="t3">{text}</span>
/**
 * On narrow screens a row is a card without column headings, so these cells show their own label.
 */
const labelled = (head: string) => ({ head, props: () => ({ 'data-label': head }) })

const arrivalColumns: readonly PlainColumn<Arrival>[] = [
  { head: 'When', cell: (a) => <Time at={a.at} /> },
  {
    head: 'Result',
    props: ({ reason }) => ({ className: reason === null ? undefined : css['reason'] }),
    cell: (a) => (
      <>
        <StatusDot tone={arrivalResults[a.result].tone}>{arrivalResults[a.result].word}</StatusDot>
        {a.reason !== null && <div className="fs12 t3">{a.reason}</div>}
      </>
    ),
  },
  {
    ...labelled('Server'),
    cell: (a) =>
      a.server === null ? quiet('None') : <a href={paths.server(a.server.id)}>{a.server.name}</a>,
  },
  { ...labelled('Address'), cell: (a) => <Copyable value={a.address} what="address" /> },
  {
    ...labelled('UUID'),
    cell: (a) => <Copyable value={a.uuid} what="UUID" shown={truncate(a.uuid)} />,
  },
  {
    ...labelled('Serial'),
    cell: (a) => (a.serial === '' ? quiet('Unknown') : <Copyable value={a.serial} what="serial" />),
  },
  {
    head: 'MAC',
    className: css['wide'],
    cell: (a) => (a.mac === null ? quiet('Unknown') : <span className="mono">{a.mac}</span>),
  },
]

/** Machines that announced themselves with a join token, newest first, each with the result. */
export function Arrivals({ token }: { token: JoinToken }) {
  const [page, setPage] = useState(1)
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...arrivalsQuery(token.id, page),
    placeholderData: keepPreviousData,
    refetchInterval: refusalsMs,
  })
  if (data === undefined)
    return error === null ? (
      <SkeletonRows rows={3} />
    ) : (
      <ErrorState error={error} onRetry={() => void refetch()} />
    )
  if (data.total === 0)
    return (
      <div className={css['arrivals']}>
        <p className={css['nothing']}>
          No machine has announced itself with this token yet. A server that boots an image prepared
          with it appears here within seconds.
        </p>
      </div>
    )
  return (
    <div className={css['arrivals']}>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <div className={css['scroll']}>
        <PlainTable
          className={css['tbl']}
          label={`Servers announced with ${token.name}`}
          columns={arrivalColumns}
          rows={data.items}
        />
      </div>
      {data.total > arrivalsPerPage && (
        <Pager
          page={page}
          perPage={arrivalsPerPage}
          total={data.total}
          plural="machines"
          onPage={setPage}
        />
      )}
    </div>
  )
}
